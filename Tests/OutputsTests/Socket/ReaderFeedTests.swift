import Feed
import Reactor
import TestSupport
import Testing

@testable import Outputs

/// What a reader gets next, asked for step by step: what happens between two steps is up to the test.
@Suite(.limited) struct ReaderFeedTests {
    private static func terms(_ adjust: (inout ReaderRequest.Wish) -> Void) throws -> ReaderRequest.Terms {
        var wish = ReaderRequest.Wish()
        adjust(&wish)
        return try wish.terms()
    }

    private static func readers(_ stage: FeedStage, history: JournalQueue? = nil) -> FeedReaders {
        FeedReaders(
            store: stage.store, polls: stage.polls, on: stage.loop, limits: ReaderLimits(), seats: ReaderSeats(),
            history: history)
    }

    /// A log of seven pieces of at most 64 KiB: two of them are more than a page of lines, one is less.
    private static func withLog(_ body: @escaping @Sendable (FeedStage) async throws -> Void) async throws {
        try await withLoop(virtual: true) { loop in
            try await body(FeedStage(on: loop) { $0.logCapacity = 1 << 19 })
        }
    }

    private enum Came: Equatable {
        case gap
        case bytes(Int)
        case end
        case nothing

        /// Whether there are any.
        var isBytes: Bool { if case .bytes(1...) = self { true } else { false } }
    }

    private static func next(of feed: ReaderFeed) -> Came {
        var room = Int.max
        while true {
            switch feed.next(&room) {
            case .piece(let piece):
                return piece.withUnsafeBytes {
                    $0.starts(with: "{\"type\":\"gap\"".utf8) ? .gap : .bytes($0.count)
                }
            case .last: return .end
            case .again: continue
            case .nothing: return .nothing
            }
        }
    }

    /// What is missing may have been in time: what is too late is counted anew behind it.
    @Test func everyGapIsToldUntilAPageOfLinesThatAreTooLateHasCome() async throws {
        try await Self.withLog { stage in
            await stage.publish(370, text: 1_000)
            let terms = try Self.terms { $0.until = FeedStage.start }
            let (feed, _) = ReaderFeed.open(.lines, among: Self.readers(stage), terms) {}
            var came: [Came] = []
            while came.last != .end, came.count < 20 {
                came.append(Self.next(of: feed))
                // One piece is read, and some behind it are let go of.
                if case .bytes = came.last { await stage.publish(120, text: 1_000) }
            }
            #expect(came.starts(with: [.bytes(0), .gap, .bytes(0), .gap]) && came.last == .end, "\(came)")
            feed.close()
        }
    }

    /// It has come to a page of lines that are too late for what it asked for before.
    @Test func whoAsksAnewIsToldOfGapsAgain() async throws {
        try await Self.withLog { stage in
            await stage.publish(370, text: 1_000)
            let terms = try Self.terms { $0.until = FeedStage.start }
            let (feed, _) = ReaderFeed.open(.socket, among: Self.readers(stage), terms) {}
            for _ in 0..<4 { #expect(Self.next(of: feed) == .bytes(0)) }
            await stage.publish(200, text: 1_000)
            #expect(!feed.move(to: try Self.terms { $0.since = 5 }).isEmpty)
            #expect(Self.next(of: feed) == .gap)
            feed.close()
        }
    }

    /// What the log has is answered at once, also where it begins.
    @Test func theJournalIsReadForWhatTheLogDoesNotHave() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await PastReaderTests.Stage(on: loop)
            stage.history.begin("r1")
            await stage.publish(500)
            let first = try await stage.firstHeld
            let (feed, _) = ReaderFeed.open(
                .socket, among: Self.readers(stage.feed, history: stage.queue), nil
            ) {}
            #expect(first > 2)
            #expect(!feed.move(to: try Self.terms { $0.since = first - 1 }).isEmpty)
            #expect(feed.move(to: try Self.terms { $0.since = first - 2 }).isEmpty)
            feed.close()
        }
    }

    private static func text(_ next: ReaderFeed.Next) -> String {
        guard case .piece(let piece) = next else { return "" }
        return piece.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test func theHelloOfAnEndedRunIsAnEvent() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop, run: "unknown", isRelay: true)
            try await stage.relay("r1", 1...3)
            let (feed, _) = ReaderFeed.open(.events, among: Self.readers(stage), nil) {}
            try await stage.relay("r2", 1...3)
            try await stage.relay("r3", 1...3)
            var room = Int.max
            let texts = (0..<3).map { _ in Self.text(feed.next(&room)) }
            #expect(texts.allSatisfy { !$0.isEmpty && !$0.hasPrefix("{") }, "\(texts)")
            #expect(texts[1].contains("\"run\":\"r2\""))
            feed.close()
        }
    }

    /// A push asks for what it missed of an ended run by the name of that run.
    @Test func aPushGetsTheLinesOfAnEndedRunFromTheJournal() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await PastReaderTests.Stage(on: loop, run: "unknown", isRelay: true)
            stage.history.begin("r2")
            stage.history.add(1...3, from: FeedStage.start)
            try await stage.serving {
                let feed = ReaderFeed.push(named: "push", of: stage.feed.store, stage.queue) {}
                for run in ["r1", "r2", "r3"] { try await stage.feed.relay(run, 1...3) }
                var texts: [String] = []
                while texts.count < 100, texts.last?.contains("\"run\":\"r3\"") != true {
                    var room = Int.max
                    texts.append(Self.text(feed.next(&room)))
                    try await loop.sleep(for: .milliseconds(10))
                }
                let all = texts.joined()
                #expect(all.split(separator: "\n").count { $0.hasPrefix("{\"type\":\"gap\"") } == 1, "\(all)")
                #expect(all.contains("{\"seq\":3,"), "\(all)")
                feed.close()
            }
        }
    }

    /// The greeting of the run that is now was owed to the request before.
    @Test func whoAsksAnewBehindARunThatIsOverIsGreetedOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = await PastReaderTests.Stage(on: loop)
            stage.history.begin("r0")
            stage.history.add(1...30, from: FeedStage.start - .seconds(60))
            await stage.feed.publish(10)
            try await stage.serving {
                let readers = Self.readers(stage.feed, history: stage.queue)
                let (feed, _) = ReaderFeed.open(.socket, among: readers, nil) {}
                #expect(feed.move(to: try Self.terms { $0.until = FeedStage.start - .seconds(50) }).isEmpty)
                // The page of the older lines, and then nothing, in front of the log's first line.
                var came: [Came] = []
                while came.count < 20 {
                    came.append(Self.next(of: feed))
                    if came.last == .bytes(0), came.contains(where: \.isBytes) { break }
                    try await loop.sleep(for: .milliseconds(10))
                }
                #expect(came.last == .bytes(0), "\(came)")
                #expect(!feed.move(to: try Self.terms { ($0.replay, $0.types) = (false, ["fact"]) }).isEmpty)
                await stage.feed.publish()
                var room = Int.max
                guard case .piece(.bytes(let bytes)) = feed.next(&room) else {
                    Issue.record("no line")
                    return
                }
                #expect(bytes.starts(with: "{\"seq\":11,".utf8), "\(String(decoding: bytes, as: UTF8.self))")
                feed.close()
            }
        }
    }
}
