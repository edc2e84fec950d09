import Journal
import TestSupport
import Testing

@testable import catwatch

/// What is found missing when a journal lets go of lines between two looks at it.
@Suite(.limited) struct LogHolesTests {
    private typealias Lines = JournalOfLines

    /// Reads some rows, has the file changed, and reads the others.
    ///
    /// - Returns: what is said, and which numbers a `gap` is to stand for.
    private static func find(
        _ journal: Lines, areNamed: Bool, afterReading count: Int, _ change: String
    ) throws -> (words: String?, gaps: [ClosedRange<Int>]) {
        let scan = try JournalRows(path: journal.path)
        var holes = LogHoles(areNamed: areNamed)
        var gaps: [ClosedRange<Int>] = []
        var next = JournalPlace.first
        for most in [count, 4_096] {
            let last = try scan.rows(in: next...(.last), atMost: most) { row throws(JournalFault) in
                if let rest = try holes.pass(row, of: scan) { gaps.append(rest) }
                return true
            }
            next = last?.next ?? next
            if most == count { try journal.alter(change) }
        }
        return (holes.report(), gaps)
    }

    private func journal() throws -> Lines {
        let journal = try Lines()
        try journal.add("one", (1..<11).map { Lines.event($0) })
        try journal.add("two", [Lines.event(20), Lines.event(21)])
        try journal.add("three", [Lines.event(30), Lines.event(31)])
        return journal
    }

    /// As retention does it: a run of which nothing is left has no row either.
    private static func letGo(of run: Int) -> String {
        "DELETE FROM lines WHERE id >> 36 = \(run); DELETE FROM runs WHERE run = \(run);"
    }

    @Test(arguments: [(4, 5...10, "6 lines were"), (9, 10...10, "a line was")])
    func theRestOfARunIsMissingThatWentWithItsRow(count: Int, missing: ClosedRange<Int>, words: String) throws {
        let said = try Self.find(try journal(), areNamed: false, afterReading: count, Self.letGo(of: 1))
        #expect(said.words?.hasPrefix("\(words) let go of") == true && said.gaps.isEmpty, "\(said)")
        let named = try Self.find(try journal(), areNamed: true, afterReading: count, Self.letGo(of: 1))
        #expect(named.words == nil && named.gaps == [missing], "\(named)")
    }

    @Test(arguments: [true, false]) func nothingIsMissingOfARunThatWasReadToItsEnd(areNamed: Bool) throws {
        let found = try Self.find(try journal(), areNamed: areNamed, afterReading: 10, Self.letGo(of: 1))
        #expect(found.words == nil && found.gaps.isEmpty, "\(found)")
    }

    @Test(arguments: [true, false]) func howMuchAWholeRunOrABeginningHadIsNotKnown(areNamed: Bool) throws {
        for change in [
            Self.letGo(of: 1) + Self.letGo(of: 2),
            Self.letGo(of: 1) + "DELETE FROM lines WHERE time = 20000000; UPDATE runs SET gone = 1 WHERE run = 2",
        ] {
            let found = try Self.find(try journal(), areNamed: areNamed, afterReading: 10, change)
            #expect(found.words == "lines were let go of before they could be read" && found.gaps.isEmpty, "\(found)")
        }
    }

    /// One that takes the place of a journal that was moved aside, and begins with a later line, or run.
    @Test(arguments: ["DELETE FROM lines WHERE time < 8000000", letGo(of: 1)])
    func whatAnotherJournalDoesNotHaveIsNoHole(change: String) throws {
        let (old, new) = (try journal(), try journal())
        try new.alter(change)
        var holes = LogHoles(areNamed: false)
        for (journal, most) in [(old, 3), (new, 4_096)] {
            let scan = try JournalRows(path: journal.path)
            _ = try scan.rows(in: .first...(.last), atMost: most) { row throws(JournalFault) in
                #expect(try holes.pass(row, of: scan) == nil)
                return true
            }
            holes.goOn(in: nil)
        }
        #expect(holes.report() == nil)
    }

    /// As somebody makes them up: lines that a `gap` says are missing, and places and numbers at their bounds.
    @Test func rowsThatMakeNoSenseAreNoHolesAndNumbersStayInTheirBounds() throws {
        let gap = #"{"type":"gap","time":"1970-01-01T00:00:02.000000Z","from":2,"to":9,"reason":"held"}"#
        let covered = try journal()
        try covered.alter("UPDATE lines SET type = 'gap', line = '\(gap)' WHERE time = 2000000")
        let found = try Self.find(covered, areNamed: false, afterReading: 1, "")
        #expect(found.words == nil, "\(found)")
        let most = "9223372036854775807"
        for change in [
            "UPDATE runs SET base = \(most), gone = \(most) WHERE run = 1",
            "UPDATE runs SET base = -\(most) - 1, gone = \(most); UPDATE lines SET id = \(most) WHERE time = 31000000",
        ] {
            let hostile = try journal()
            try hostile.alter(change)
            _ = try Self.find(hostile, areNamed: false, afterReading: 4, Self.letGo(of: 2))
            _ = try Self.find(hostile, areNamed: true, afterReading: 1, Self.letGo(of: 1))
        }
    }
}
