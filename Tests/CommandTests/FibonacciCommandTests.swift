import Glibc
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// What `catwatch fibonacci` prints, its times left out: those are the machine's.
@Suite(.limited) struct FibonacciCommandTests {
    private static func text(_ runs: [Int]) -> String {
        var bytes: [UInt8] = []
        FibonacciCommand.run(runs) { bytes.append(contentsOf: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Every time as `#`, as long as it was.
    private static func withoutTimes(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            guard let point = line.firstIndex(of: ".") else { return String(line) }
            var characters = Array(line)
            var place = line.distance(from: line.startIndex, to: point) + 3
            while place >= 0, characters[place].isNumber || characters[place] == "." {
                characters[place] = "#"
                place -= 1
            }
            return String(characters)
        }.joined(separator: "\n")
    }

    @Test func pairsAreAlignedAndTheTotalComesLast() {
        let text = Self.withoutTimes(Self.text([12]))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(
            lines.dropLast(2).joined(separator: "\n") == """
                0     0
                1     1
                2     1
                3     2
                4     3
                5     5
                6     8
                7    13
                8    21
                9    34
                10   55
                11   89
                12  144
                """)
        #expect(lines.dropFirst(13).first?.hasPrefix("total  #####") == true)
        #expect(lines.dropFirst(13).first?.hasSuffix("# ms") == true && lines.last == "" && lines.count == 15)
    }

    @Test(arguments: [0, 1, 2, 5, 7, 90, 1_000, 1_500]) func everyLineIsAsWideAsTheLast(n: Int) {
        let lines = Self.text([n]).split(separator: "\n")
        #expect(lines.count == n + 2)
        let widths = Set(lines.dropLast().map(\.utf8.count))
        #expect(widths.count == 1)
        for (index, line) in lines.dropLast().enumerated() {
            let words = line.split(separator: " ")
            if words.count != 2 || words[0] != "\(index)" || line.hasPrefix(" ") { Issue.record("\(line)") }
        }
        // As narrow as can be: two blanks between the longest of both columns.
        #expect(lines[n].split(separator: " ").map(\.utf8.count).reduce(2, +) == lines[n].utf8.count)
    }

    @Test func manyRunsEndWithTheSummaryOfAll() {
        let text = Self.text([10, 50, 9, 50])
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // Each run's numbers, its total and an empty line; the summary; the end of the last line.
        #expect(lines.count == (11 + 2) + (51 + 2) + (10 + 2) + (51 + 2) + 5 + 1)
        #expect(lines.filter { $0.hasPrefix("total  ") }.count == 4 && lines.last == "")
        let summary = lines.suffix(6).dropLast()
        #expect(summary.map { $0.prefix { $0 != " " } } == ["N", "10", "50", "9", "50"])
        #expect(Set(summary.map(\.utf8.count)).count == 1, "the milliseconds end in one column: \(summary)")
        #expect(summary.first?.hasSuffix("  ms") == true)
        // The same times as the totals have.
        let totals = lines.filter { $0.hasPrefix("total  ") }.map { $0.split(separator: " ")[1] }
        #expect(summary.dropFirst().map { $0.split(separator: " ")[1] } == totals)
    }

    @Test func endsQuietlyWhenNobodyReads() throws {
        signal(SIGPIPE, SIG_IGN)
        let pipe = try Descriptor.pipe(nonblocking: false)
        let number = try pipe.write.duplicate().release()
        defer { close(number) }
        Self.closeReader(pipe)
        try FibonacciCommand.print([3_000], to: number)
    }

    private static func closeReader(_ pipe: consuming Pipe) {}
}
