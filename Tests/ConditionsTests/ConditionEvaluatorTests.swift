import Feed
import Reactor
import TestSupport
import Testing

@testable import Conditions

@Suite(.limited) struct ConditionEvaluatorTests {
    private static let polled = #""source":"a","state":"ok","every_s":10"#

    // MARK: Time

    @Test func isMetAtOnceAndEndsAtOnce() throws {
        var stage = try ConditionStage("> 10")
        try stage.value("a", 1, 10)
        #expect(!stage.isMet)
        try stage.value("a", 2, 10.5)
        #expect(stage.isMet)
        try stage.value("a", 3, 10)
        #expect(!stage.isMet)
    }

    /// Without further lines, and from the beginning if it did not hold in between.
    @Test(arguments: [([(1, 11)], 6), ([(1, 11), (3, 9), (4, 11)], 9)] as [([(Double, Double)], Double)])
    func holdsForATime(_ values: [(Double, Double)], _ end: Double) throws {
        var stage = try ConditionStage("> 10 for 5s")
        for (second, value) in values { try stage.value("a", second, value) }
        stage.pass(to: end - 0.001)
        #expect(!stage.isMet)
        stage.pass(to: end)
        #expect(stage.isMet)
    }

    @Test func staysUntilTheEndHeldForItsTime() throws {
        var stage = try ConditionStage("> 10 until < 8 for 5s")
        try stage.value("a", 1, 11)
        try stage.value("a", 2, 9)
        #expect(stage.isMet)
        try stage.value("a", 3, 7)
        stage.pass(to: 7.999)
        #expect(stage.isMet)
        try stage.value("a", 7.9995, 8)
        stage.pass(to: 20)
        #expect(stage.isMet)
        try stage.value("a", 21, 7)
        stage.pass(to: 25.9)
        #expect(stage.isMet, "its end begins anew")
        stage.pass(to: 26)
        #expect(!stage.isMet)
    }

