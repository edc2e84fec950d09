/// Properties of valid JSON that some readers of lines do not accept (decision 0026); found by the pass that validates
/// it.
package struct JSONFlaws: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// More levels of arrays and objects than a line may have.
    package static let deep = JSONFlaws(rawValue: 1)
    /// A number beyond the range of a double.
    package static let overflow = JSONFlaws(rawValue: 2)
    /// Half of a surrogate pair, alone; it can be replaced.
    package static let surrogate = JSONFlaws(rawValue: 4)
    /// A repeated key in a line: readers differ in which one counts, and so could mistake the line for another.
    package static let doubled = JSONFlaws(rawValue: 8)

    /// No flaw in these bytes: someone upstream had already left out a part.
    package static let cut = JSONFlaws(rawValue: 16)

    /// Whether a line with these flaws must be marked as truncated.
    var areTruncating: Bool { contains(.deep) || contains(.overflow) || contains(.cut) }

    /// Whether a value with these flaws cannot be part of a line.
    package var areFatal: Bool { contains(.deep) || contains(.overflow) }
}
