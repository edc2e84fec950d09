/// A run and a sequence number, of a line that may or may not exist.
package struct LineID: Sendable, Hashable {
    package var run: String
    package var sequence: Int

    package init(_ run: String, _ sequence: Int) { (self.run, self.sequence) = (run, sequence) }
}

/// The rule for names of runs, which are used in requests, file names and sentences.
package enum RunName {
    /// The rule in words, for error messages.
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
