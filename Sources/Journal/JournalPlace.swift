internal import Reactor

/// Where a line is in a journal: its run's number there, and its own number in the run. Places of later lines are greater.
///
/// It is the line's row number as well, so that a line is found without another index. A run's lines that are further apart
/// than a place can say, as in a hostile feed, are another run of the same name there.
package struct JournalPlace: Sendable, Hashable, Comparable {
    package let id: Int64

    /// How many of the bits say the number in the run.
    static let bits: Int64 = 36
    /// By how much the last number of a run may be greater than the first.
    package static let most = Int64(1) << bits - 1

    /// The greatest number of a run in a journal.
    static let mostRuns = Int64.max >> bits

    package init(id: Int64) { self.id = id }

    /// - Parameters:
    ///   - run: from 1 to 2^27 - 1.
    ///   - offset: the line's number less the run's `base`, from 0 to `most`.
    init(run: Int64, offset: Int64) { id = run << Self.bits | offset }

    package var run: Int64 { id >> Self.bits }
    package var offset: Int64 { id & Self.most }

    /// None is before it.
    package static let first = JournalPlace(id: 0)
    /// None is behind it.
    package static let last = JournalPlace(id: .max)
    /// The one behind it; itself for the last.
    package var next: JournalPlace { JournalPlace(id: id.addingSaturated(1)) }
    /// The one before it; itself for the first.
    package var previous: JournalPlace { JournalPlace(id: max(0, id - 1)) }

    package static func < (left: JournalPlace, right: JournalPlace) -> Bool { left.id < right.id }
}

/// A run, as the journal knows it.
package struct JournalRun: Sendable, Equatable {
    /// From 1, in the order in which the journal first heard of them.
    package var number: Int64
    package var name: String
    /// What a line's number is greater by than its place in the run says.
    package var base: Int
    package var ended: String?
    /// The `hello` line that it began with.
    package var hello: [UInt8]

    package init(number: Int64, name: String, base: Int, ended: String?, hello: [UInt8]) {
        (self.number, self.name, self.base, self.ended, self.hello) = (number, name, base, ended, hello)
    }

    /// Where its line of this number is; nil when its places do not say that number.
    @inline(__always)
    package func place(of sequence: Int) -> JournalPlace? {
        // The difference of any two numbers, the second not above the first, is right without a sign.
        guard sequence >= base, UInt(bitPattern: sequence &- base) <= UInt(JournalPlace.most) else { return nil }
        return JournalPlace(run: number, offset: Int64(sequence &- base))
    }

    /// The number of the line at this place.
    package func sequence(at place: JournalPlace) -> Int { base.addingSaturated(Int(place.offset)) }
}
