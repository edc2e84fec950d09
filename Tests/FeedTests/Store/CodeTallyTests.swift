import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct CodeTallyTests {
    @Test func countsEachCodeInTheOrderTheyCame() {
        var tally = CodeTally()
        for code in ["200", "timeout", "200", "404", "200"] { tally.add(code) }
        #expect(tally.entries.map(\.code) == ["200", "timeout", "404"] && tally.entries.map(\.count) == [3, 1, 1])
    }

    @Test func whatThereAreTooManyOfCountsAsOther() {
        var tally = CodeTally()
        for round in 1...3 {
            for status in 100..<600 { tally.add("\(status)") }
            #expect(tally.entries.count == CodeTally.most + 1)
            #expect(tally.entries.last?.code == CodeTally.other && tally.entries.last?.count == 476 * round)
            #expect(tally.entries.dropLast().allSatisfy { $0.count == round })
        }
    }
}
