import Conditions
import Reactor
import TestSupport
import Testing

@testable import Feed

/// What an agent knows where it begins to watch: after a restart, and of the agents of a fleet.
@Suite(.limited) struct AlertRestartTests {
    private static let polled = SourceDescription(name: "a", rhythm: .every(.seconds(2)))

    private static func decoded(_ text: String, _ second: Int) throws -> Line {
        try LineDecoder.decode(Array(#"{\#(text),"time":"\#((AlertStage.start + .seconds(second)).text)"}"#.utf8)[...])
    }

    /// Applies lines, and returns what is told meanwhile.
    private static func told(_ book: inout AlertBook, _ lines: (Int, String)...) throws -> [String] {
        for (second, text) in lines { book.apply(try decoded(text, second)) }
        return book.takeAlerts().map { "\($0.alert.condition) \($0.alert.state) \($0.alert.about)" }
    }

    private static func status(_ name: String) -> SourceStatus {
        SourceStatus(source: name, state: .ok, since: AlertStage.start)
    }

    @Test func timeInWhichNoAgentRanMeetsNothing() throws {
        for (line, ending) in [("a > 5 for 3s", 1.0), ("any a > 5 for 3s", 1), ("a not in 0..5 for 3s", 1)] {
            var stage = try AlertStage(line, sources: [Self.polled])
            stage.value("a", at: 1, 9)
            stage.pass(to: 2)
            stage.restart(at: 6)
            #expect(stage.pending == [1])
            stage.value("a", at: 6.1, ending)
            stage.pass(to: 20)
            #expect(stage.told.isEmpty && stage.pending == [0], "\(line)")
        }
    }

    @Test func aSourceFailsAsSoonAsItHasSpoken() throws {
        var stage = try AlertStage("a fails")
        stage.value("a", at: 1, 9)
        stage.restart(at: 6)
        stage.fail("a", at: 7)
        #expect(stage.alerts.map(\.at) == [AlertStage.start + .seconds(7)])
    }

    @Test func theTimeBeforeAStopCountsOnceTheSourceHasSpoken() throws {
        var stage = try AlertStage("a > 5 for 30s", sources: [Self.polled])
        stage.value("a", at: 1, 9)
        stage.restart(at: 40)
        stage.value("a", at: 41, 9)
        #expect(stage.told == ["firing a at 41 since 1 = 9.0"])
    }

    @Test func whatEndsAnAlertIsNotOverByAStopEither() throws {
        var stage = try AlertStage("a > 5 until < 3 for 10s", sources: [Self.polled])
        stage.value("a", at: 1, 9)
        stage.value("a", at: 2, 1)
        stage.restart(at: 30)
        stage.value("a", at: 31, 9)
        stage.pass(to: 32)
        #expect(stage.alerts.count == 1)
        stage.value("a", at: 33, 1)
        stage.restart(at: 40)
        stage.value("a", at: 41, 1)
        stage.value("a", at: 42.5, 1)
        stage.value("a", at: 43.5, 1)
        #expect(stage.told.last == "resolved a at 43 since 1 = 1.0 by until")
    }

    // MARK: Fleets

    private static func peer(_ agent: String, _ state: String, heard second: Int) -> String {
        let heard = (AlertStage.start + .seconds(second)).text
        return #""seq":1,"type":"peer","source":"catwatch","agent":"\#(agent)","state":"\#(state)","#
            + #""heard":"\#(heard)","since":"\#(heard)""#
    }

    private static func book(_ lines: String...) throws -> AlertBook {
        AlertBook(
            try lines.map { try AlertStage.rule($0) }, run: "r", interval: .seconds(10), from: AlertStage.start)
    }

    @Test func anAgentThatIsRemovedIsNotSilent() throws {
        var book = try Self.book("agent * silent 5s", "agent w fails")
        #expect(try Self.told(&book, (1, Self.peer("w", "live", heard: 1))).isEmpty)
        let away = try Self.told(&book, (2, Self.peer("w", "away", heard: 1)))
        #expect(away == ["agent w fails firing w"])
        let gone = try Self.told(&book, (3, Self.peer("w", "forgotten", heard: 1)))
        #expect(gone == ["agent w fails resolved w"])
        book.advance(to: AlertStage.start + .seconds(100))
        #expect(book.takeAlerts().isEmpty)
        // It is added again.
        #expect(try Self.told(&book, (101, Self.peer("w", "live", heard: 101))).isEmpty)
        book.advance(to: AlertStage.start + .seconds(110))
        #expect(book.takeAlerts().map(\.alert.condition) == ["agent * silent 5s"])
    }

    @Test func theSourcesOfAnAgentThatIsAwayAreUnknown() throws {
        var book = try Self.book("w.q > 5 for 4s")
        book.describe(Self.status("w.q"))
        let value =
            #""seq":2,"type":"q","source":"w.q","series":"w.q","value":9,"agent":"w","run":"o","origin_seq":1"#
        _ = try Self.told(&book, (1, Self.peer("w", "live", heard: 1)), (2, value))
        #expect(try Self.told(&book, (4, Self.peer("w", "away", heard: 3))).isEmpty)
        book.advance(to: AlertStage.start + .seconds(20))
        #expect(book.takeAlerts().isEmpty)
        let told = try Self.told(&book, (21, Self.peer("w", "live", heard: 21)))
        #expect(told == ["w.q > 5 for 4s firing w.q"])
    }

    /// Jobs and containers come and go.
    @Test(.enabled(if: LongRun.isOn)) func seriesThatAreGoneMakeRoom() throws {
        var book = try Self.book("high: a/* > 5", "mean: a mean over 1m > 100", "all: all a/* > 5")
        book.describe(Self.status("a"))
        var told: [Alert] = []
        // Of the mean 8,333 have room.
        for round in 0..<10 {
            for number in 0..<1_000 {
                let name = "a/\(round)-\(number)"
                let text = #""seq":1,"type":"a","source":"a","series":"\#(name)","value":\#(number < 2 ? 9 : 1)"#
                book.apply(try Self.decoded(text, round * 2))
            }
            let gone = (0..<1_000).map { "\"\(round)-\($0)\"" }.joined(separator: ",")
            let text = #""seq":2,"type":"progress","source":"a","done":1,"total":1,"page":1,"gone":[\#(gone)]"#
            if round < 9 { book.apply(try Self.decoded(text, round * 2 + 1)) }
            told += book.takeAlerts().map(\.alert)
        }
        #expect(told.filter { $0.condition == "high" && $0.state == .firing }.count == 20)
        #expect(told.filter { $0.condition == "high" && $0.state == .resolved }.count == 18)
        // The last ones have their states.
        for value in [9, 1] {
            let text = #""seq":3,"type":"a","source":"a","series":"a/9-0","value":\#(value)"#
            book.apply(try Self.decoded(text, 21))
        }
        #expect(book.takeAlerts().map(\.alert.about) == ["a/9-0"])
    }
}
