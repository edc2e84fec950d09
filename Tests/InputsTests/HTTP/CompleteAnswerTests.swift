import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// What complete answers tell: which items are gone, how many there are, and which of them are taken.
@Suite(.limited) struct CompleteAnswerTests {
    private static func source(
        key: Extraction.Key? = nil, only: [String]? = nil, counts: Bool = false
    ) throws -> HTTPSource {
        var extraction = Extraction(
            items: try JSONPointer(""), key: key, value: .at(try JSONPointer("/n")), text: .nowhere)
        extraction.only = only.map { ItemChoice($0) }
        var source = HTTPSource(
            SourceDescription(name: "s"), request: HTTPRequest(url: "http://cats.test/"), every: .seconds(1),
            extraction: extraction)
        source.countsItems = counts
        return source
    }

    private static func id() throws -> Extraction.Key { .at(try JSONPointer("/id")) }

    private static func body(_ ids: some Sequence<String>, more: String = "") -> String {
        "[" + ids.map { #"{"id":\#(JSONText.quoted($0)),"n":1}"# }.joined(separator: ",") + more + "]"
    }

    /// Polls once for each body, of which nil is 304 and an empty one is no JSON.
    private static func poll(_ source: HTTPSource, _ bodies: [String?]) async throws -> SimulatedFeed {
        let feed = try await SimulatedFeed.run(source, for: .seconds(Int64(bodies.count)) - .milliseconds(1)) {
            number, _ in
            guard number < bodies.count, let body = bodies[number] else { return .answer(304, "") }
            return .answer(200, body, headers: HTTPAnswerHeaders(etag: "\"1\"", contentType: "application/json"))
        }
        feed.expectWellFormed()
        return feed
    }

    /// Any answers, some of which are bad, against a twin that remembers the keys.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func whatIsGoneIsTold(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let all = ["#", "a/b", "", "K\"öln", "1", "2", "\u{1F408}"]
        var (bodies, expected): ([String?], [[String]]) = ([], [])
        var there: Set<String> = []
        for _ in 0..<60 {
            var ids = all.filter { _ in Bool.random(using: &random) }
            // Some come twice.
            if let first = ids.first, Bool.random(using: &random) { ids.append(first) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: bodies.append(nil)
            case 1 where !ids.isEmpty:  // an item without its key
                bodies.append(Self.body(ids, more: #",{"n":1}"#))
                there.formUnion(ids)
            case 2:
                bodies.append(#"[{"id":"x""#)
            default:
                // A value that is wrong makes it no less complete.
                let last = ids.first == "1" ? "1" : "2"
                bodies.append(ids.isEmpty ? "[]" : Self.body(ids, more: #",{"id":"\#(last)","n":"x"}"#))
                if !ids.isEmpty { ids.append(last) }
                let gone = there.subtracting(ids)
                if !gone.isEmpty { expected.append(gone.sorted()) }
                there = Set(ids)
            }
        }
        let feed = try await SimulatedFeed.run(try Self.source(key: try Self.id()), for: .seconds(200)) {
            [bodies] number, _ in
            guard number < bodies.count, let body = bodies[number] else { return .answer(304, "") }
            return .answer(200, body, headers: HTTPAnswerHeaders(etag: "\"1\"", contentType: "application/json"))
        }
        #expect(feed.progress.map(\.gone).filter { !$0.isEmpty }.map { $0.sorted() } == expected, "seed \(seed)")
    }

    @Test func aLineIsWrittenOnlyWhenThereIsSomethingToSay() async throws {
        let one = Self.body(["a", "b"])
        let feed = try await Self.poll(try Self.source(key: try Self.id()), [one, one, nil, Self.body(["b"]), one])
        #expect(feed.progress == [Progress(done: 1, total: 1, page: 1, gone: ["a"])])
    }

    /// Such a search once took a minute.
    @Test func manyPatternsAndLongKeysTakeLittle() {
        let choice = ItemChoice((0..<1_000).map { "*\(String(repeating: "a", count: 500))b\($0)*" })
        let key = Bytes(Array(repeating: UInt8(ascii: "a"), count: 1_000))
        var matches = ItemChoice.Matches()
        for _ in 0..<30 { #expect(!choice.includes(key, noting: &matches)) }
        #expect(choice.includes(key + Array("b7".utf8), noting: &matches))
        #expect(matches.contains(7) && !matches.contains(8))
    }

    @Test func itemsAreCountedWhereThatIsAskedFor() async throws {
        let feed = try await Self.poll(
            try Self.source(key: try Self.id(), counts: true),
            [Self.body(["a", "b", "a"]), "[]", nil, "[]", #"[{"id":"a","n":1},{"n":2}]"#, Self.body(["a"])])
        #expect(
            feed.progress == [
                Progress(done: 3, total: 3, page: 1, items: 3),
                Progress(done: 0, total: 0, page: 1, items: 0, gone: ["a", "b"]),
                Progress(done: 0, total: 0, page: 1, items: 0), Progress(done: 1, total: 1, page: 1, items: 1),
            ])
        #expect(feed.state == .ok)
    }

    /// What is left of a document when its source ends in the middle of it is not gone.
    @Test func anAnswerThatIsCutShortTellsNothing() async throws {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let body = Self.body((0..<9_000).map { "\($0)" })
            let transport = ScriptedTransport(on: loop) { _, _ in .answer(200, body, after: .milliseconds(1)) }
            let source = try Self.source(key: try Self.id(), counts: true)
            let (reader, _) = await store.open(nil)
            for cut in [false, true] {
                let poller = HTTPPoller(
                    source, store: store, polls: PollRequests(on: loop), transport: transport, on: loop, wall: wall)
                let before = await store.counts.data
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try? await poller.run() }
                    let calls = await transport.calls.count
                    while true {
                        let made = await transport.calls
                        if made.count > calls, made.last?.ended != nil { break }
                        try await loop.sleep(for: .microseconds(100))
                    }
                    if cut {
                        while await store.counts.data == before { try await loop.sleep(for: .zero) }
                    } else {
                        try await loop.sleep(for: .milliseconds(10))
                    }
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
            let count = await store.counts.data
            #expect(9_000..<18_000 ~= count)
            await store.finish("end")
            var texts = ""
            reading: while true {
                switch try await store.next(for: reader) {
                case .lines(let span): span.withUnsafeBytes { texts += String(decoding: $0, as: UTF8.self) }
                case .end: break reading
                default: break
                }
            }
            #expect(texts.contains("the source was stopped or changed") && !texts.contains(#""gone""#))
            #expect(texts.components(of: #""items":9000"#) == 1)
        }
    }

    // MARK: Choosing

    @Test func onlyItemsThatAreChosenAreTaken() async throws {
        let body =
            ##"[{"id":"K\u00f6ln","n":1},{"id":"Kiel","n":"x"},{"id":"Bonn","n":"x"},{"id":"a\/b","n":4},{"id":5,"n":5},{"id":"#","n":6}]"##
        let source = try Self.source(key: try Self.id(), only: ["K*", "a/b", "5", "#"], counts: true)
        let feed = try await Self.poll(source, [body, body, "[]"])
        #expect(
            feed.data.map(\.series) == [
                "s/Köln", "s/Kiel", "s/a/b", "s/5", "s/#", "s/Köln", "s/Kiel", "s/a/b", "s/5", "s/#",
            ])
        // What is wrong with the others is not looked at.
        #expect(feed.errors.count == 1 && feed.errors[0].message.contains("1 of 5 items"))
        #expect(feed.progress.map(\.items) == [5, 5, 0] && feed.progress.map(\.done) == [6, 6, 0])
        #expect(feed.progress.map(\.gone) == [[], [], ["Köln", "Kiel", "a/b", "5", "#"]] && feed.state == .ok)
    }

    @Test func aPatternThatMatchesNothingIsToldOnce() async throws {
        let source = try Self.source(key: try Self.id(), only: ["a", "b", "c*"])
        let bodies = [
            "[]", Self.body(["a"]), Self.body(["x"]), Self.body(["x"]), Self.body(["b"]),
        ]
        let feed = try await Self.poll(source, bodies)
        #expect(feed.errors.map(\.message) == [#"only: "b" and 1 more of its patterns match the key of no item"#])
        #expect(feed.state == .ok)
        // An answer that is not complete tells nothing.
        let partly = try await Self.poll(source, [#"[{"id":"a","n":1},{"n":1}]"#])
        #expect(partly.errors.count == 1 && partly.errors[0].code == .pointer)
    }

    /// Against a search that tries every length of a `*`.
    @Test(arguments: [1, 2, 3] as [UInt64]) func patternsMatchAsASlowSearchSays(seed: UInt64) {
        func slow(_ pattern: Substring, _ key: Substring) -> Bool {
            guard let first = pattern.first else { return key.isEmpty }
            if first != "*" { return key.first == first && slow(pattern.dropFirst(), key.dropFirst()) }
            return (0...key.count).contains { slow(pattern.dropFirst(), key.dropFirst($0)) }
        }
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let patterns = (0..<3).map { _ in
                String(
                    (0..<Int.random(in: 1..<7, using: &random)).map { _ in "ab**".randomElement(using: &random) ?? "a" }
                )
            }
            let key = String(
                (0..<Int.random(in: 0..<8, using: &random)).map { _ in "ab".randomElement(using: &random) ?? "a" })
            var matches = ItemChoice.Matches()
            let isChosen = ItemChoice(patterns).includes(Bytes(key.utf8), noting: &matches)
            let expected = patterns.map { slow($0[...], key[...]) }
            #expect(isChosen == expected.contains(true), "seed \(seed): \(patterns) \(key)")
            // Of equal ones, one notes it; a pattern with `*` may be passed over when it has matched before.
            for index in patterns.indices where matches.contains(index) { #expect(expected[index]) }
            for index in patterns.indices
            where expected[index] && patterns.firstIndex(of: patterns[index]) == patterns.lastIndex(of: patterns[index])
            {
                #expect(matches.contains(index), "seed \(seed): \(patterns) \(key)")
            }
        }
    }
}

extension String {
    fileprivate func components(of text: String) -> Int {
        var (count, rest) = (0, self[...])
        while let range = rest.firstRange(of: text) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}

extension JSONText {
    /// A text as JSON.
    fileprivate static func quoted(_ text: String) -> String {
        "\"" + text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] } + "\""
    }
}
