/// Stands where Swift's library has the names of all of Unicode's characters, half a megabyte: the release build links this
/// in its place (Package.swift), so that they are left out. Nothing in the program asks for them (`Unicode.Scalar.Properties`,
/// `name`); a program that came to do so would find out in the first test of its release build.
@c(__wrap__swift_stdlib_getScalarName)
func scalarName(of scalar: UInt32, into buffer: UnsafeMutablePointer<UInt8>?, capacity: Int) -> Int {
    preconditionFailure("the names of characters are not linked")
}