    /// A sensor that falls silent neither clears an alarm nor sets the clock back.
    @Test func staysWhatItWasWhileItIsUnknown() throws {
        var stage = try ConditionStage("/v > 10 for 5s")
        try stage.data("a", 1, #""data":{"v":11}"#)
        try stage.data("a", 2, #""data":{"w":1}"#)
        stage.pass(to: 7)
        #expect(!stage.isMet)
        try stage.data("a", 8, #""data":{"v":12}"#)
        #expect(stage.isMet)
        try stage.data("a", 9, #""data":{}"#)
        #expect(stage.isMet)
        #expect(stage.finding == "a /v: it is missing")
    }

    // MARK: Values

    @Test(arguments: [
        ("/v = 5", #"{"v":5.0}"#, true), ("/v = 5", #"{"v":"5"}"#, false), ("/v != 5", #"{"v":"5"}"#, true),
        ("/v = \"5\"", #"{"v":"\u0035"}"#, true), ("/v = true", #"{"v":true}"#, true),
        ("/v = true", #"{"v":1}"#, false),
        ("/v != true", #"{"v":false}"#, true), ("/v = null", #"{"v":null}"#, true), ("/v != null", #"{"v":0}"#, true),
        ("/v exists", #"{"v":null}"#, true), ("/v missing", #"{"w":1}"#, true), ("/v exists", #"{"w":1}"#, false),
        ("/v = 9007199254740993", #"{"v":9007199254740992}"#, true), ("/v = 0", #"{"v":-0}"#, true),
        ("/v in 1..2", #"{"v":2}"#, true), ("/v not in 1..2", #"{"v":2.1}"#, true),
        ("/v contains \"x\"", #"{"v":"axb"}"#, true), ("/v not contains \"x\"", #"{"v":"ab"}"#, true),
        ("/v > 1", #"{"v":1,"v":2}"#, false), ("/a~1b/0 = 7", #"{"a/b":[7]}"#, true),
    ])
    func comparesValuesOfJSON(_ line: String, _ data: String, _ holds: Bool) throws {
        var stage = try ConditionStage(line)
        try stage.data("a", 1, #""data":\#(data)"#)
        #expect(stage.isMet == holds)
    }

    @Test(arguments: [
        ("/v > 1", #"{"v":"2"}"#), ("/v = 1", #"{"v":[1]}"#), ("/v != 1", #"{"v":{}}"#), ("/v < 1", #"{"v":null}"#),
        ("/v contains \"x\"", #"{"v":1}"#), ("/v = 1", #"{}"#), ("/v != 1", #"{}"#), ("/v > 1", #"{"v":1e400}"#),
    ])
    func doesNotKnowWhatCannotBeCompared(_ line: String, _ data: String) throws {
        var stage = try ConditionStage("\(line) until /end = 1")
        try stage.data("a", 1, #""data":\#(data)"#)
        #expect(!stage.isMet)
        var other = try ConditionStage(line)
        let good =
            line.holds("contains") ? #""x""# : line.holds("!=") || line.holds(">") ? "2" : line.holds("<") ? "0" : "1"
        try other.data("a", 1, #""data":{"v":\#(good)}"#)
        #expect(other.isMet)
        try other.data("a", 2, #""data":\#(data)"#)
        #expect(other.isMet, "unknown keeps the state")
    }

    @Test func comparesWordsTextsAndBands() throws {
        let bands =
            ##"{"name":"good","letter":"G","color":"#00ff00","up_to":50},{"name":"bad","letter":"B","color":"#ff0000"}"##
        var stage = try ConditionStage(
            "value = running", "text contains \"ne\"", "band = bad", "value = true", "value > 50",
            sources: [#""source":"a","state":"ok","bands":[\#(bands)],"higher_is_better":false"#])
        func met() -> [Bool] { (0..<5).map { stage.evaluator.isMet($0) } }
        try stage.data("a", 1, #""value":51,"word":"running","since":"2026-01-01T00:00:00Z","text":"one""#)
        #expect(met() == [true, true, true, false, true])
        try stage.data("a", 2, #""value":50,"word":"stopped","since":"2026-01-01T00:00:00Z","text":"two""#)
        #expect(met() == [false, false, false, false, false])
        try stage.data("a", 3, #""value":1,"word":"true","since":"2026-01-01T00:00:00Z""#)
        #expect(met() == [false, false, false, true, false])
    }

    /// What is looked for may be in the part that was cut off.
    @Test func doesNotKnowWhatACutTextLacks() throws {
        var stage = try ConditionStage("text not contains \"x\"")
        try stage.data("a", 1, #""text":"abc","truncated":true"#)
        #expect(!stage.isMet)
        try stage.data("a", 2, #""text":"abc""#)
        #expect(stage.isMet)
        try stage.data("a", 3, #""text":"axc","truncated":true"#)
        #expect(!stage.isMet)
    }

    /// Whatever times events have.
    @Test func goesByTheNewestLineOfASeries() throws {
        var stage = try ConditionStage("> 10")
        try stage.data("a", 10, #""value":11"#, time: 10)
        #expect(stage.isMet)
        try stage.data("a", 11, #""value":9"#, time: 9)
        #expect(!stage.isMet)
    }

    @Test func goesByTheNewestWindow() throws {
        var stage = try ConditionStage("max > 10")
        func window(_ start: Double, max: Double) throws {
            try stage.send(
                start + 20, "window", "a",
                #""series":"a","start":"\#((ConditionStage.start + .seconds(start)).text)","seconds":10,"last":1,"last_seq":1,"count":2,"min":1,"max":\#(max),"mean":2"#
            )
        }
        try window(0, max: 11)
        #expect(stage.isMet)
        try window(10, max: 9)
        #expect(!stage.isMet)
        try window(10, max: 12)
        #expect(stage.isMet)
    }

    // MARK: Requests

    @Test func comparesStatusAndTimeOfAnswers() throws {
        var stage = try ConditionStage("a status != 200", "a ms >= 20")
        try stage.latency("a", 1)
        #expect(!stage.evaluator.isMet(0) && !stage.evaluator.isMet(1))
        try stage.latency("a", 2, status: 503, ms: 20)
        try stage.error("a", 2, code: "status")
        #expect(stage.evaluator.isMet(0) && stage.evaluator.isMet(1))
        // Without an answer, no test on a status holds.
        try stage.error("a", 3)
        #expect(!stage.evaluator.isMet(0))
        #expect(stage.finding == "a status is none")
    }

    @Test func knowsWhetherASourceFails() throws {
        var stage = try ConditionStage(
            "a fails", "a fails dns", sources: [#""source":"a","state":"starting","every_s":10"#])
        #expect(!stage.isMet)
        try stage.error("a", 1)
        #expect(stage.evaluator.isMet(0) && !stage.evaluator.isMet(1))
        #expect(stage.finding == "a fails (connect)")
        try stage.error("a", 2, code: "dns")
        #expect(stage.evaluator.isMet(1))
        try stage.recovered("a", 3)
        try stage.latency("a", 3)
        #expect(!stage.evaluator.isMet(0) && !stage.evaluator.isMet(1))
    }

    /// One dead router is one alarm, and what it would say now is not known.
    @Test func doesNotKnowTheDataOfASourceThatFails() throws {
        var stage = try ConditionStage("> 10 for 10s")
        try stage.value("a", 1, 11)
        try stage.error("a", 5)
        stage.pass(to: 20)
        #expect(!stage.isMet)
        #expect(stage.finding == "a value was 11, but the source fails")
        try stage.recovered("a", 30)
        #expect(!stage.isMet, "before data comes, nothing is known")
        try stage.value("a", 30, 9)
        #expect(!stage.isMet)
    }

    @Test func takesUnchangedDataForNew() throws {
        var stage = try ConditionStage("> 10 for 10s")
        try stage.value("a", 1, 11)
        try stage.error("a", 5)
        try stage.recovered("a", 20)
        try stage.latency("a", 20, status: 304)
        #expect(stage.isMet)
    }

    @Test func doesNotKnowTheDataOfALateSource() throws {
        var stage = try ConditionStage("> 10 for 30s", sources: [Self.polled])
        try stage.value("a", 1, 11)
        try stage.latency("a", 1)
        stage.pass(to: 26)
        #expect(!stage.isMet)
        stage.pass(to: 31)
        #expect(!stage.isMet)
        #expect(stage.finding == "a value was 11, but the source is late")
        try stage.value("a", 61, 12)
        try stage.latency("a", 61)
        #expect(stage.isMet)
    }

    @Test func knowsAnyAndOfTestsWhenOneDoesNotHold() throws {
        var stage = try ConditionStage("/a > 1 and /b > 1")
        try stage.data("a", 1, #""data":{"a":2,"b":2}"#)
        #expect(stage.isMet)
        try stage.data("a", 2, #""data":{"b":2}"#)
        #expect(stage.isMet, "unknown and true is unknown")
        try stage.data("a", 3, #""data":{"b":1}"#)
        #expect(!stage.isMet)
        try stage.data("a", 4, #""data":{"a":2}"#)
        #expect(!stage.isMet, "true and unknown is unknown")
        try stage.data("a", 5, #""data":{"b":2}"#)
        #expect(!stage.isMet, "in either order")
    }

    @Test func measuresTheResponseTimesOfALastTime() throws {
        var stage = try ConditionStage("a p50 over 10s > 100")
        try stage.latency("a", 1, ms: 200)
        #expect(!stage.isMet)
        try stage.latency("a", 2, ms: 300)
        #expect(stage.isMet)
        try stage.latency("a", 13, ms: 50)
        #expect(stage.finding == "a p50 over 10s: there are too few values")
        try stage.latency("a", 14, ms: 60)
        #expect(!stage.isMet)
        #expect(stage.finding == "a p50 over 10s is 50 ms")
    }

    @Test func doesNotKnowAMeanBeyondTheRangeOfADouble() throws {
        var stage = try ConditionStage("mean over 1m < 5 until /end = 1")
        try stage.value("a", 1, 1e308)
        try stage.value("a", 2, 1e308)
        #expect(stage.finding == "a mean over 1m: there are too few values")
        try stage.value("a", 3, -1e308)
        #expect(!stage.isMet)
    }

    @Test func countsErrorsOfRequests() throws {
        var stage = try ConditionStage("a errors over 1m >= 50%")
        for second in 1...2 { try stage.latency("a", Double(second)) }
        try stage.error("a", 3)
        // An answer with an error is one request.
        try stage.latency("a", 4, status: 500)
        try stage.error("a", 4, code: "status")
        #expect(!stage.isMet)
        #expect(stage.finding == "a errors over 1m: there are too few values")
        try stage.latency("a", 5)
        #expect(stage.finding == "a errors over 1m is 40.0 %")
        try stage.error("a", 6)
        #expect(stage.isMet)
        stage.pass(to: 66)
        #expect(stage.isMet, "too few are left to say that it is over")
    }

    @Test func needsEnoughAnswersForAPercentile() throws {
        var stage = try ConditionStage("a p95 over 1h > 0", "a p99 over 1h > 0")
        for count in 1...100 {
            try stage.latency("a", Double(count), ms: Double(count))
            #expect(stage.isMet == (count >= 20) && stage.evaluator.isMet(1) == (count >= 100))
        }
        #expect(stage.finding == "a p95 over 1h is 95 ms")
    }

    @Test func forgetsWhatIsOlderThanItsTime() throws {
        var values = SlidingValues(of: .seconds(60))
        let start = LoopInstant(nanoseconds: 12_345)
        values.add(7, at: start)
        values.advance(to: start.advanced(by: .seconds(59)))
        #expect(values.count == 1 && values.max == 7 && values.min == 7)
        values.advance(to: start.advanced(by: .seconds(120)))
        #expect(values.count == 0 && values.nextLoss == nil)
        values.add(8, at: start.advanced(by: .seconds(179)))
        #expect(values.count == 1 && values.sum == 8)
    }

    // MARK: The last time

    @Test func measuresTheValuesOfALastTime() throws {
        var stage = try ConditionStage(
            "mean over 1m > 10", "min over 1m > 10", "max over 1m > 20", "count over 1m >= 2")
        func met() -> [Bool] { (0..<4).map { stage.evaluator.isMet($0) } }
        try stage.value("a", 1, 30)
        #expect(met() == [false, false, false, false])
        try stage.value("a", 2, 1)
        #expect(met() == [true, false, true, false])
        try stage.value("a", 3, 15)
        stage.pass(to: 60.9)
        #expect(met() == [true, false, true, false], "values of before the first may be missing")
        stage.pass(to: 61)
        #expect(met() == [false, false, false, true], "30 is gone")
        try stage.value("a", 63, 12)
        #expect(met() == [false, false, false, false], "one is too few for a mean, but not for a count")
        try stage.value("a", 64, 13)
        #expect(met() == [true, true, false, true])
    }

    @Test func isSilentFromTheBeginningOnIfNamed() throws {
        let sources = ["a", "b"].map { #""source":"\#($0)","state":"ok""# }
        var stage = try ConditionStage(
            "a silent 30s", "b/k silent 30s", "c* silent 30s", "d silent 30s", sources: sources)
        stage.pass(to: 29.9)
        #expect(!stage.isMet)
        stage.pass(to: 30)
        #expect(stage.evaluator.isMet(0) && stage.evaluator.isMet(1) && !stage.evaluator.isMet(2))
        #expect(!stage.evaluator.isMet(3), "there is no such source")
        try stage.value("a", 40, 1)
        #expect(!stage.isMet)
        try stage.value("b/l", 40, 1)
        #expect(stage.evaluator.isMet(1), "another series of the source")
        try stage.value("b/k", 41, 1)
        #expect(!stage.evaluator.isMet(1))
        try stage.value("cat", 42, 1)
        stage.pass(to: 69)
        try stage.latency("a", 69, status: 304)
        stage.pass(to: 75)
        #expect(!stage.evaluator.isMet(0) && stage.evaluator.isMet(1) && stage.evaluator.isMet(2))
    }

    // MARK: Series

    @Test func hasAStateForEachSeries() throws {
        var stage = try ConditionStage("rooms > 10 for 5s")
        try stage.value("rooms/a", 1, 11)
        try stage.value("rooms/b", 2, 11)
        try stage.value("rooms/a", 3, 1)
        stage.pass(to: 6.9)
        #expect(!stage.isMet)
        stage.pass(to: 7)
        #expect(stage.isMet)
        #expect(stage.finding == "rooms/b value is 11")
        try stage.value("other", 8, 99)
        try stage.value("rooms/b", 9, 1)
        #expect(!stage.isMet)
    }

    @Test func matchesPatternsAndLiteralStars() throws {
        var stage = try ConditionStage("rooms/k* > 10", "\"rooms/*\" > 10", "* > 10")
        try stage.value("rooms/bath", 1, 11)
        #expect(!stage.evaluator.isMet(0) && !stage.evaluator.isMet(1) && stage.evaluator.isMet(2))
        try stage.value("rooms/kitchen", 2, 11)
        #expect(stage.evaluator.isMet(0) && !stage.evaluator.isMet(1))
        try stage.value("rooms/*", 3, 11)
        #expect(stage.evaluator.isMet(1))
    }

    /// The agent's own lines, and series of response times, are meant only where they are named.
    @Test func leavesTheAgentItselfAlone() throws {
        var stage = try ConditionStage("fails", "* fails", "catwatch fails", "max > 1", "\"latency:a\" max > 1")
        try stage.error("catwatch", 1)
        try stage.error("web.catwatch", 1)
        #expect(!stage.evaluator.isMet(0) && !stage.evaluator.isMet(1) && stage.evaluator.isMet(2))
        try stage.send(
            12, "window", "a",
            #""series":"latency:a","start":"\#(ConditionStage.start.text)","seconds":10,"last":5,"last_seq":1,"count":2,"min":5,"max":5,"mean":5"#
        )
        #expect(!stage.evaluator.isMet(3) && stage.evaluator.isMet(4))
    }

    @Test func judgesASetWhenTheAnswerIsComplete() throws {
        var stage = try ConditionStage(
            "all rooms/* < 10", "any rooms/* > 20",
            sources: [
                #""source":"rooms","state":"ok","every_s":10"#
            ])
        try stage.value("rooms/a", 1, 5)
        stage.pass(to: 1.5)
        #expect(!stage.isMet, "another room may follow")
        try stage.value("rooms/b", 2, 15)
        try stage.latency("rooms", 2)
        stage.pass(to: 2.03)
        #expect(!stage.isMet && !stage.evaluator.isMet(1))
        try stage.value("rooms/a", 12, 5)
        try stage.value("rooms/b", 12, 6)
        #expect(!stage.isMet)
        try stage.latency("rooms", 12)
        #expect(stage.isMet)
        try stage.value("rooms/b", 22, 21)
        try stage.latency("rooms", 22)
        try stage.latency("other", 22.001)
        #expect(!stage.isMet && stage.evaluator.isMet(1))
    }

    @Test func waitsForAllPagesOfAListing() throws {
        let polled = #""source":"rooms","state":"starting","every_s":100"#
        var stage = try ConditionStage("all rooms/* < 10", sources: [polled])
        try stage.value("rooms/a", 1, 5)
        try stage.latency("rooms", 1)
        try stage.send(1, "progress", "rooms", #""done":1,"total":2,"page":1"#)
        stage.pass(to: 20)
        #expect(!stage.isMet, "a page is missing")
        try stage.value("rooms/b", 20, 5)
        try stage.latency("rooms", 20)
        #expect(!stage.isMet, "it says itself whether it was the last one")
        try stage.send(20, "progress", "rooms", #""done":2,"total":2,"page":2"#)
        #expect(stage.isMet)
    }

    @Test func isNotSilentByWhatItReadBeforeItBegan() throws {
        var stage = try ConditionStage("a > 5", sources: [Self.polled], isEvaluating: false)
        try stage.value("a", 1, 7)
        try stage.latency("a", 1)
        stage.pass(to: 60)
        stage.evaluate()
        #expect(!stage.isMet, "it is late")
    }

    @Test func doesNotWaitForASeriesThatIsGone() throws {
        var stage = try ConditionStage("all rooms/* < 10")
        try stage.value("rooms/a", 1, 5)
        try stage.value("rooms/b", 1, 15)
        stage.pass(to: 1.5)
        #expect(!stage.isMet)
        try stage.send(2, "progress", "rooms", #""done":1,"page":1,"items":1,"gone":["b"]"#)
        stage.pass(to: 2.5)
        #expect(stage.isMet)
        try stage.value("rooms/b", 3, 15)
        stage.pass(to: 3.5)
        #expect(!stage.isMet)
    }

    @Test func endsASetByTheOppositeSet() throws {
        var stage = try ConditionStage("any s/* > 10 until < 5")
        try stage.value("s/a", 1, 11)
        try stage.value("s/b", 1, 1)
        stage.pass(to: 1.5)
        #expect(stage.isMet)
        try stage.value("s/a", 2, 6)
        stage.pass(to: 2.5)
        #expect(stage.isMet, "not all are below 5")
        try stage.value("s/a", 3, 4)
        stage.pass(to: 3.5)
        #expect(!stage.isMet)
    }

    // MARK: The past

    @Test func judgesThePastByItsNewestLines() throws {
        var stage = try ConditionStage("> 10", "a silent 1m", isEvaluating: false)
        try stage.value("a", 100, 11)
        try stage.value("a", 101, 9)
        stage.evaluate()
        #expect(!stage.isMet)
        try stage.value("a", 102, 11)
        #expect(stage.isMet)
        stage.pass(to: 161)
        #expect(!stage.evaluator.isMet(1))
        stage.pass(to: 162)
        #expect(stage.evaluator.isMet(1))
    }

    // MARK: Agents of a fleet

    @Test func knowsAgents() throws {
        var stage = try ConditionStage("agent web1 silent 30s", "agent * fails")
        try stage.peer("web1", 1, "live", heard: 1)
        // An agent that is well is told of once a minute, its lines come all the time.
        for second in stride(from: 5.0, through: 55, by: 10) { try stage.forwarded("web1", "a", second, 1) }
        stage.pass(to: 84.9)
        #expect(!stage.isMet && !stage.evaluator.isMet(1))
        stage.pass(to: 85)
        #expect(stage.isMet)
        try stage.peer("web1", 86, "away", heard: 55)
        #expect(stage.evaluator.isMet(1) && stage.isMet)
        try stage.peer("web1", 100, "live", heard: 100)
        #expect(!stage.isMet && !stage.evaluator.isMet(1))
    }

    // MARK: Bounds

    @Test func refusesMoreSeriesThanItCanHold() throws {
        // Both conditions together have 10,000.
        var stage = try ConditionStage("> 1", "all a/* > 10", "any a/* > 12")
        for number in 0..<3_340 { try stage.value("a/\(number)", 1, number == 0 ? 1 : 11) }
        #expect(stage.evaluator.refused == 20)
        #expect(stage.isMet)
        try stage.value("a/0", 2, 11)
        #expect(!stage.evaluator.isMet(1), "not all are known")
        #expect(!stage.evaluator.isMet(2))
        try stage.value("a/7", 2, 13)
        #expect(stage.evaluator.isMet(2), "one is enough")
    }

    @Test func changesTenTimesASecondAndEndsWithTheNewest() throws {
        var stage = try ConditionStage("> 5", reportsChanges: true)
        for number in 1...1_000 { try stage.value("a", 1 + Double(number) / 2_000, Double(number % 2) * 10) }
        #expect(stage.evaluator.takeTransitions().count == 10)
        try stage.value("a", 1.6, 10)
        stage.pass(to: 3)
        #expect(stage.isMet)
        #expect(stage.evaluator.takeTransitions().count <= 1)
    }

    /// Of who asks only what is met, nothing is held for each change.
    @Test func holdsNoChangesThatNobodyTakes() throws {
        var stage = try ConditionStage("> 5")
        for number in 1...100 { try stage.value("a", Double(number), Double(number % 2) * 10) }
        #expect(stage.evaluator.takeTransitions().isEmpty)
    }

    /// Whatever is sent, in whichever order, time goes on and nothing traps; what is met is met for a series.
    @Test func survivesAnyFeed() throws {
        var random = SeededGenerator(seed: 251)
        func pick<Element>(_ all: [Element]) -> Element { all[Int(random.next() % UInt64(all.count))] }
        let conditions = [
            "> 5", "a/* in 2..4 for 3s", "any a/* > 5 for 2s until < 3 for 2s", "all * < 8", "a fails", "b silent 5s",
            "p50 over 10s > 3", "errors over 5s > 10%", "mean over 5s > 4", "count over 3s >= 2",
            "a status = 200 for 2s",
            "a/x > 3 and status = 200", "max > 3",
        ]
        for _ in 0..<LongRun.rounds(short: 40, long: 2_000) {
            var stage = try ConditionStage(pick(conditions), pick(conditions), sources: [Self.polled])
            var second = 0.0
            for _ in 0..<60 {
                second += Double(random.next() % 30) / 10
                let source = pick(["a", "b"])
                switch random.next() % 9 {
                case 0...3:
                    try stage.value(pick(["\(source)/x", "\(source)/y", source]), second, Double(random.next() % 10))
                case 4: try stage.latency(source, second, status: pick([200, 304, 500]), ms: Double(random.next() % 9))
                case 5: try stage.error(source, second)
                case 6: try stage.recovered(source, second)
                default: stage.pass(to: second)
                }
                for number in 0..<2 where stage.evaluator.isMet(number) {
                    #expect(stage.evaluator.finding(of: number) != nil, "seed \(random.seed)")
                }
            }
        }
    }
}
