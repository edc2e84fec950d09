/// Replaces the Swift library's table of Unicode character names, half a megabyte, in the release build
/// (Package.swift). Nothing in the program uses those names (`Unicode.Scalar.Properties`, `name`); a program that did
/// would fail in the first test of its release build.
@c(__wrap__swift_stdlib_getScalarName)
func scalarName(of scalar: UInt32, into buffer: UnsafeMutablePointer<UInt8>?, capacity: Int) -> Int {
    preconditionFailure("the names of characters are not linked")
}
