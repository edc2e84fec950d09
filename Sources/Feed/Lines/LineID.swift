/// A line's run and number, whether that line is there or not.
package struct LineID: Sendable, Hashable {
    package var run: String
    package var sequence: Int

    package init(_ run: String, _ sequence: Int) { (self.run, self.sequence) = (run, sequence) }
}

/// What a name of a run may be: it stands in requests, in file names and in sentences.
package enum RunName {
    /// In words, for whoever wrote another one.
    package static let rule = "1 to 64 letters, digits, - or _"

    package static func isValid(_ name: String) -> Bool {
        1...64 ~= name.utf8.count
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
