/// What is JSON, and yet more than some readers of lines take (decision 0026); found by the pass that decides what is JSON.
package struct JSONFlaws: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// More levels of arrays and objects than there may be.
    package static let deep = JSONFlaws(rawValue: 1)
    /// A number that is more than a double holds.
    package static let overflow = JSONFlaws(rawValue: 2)
    /// Half of a surrogate pair, alone; it can be replaced.
    package static let surrogate = JSONFlaws(rawValue: 4)
    /// A line's key that is there twice: readers differ in which of them counts, and so could take a line for another one.
    package static let doubled = JSONFlaws(rawValue: 8)

    /// No flaw of what is there: somebody had left a part of it out before it came here.
    package static let cut = JSONFlaws(rawValue: 16)

    /// Whether a line that had them says that it is not whole.
    var areTruncating: Bool { contains(.deep) || contains(.overflow) || contains(.cut) }

    /// Whether a value that has them cannot be part of a line.
    package var areFatal: Bool { contains(.deep) || contains(.overflow) }
}
