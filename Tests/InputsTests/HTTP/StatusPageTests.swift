import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// A status page of many components whose states are words, through poller, store and board.
@Suite(.limited) struct StatusPageTests {
    private static let states = ["operational", "degraded_performance", "partial_outage", "major_outage"]

    /// What a component may be: a state, nothing, a number, or a word that is no state.
    private enum Said: Equatable, Sendable {
        case state(Int)
        case null, number, unknown

        var text: String {
            switch self {
            case .state(let index): "\"\(states[index])\""
            case .null: "null"
            case .number: "2"
            case .unknown: #""Operational""#
            }
        }
        var word: String? { if case .state(let index) = self { states[index] } else { nil } }
        var value: Double? {
            switch self {
            case .state(let index): Double(index)
            case .number: 2
            case .null, .unknown: nil
            }
        }
    }

    private static func source(every: Duration) throws -> HTTPSource {
        let bands = states.enumerated().map { index, name in
            Band(
                name: name, letter: Character(String(index)), color: .init(red: 0, green: 0, blue: 0),
                upTo: index == states.count - 1 ? nil : Double(index) + 0.5)
        }
        return HTTPSource(
            SourceDescription(name: "status", bands: BandScale(bands, higherIsBetter: false)),
            request: HTTPRequest(url: "http://cats.test/components"), every: every,
            extraction: Extraction(
                items: try JSONPointer("/components"), key: .at(try JSONPointer("/name")),
                value: .at(try JSONPointer("/status")), states: states, text: .nowhere))
    }

    /// What each of the components says in each of the answers.
    private static func script(_ seed: UInt64, components: Int, answers: Int) -> [[Said]] {
        var random = SeededGenerator(seed: seed)
        var now = [Said](repeating: .state(0), count: components)
        return (0..<answers).map { _ in
            for index in now.indices where random.next() % 20 == 0 {
                switch random.next() % 16 {
                case 0: now[index] = .null
                case 1: now[index] = .number
                case 2: now[index] = .unknown
                default: now[index] = .state(Int(random.next() % 4))
                }
            }
            return now
        }
    }

    @Test(arguments: [71] as [UInt64])
    func anHourOfSixtyComponentsIsAsItsTwinSays(seed: UInt64) async throws {
        let (components, answers) = (LongRun.rounds(short: 20, long: 60), 520)
        let script = Self.script(seed, components: components, answers: answers)
        let feed = try await SimulatedFeed.run(try Self.source(every: .seconds(7)), for: .seconds(3_600)) { number, _ in
            let items = script[min(number, answers - 1)].enumerated().map { index, said in
                #"{"name":"c\#(index)","status":\#(said.text)}"#
            }
            return .answer(200, #"{"components":[\#(items.joined(separator: ","))]}"#)
        }
        feed.expectWellFormed()
        #expect(feed.calls.count > 510 && feed.calls.count <= answers)

        // Every line by itself: its value and word are what was said, since the first answer in a row that said so.
        var times: [Timestamp] = []
        var board = Board()
        var answered = 0
        for line in feed.lines {
            board.apply(line)
            guard case .data(let data) = line.body else { continue }
            let (answer, component) = (answered / components, answered % components)
            if component == 0 { times.append(line.time) }
            let said = script[answer][component]
            let first = (0...answer).reversed().prefix { script[$0][component] == said }.last ?? answer
            let since = said.word == nil ? nil : times[first]
            if data.series != "status/c\(component)" || data.value != said.value || data.word != said.word
                || data.since != since || line.time != times[answer]
            {
                Issue.record("answer \(answer), \(data) and not \(said) since \(times[first]), seed \(seed)")
                return
            }
            answered += 1
        }
        #expect(answered == feed.calls.count * components)

        // A board has the newest of each.
        let last = feed.calls.count - 1
        for component in 0..<components {
            let said = script[last][component]
            let event = try #require(board.series(named: "status/c\(component)").map { board.series[$0] }?.event)
            #expect(event.word == said.word && event.value == said.value && (event.since == nil) == (said.word == nil))
            guard said.word != nil else { continue }
            let first = (0...last).reversed().prefix { script[$0][component] == said }.last
            #expect(event.since == first.map { times[$0] }, "seed \(seed)")
        }
    }

    @Test func aWordThatIsNoneOfTheStatesIsToldOnceAMinute() async throws {
        let feed = try await SimulatedFeed.run(try Self.source(every: .seconds(1)), for: .seconds(150)) { _, _ in
            .answer(
                200, #"{"components":[{"name":"a","status":"Operational"},{"name":"b","status":"partial_outage"}]}"#)
        }
        feed.expectWellFormed()
        #expect(feed.state == .ok && feed.errors.count == 3)
        #expect(
            feed.errors.map(\.message)
                == Array(
                    repeating: """
                        1 of 2 items is not as asked for (1 without value); first, item 1: "/status" is 'Operational', which is \
                        none of the states; did you mean 'operational'?
                        """, count: 3))
        #expect(feed.data.map(\.value) == feed.calls.flatMap { _ in [nil, 2] })
        #expect(
            feed.data.count == 2 * feed.calls.count && feed.data.filter { $0.word != nil }.count == feed.calls.count)
    }
}
