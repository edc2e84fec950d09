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

    @Test(arguments: [71, 72] as [UInt64])
    func anHourOfSixtyComponentsIsAsItsTwinSays(seed: UInt64) async throws {
        let (components, answers) = (60, 520)
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
        expectWindows(in: feed, script, times, "seed \(seed)")
    }

    /// Every window line: of the values of its component in its ten seconds, with the last one's band, and how that is
    /// against the window before.
    private func expectWindows(
        in feed: SimulatedFeed, _ script: [[Said]], _ times: [Timestamp], _ comment: Comment
    ) {
        func start(_ time: Timestamp) -> Int64 { time.microseconds / 10_000_000 * 10 }
        /// By component: the windows in their order.
        var windows = [[(start: Int64, values: [Double])]](repeating: [], count: script[0].count)
        for (answer, time) in times.enumerated() {
            for (component, said) in script[answer].enumerated() {
                guard let value = said.value else { continue }
                if windows[component].last?.start != start(time) { windows[component].append((start(time), [])) }
                windows[component][windows[component].count - 1].values.append(value)
            }
        }
        var next = [Int](repeating: 0, count: windows.count)
        for line in feed.lines {
            guard case .window(let window) = line.body, window.series.hasPrefix("status/c"),
                let component = Int(window.series.dropFirst(8))
            else { continue }
            let (start, own) = windows[component][next[component]]
            let before = next[component] > 0 ? windows[component][next[component] - 1] : nil
            next[component] += 1
            // The window before is in the history.
            let isShown = before.map { $0.start + 10 > line.time.microseconds / 1_000_000 - 120 } ?? false
            let step = (own.last ?? 0) - (before?.values.last ?? 0)
            let trend = !isShown || step == 0 ? nil : step < 0 ? "improving" : "deteriorating"
            let isRight =
                window.start == Timestamp(seconds: start) && window.last == own.last && window.count == own.count
                && window.min == own.min() && window.max == own.max() && window.trend == trend && window.revision == 0
                && window.band == own.last.map { Self.states[Int($0)] }
            guard isRight else {
                Issue.record("\(window) of \(own) behind \(String(describing: before)), \(comment)")
                return
            }
        }
        // All but those that were still open.
        for component in windows.indices {
            #expect(next[component] > 0 && next[component] >= windows[component].count - 2, comment)
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

    /// A document that is one event is one all the same.
    @Test func aWordThatIsNoneOfTheStatesIsNoFailureOfADocument() async throws {
        let source = HTTPSource(
            SourceDescription(name: "door"), request: HTTPRequest(url: "http://cats.test/door"), every: .seconds(1),
            extraction: Extraction(value: .at(try JSONPointer("/door")), states: ["open", "closed"], text: .nowhere))
        let feed = try await SimulatedFeed.run(source, for: .seconds(10)) { number, _ in
            .answer(200, #"{"door":"\#(number % 2 == 0 ? "ajar" : "closed")"}"#)
        }
        feed.expectWellFormed()
        #expect(feed.state == .ok && feed.data.count == feed.calls.count)
        #expect(feed.data.prefix(4).map(\.word) == [nil, "closed", nil, "closed"])
        #expect(feed.data.prefix(4).map(\.value) == [nil, 1, nil, 1])
        #expect(
            feed.errors.allSatisfy {
                $0.attempt == nil && $0.message == #""/door" is 'ajar', which is none of the states"#
            })
        // Every other answer is good.
        #expect(feed.errors.count == (feed.calls.count + 1) / 2)
    }
}
