import Feed
import Reactor
import TestSupport
import Testing

@testable import Terminal

/// A terminal in memory; what was done to it is in `log`.
final class SimulatedTerminal: TerminalDevice, @unchecked Sendable {
    // Unchecked: touched on the loop of its test only.
    var size = ScreenSize(columns: 60, rows: 12)
    var log: [String] = []
    let capacity: Int
    /// The person's end.
    private(set) var keyboard: SimulatedStream?
    private(set) var screen: SimulatedStream?
    private var output: SimulatedStream?
    private var unwritten: [UInt8] = []
    /// All that was ever taken.
    private(set) var taken: [UInt8] = []
    private var handler: ((TerminalSignal) -> Void)?

    init(capacity: Int = 1 << 20) { self.capacity = capacity }

    func open(on loop: EventLoop) throws(SystemError) -> (input: any ByteStream, output: any ByteStream) {
        let (keys, input) = SimulatedStream.pair(on: loop)
        let (screen, output) = SimulatedStream.pair(capacity: capacity, on: loop)
        keyboard = keys
        self.screen = screen
        self.output = output
        return (input, output)
    }

    func enter(_ bytes: [UInt8], leaving: [UInt8]) throws(SystemError) {
        log.append("enter")
        unwritten = leaving
    }

    func writeLeaving() -> Bool {
        let count = unwritten.withUnsafeBytes { bytes in try? output?.write(bytes) } ?? unwritten.count
        unwritten.removeFirst(count)
        return unwritten.isEmpty
    }

    func leave() { log.append("leave") }
    func askToSuspend() { handler?(.suspend) }
    func suspend() { log.append("stopped") }

    func watchSignals(on loop: EventLoop, _ handler: @escaping (TerminalSignal) -> Void) throws(SystemError) {
        self.handler = handler
    }

    func close() { log.append("close") }

    func signal(_ signal: TerminalSignal) { handler?(signal) }

    func press(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { bytes in try? keyboard?.write(bytes) }
    }

    /// What was written since the last call.
    func take() -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while let count = try? buffer.withUnsafeMutableBytes({ bytes in try screen?.read(into: bytes) }), count > 0 {
            bytes += buffer[..<count]
        }
        taken += bytes
        return bytes
    }
}

/// A session in virtual time and what its tests need.
private struct Harness: Sendable {
    let loop: EventLoop
    let store: EventStore
    let wall: SteppedWallClock
    let source: SourceID
    let terminal: SimulatedTerminal
    let session: TerminalSession

    static let start = Timestamp(seconds: 1_772_366_400)

    init(on loop: EventLoop, capacity: Int = 1 << 20, past: (any PastFeed)? = nil) async {
        self.loop = loop
        wall = SteppedWallClock(following: loop.clock, startingAt: Self.start)
        let identity = AgentIdentity(run: "r1", version: "1", started: Self.start)
        store = EventStore(on: loop, wall: wall, identity: identity)
        source = await store.register(SourceDescription(name: "fact"))
        terminal = SimulatedTerminal(capacity: capacity)
        let view = TerminalView(size: terminal.size, connection: .waiting(target: "x", since: Self.start))
        session = TerminalSession(
            view, capabilities: TerminalCapabilities(depth: .none), store: store, on: loop, wall: wall,
            device: terminal,
            past: past
        ) { [terminal] action in
            terminal.log.append("\(action)")
            return action == .poll(source: nil) ? nil : "nobody \u{1B}[2J answers"
        }
    }

    func publish(_ value: Double) async {
        await store.publish([Event(time: wall.now, source: source, body: .data(Datum(value: value)))])
    }

    /// Runs `body` beside the session, and gives how the session ended.
    func run(_ body: @escaping @Sendable () async throws -> Void) async throws -> TerminalSession.Ending {
        try await withThrowingTaskGroup(of: TerminalSession.Ending?.self) { group in
            group.addTask { [session] in try await session.run() }
            group.addTask {
                // The session has its terminal then, and has drawn for the first time.
                try await loop.sleep(for: .milliseconds(1))
                try await body()
                return nil
            }
            while let ending = try await group.next() {
                guard let ending else { continue }
                group.cancelAll()
                return ending
            }
            throw CancellationError()
        }
    }
}

/// A journal that answers when it is let: what it was asked for, and by how many that are not over.
private actor SimulatedPast: PastFeed {
    enum Answer: Sendable {
        case lines([String])
        case failure(String)
        /// Nothing, for ever.
        case silence
    }

    private let loop: EventLoop
    private let answer: @Sendable (PastRequest) -> Answer
    private(set) var requests: [PastRequest] = []
    private(set) var readers = 0
    private(set) var mostReaders = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(on loop: EventLoop, answer: @escaping @Sendable (PastRequest) -> Answer) {
        (self.loop, self.answer) = (loop, answer)
    }

    func read(_ request: PastRequest, receive: @escaping @Sendable ([UInt8]) async -> Bool) async throws {
        requests.append(request)
        readers += 1
        mostReaders = max(mostReaders, readers)
        defer { readers -= 1 }
        try await loop.sleep(for: .milliseconds(50))
        switch answer(request) {
        case .lines(let lines):
            for line in [PastSeriesTests.hello("old")] + lines + [PastSeriesTests.bye] {
                guard await receive(Array((line + "\n").utf8)) else { return }
            }
        case .failure(let reason): throw PastFailure(reason)
        case .silence: try await loop.sleep(for: .seconds(100_000))
        }
    }
}

/// `]` with a journal that is not the terminal's.
@Suite(.limited) struct PastSessionTests {
    /// Presses keys, waits, and gives what the terminal shows then.
    private static func screen(_ harness: Harness, _ keys: String = "", after time: Duration) async throws -> String {
        if !keys.isEmpty { harness.terminal.press(keys) }
        try await harness.loop.sleep(for: time)
        _ = harness.terminal.take()
        harness.terminal.signal(.resized)
        try await harness.loop.sleep(for: .milliseconds(1))
        var screen = ScreenModel(columns: harness.terminal.size.columns, rows: harness.terminal.size.rows)
        screen.write(harness.terminal.take()) { Cluster($0).columns }
        #expect(screen.faults == [])
        return screen.text
    }

    private static func run(
        _ answer: @escaping @Sendable (PastRequest) -> SimulatedPast.Answer,
        _ body: @escaping @Sendable (Harness, SimulatedPast) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let past = SimulatedPast(on: loop, answer: answer)
            let harness = await Harness(on: loop, past: past)
            let ending = try await harness.run {
                await harness.publish(5)
                try await loop.sleep(for: .milliseconds(200))
                try await body(harness, past)
                harness.terminal.press("q")
            }
            #expect(ending == .quit)
            #expect(await past.readers == 0)
        }
    }

    @Test func whatTheJournalHasIsShownOnceItIsThere() async throws {
        try await Self.run { _ in
            .lines([PastSeriesTests.column(FeedScript.noon - .seconds(180), [40])])
        } _: { harness, past in
            let early = try await Self.screen(harness, "2]", after: .milliseconds(20))
            #expect(early.holds("5 m") && early.holds("reading the journal…"))
            let text = try await Self.screen(harness, after: .milliseconds(200))
            #expect(text.holds("max 40") && text.holds("n 1") && !text.holds("reading"))
            #expect(await past.requests.map(\.source) == ["fact"])
            // From the last column on, every five seconds.
            _ = try await Self.screen(harness, after: .seconds(12))
            #expect(
                await past.requests.dropFirst().map(\.from)
                    == Array(repeating: FeedScript.noon - .seconds(180), count: 2))
            let back = try await Self.screen(harness, "[", after: .milliseconds(200))
            #expect(back.holds("n 1") && back.holds("2 m"))
            _ = try await Self.screen(harness, after: .seconds(12))
            #expect(await past.requests.count == 3)
        }
    }

    @Test func aJournalThatFailsIsSaidInWords() async throws {
        try await Self.run { _ in
            .failure("the disk is full")
        } _: { harness, _ in
            let text = try await Self.screen(harness, "2]", after: .milliseconds(200))
            #expect(text.holds("✕ journal: the disk is full") && text.holds("last 5"))
        }
    }

    @Test func aJournalThatSaysNothingHoldsNothingUp() async throws {
        try await Self.run { _ in
            .silence
        } _: { harness, past in
            _ = try await Self.screen(harness, "2]", after: .seconds(60))
            await harness.publish(77)
            let before = harness.loop.clock.now
            _ = harness.terminal.take()
            harness.terminal.press("L")
            while harness.terminal.take().isEmpty { try await harness.loop.sleep(for: .microseconds(100)) }
            #expect(before.duration(to: harness.loop.clock.now) < .milliseconds(2))
            let text = try await Self.screen(harness, after: .milliseconds(200))
            #expect(text.holds("reading the journal…") && text.holds("last 77"))
            #expect(await past.readers == 1)
            // Who leaves does not wait for it.
            _ = try await Self.screen(harness, "1", after: .milliseconds(5))
            #expect(await past.readers == 0)
        }
    }
}

@Suite(.limited) struct TerminalSessionTests {
    private static func frames(_ bytes: [UInt8]) -> Int {
        String(decoding: bytes, as: UTF8.self).split(separator: "\u{1B}[?2026h").count
    }

    @Test func saysWhomItWaitsForUntilAValueComes() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop)
            _ = try await harness.run {
                try await loop.sleep(for: .milliseconds(1_250))
                var screen = ScreenModel(columns: 60, rows: 12)
                screen.write(harness.terminal.take()) { Cluster($0).columns }
                #expect(screen.text.holds("waiting for x … 1.2 s"))
                await harness.publish(4_242)
                try await loop.sleep(for: .milliseconds(150))
                screen.write(harness.terminal.take()) { Cluster($0).columns }
                #expect(!screen.text.holds("waiting") && screen.text.holds("4242"))
                harness.terminal.press("q")
            }
        }
    }

    @Test func drawsAtMostTenTimesASecond() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop)
            _ = try await harness.run {
                try await loop.sleep(for: .milliseconds(200))
                _ = harness.terminal.take()
                for value in 0..<1_000 {
                    await harness.publish(Double(value))
                    try await loop.sleep(for: .milliseconds(1))
                }
                let frames = Self.frames(harness.terminal.take())
                #expect(frames >= 9 && frames <= 11)
                harness.terminal.press("q")
            }
        }
    }

    @Test func answersKeysAtOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop)
            _ = try await harness.run {
                await harness.publish(1)
                try await loop.sleep(for: .milliseconds(130))
                _ = harness.terminal.take()
                for key in ["3", "4", "1"] {
                    let before = loop.clock.now
                    harness.terminal.press(key)
                    while harness.terminal.take().isEmpty { try await loop.sleep(for: .microseconds(100)) }
                    #expect(before.duration(to: loop.clock.now) < .milliseconds(2))
                }
                harness.terminal.press("q")
            }
        }
    }

    @Test func tellsALoneEscapeByItsTimer() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop)
            _ = try await harness.run {
                await harness.publish(1)
                try await loop.sleep(for: .milliseconds(130))
                harness.terminal.press("2")
                try await loop.sleep(for: .milliseconds(5))
                _ = harness.terminal.take()
                harness.terminal.press("\u{1B}")
                try await loop.sleep(for: .milliseconds(24))
                #expect(harness.terminal.take().isEmpty)
                try await loop.sleep(for: .milliseconds(2))
                #expect(!harness.terminal.take().isEmpty)
                // An arrow in two reads is no escape.
                harness.terminal.press("2\u{1B}")
                try await loop.sleep(for: .milliseconds(10))
                harness.terminal.press("[D")
                try await loop.sleep(for: .milliseconds(40))
                var screen = ScreenModel(columns: 60, rows: 12)
                harness.terminal.signal(.resized)
                try await loop.sleep(for: .milliseconds(1))
                let bytes = String(decoding: harness.terminal.take(), as: UTF8.self)
                let whole = bytes.split(separator: "\u{1B}[?2026h").last.map(String.init) ?? ""
                screen.write(Array(whole.utf8)) { Cluster($0).columns }
                #expect(screen.text.holds("│") && screen.text.holds("Esc back"))
                harness.terminal.press("q")
            }
        }
    }

    @Test func leavesTheRestOfAFrameOutOnceTheScreenWasGivenAway() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop, capacity: 20)
            let terminal = harness.terminal
            _ = try await harness.run {
                await harness.publish(77)
                // A frame is under way, of which the terminal took twenty bytes.
                #expect(terminal.take().count == 20)
                try await loop.sleep(for: .milliseconds(1))
                terminal.signal(.suspend)
                #expect(terminal.take().count == 20)
                try await loop.sleep(for: .milliseconds(1))
                #expect(String(decoding: terminal.take(), as: UTF8.self).hasPrefix("\u{1B}[?2026h"))
                terminal.press("q")
            }
        }
    }

    /// A terminal that takes nothing skips frames, and holds nothing else up; then it shows what is there by then.
    @Test func skipsFramesWhileTheTerminalStalls() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop, capacity: 512)
            _ = try await harness.run {
                for value in 0..<2_000 {
                    await harness.publish(Double(value))
                    try await loop.sleep(for: .milliseconds(50))
                }
                var screen = ScreenModel(columns: 60, rows: 12)
                var bytes: [UInt8] = []
                for _ in 0..<20 {
                    bytes += harness.terminal.take()
                    try await loop.sleep(for: .milliseconds(100))
                }
                screen.write(bytes) { Cluster($0).columns }
                #expect(screen.text.holds("1999"))
                // 1,000 would have been due.
                #expect(Self.frames(bytes) < 30)
                #expect(screen.faults == [])
                harness.terminal.press("q")
            }
        }
    }

    @Test func isGivenBackOnceATerminalThatTookNothingGoesOn() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop, capacity: 20)
            let terminal = harness.terminal
            let start = loop.clock.now
            let ending = try await harness.run {
                terminal.press("q")
                try await loop.sleep(for: .seconds(3))
                // What comes in the meantime changes nothing.
                terminal.signal(.continued)
                terminal.signal(.suspend)
                terminal.press("\u{1A}")
                while true {
                    _ = terminal.take()
                    try await loop.sleep(for: .milliseconds(1))
                }
            }
            _ = terminal.take()
            #expect(ending == .quit && terminal.log == ["enter", "close"])
            #expect(String(decoding: terminal.taken, as: UTF8.self).hasSuffix("\u{1B}[?25h\u{1B}[?1049l"))
            #expect((.seconds(3)..<(.milliseconds(3_100))).contains(start.duration(to: loop.clock.now)))
        }
    }

    @Test(arguments: [(nil, 5.0), ("q", 1.0), ("\u{3}", 1.0), ("x", 5.0)] as [(String?, Double)])
    func aTerminalThatTakesNothingIsWaitedForUntilSomebodyQuitsAgain(key: String?, seconds: Double) async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop, capacity: 20)
            let start = loop.clock.now
            let ending = try await harness.run {
                await harness.store.finish("SIGTERM")
                try await loop.sleep(for: .seconds(1))
                #expect(await harness.session.isLeaving)
                if let key { harness.terminal.press(key) }
                try await loop.sleep(for: .seconds(60))
            }
            let took = start.duration(to: loop.clock.now)
            #expect(ending == .finished && took > .seconds(seconds) && took < .seconds(seconds + 0.1), "\(took)")
            #expect(harness.terminal.log == ["enter", "close"])
        }
    }

    @Test func givesTheTerminalBackToSuspend() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop)
            let terminal = harness.terminal
            _ = try await harness.run {
                await harness.publish(77)
                try await loop.sleep(for: .milliseconds(130))
                _ = terminal.take()
                terminal.press("\u{1A}")
                try await loop.sleep(for: .milliseconds(1))
                #expect(terminal.log == ["enter", "leave", "stopped", "enter"])
                #expect(String(decoding: terminal.take(), as: UTF8.self).holds("77"))
                terminal.press("q")
            }
        }
    }

    @Test func asksForWhatTheViewCannotDo() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop)
            _ = try await harness.run {
                harness.terminal.press("r")
                try await loop.sleep(for: .milliseconds(1))
                harness.terminal.press("q")
            }
            #expect(harness.terminal.log.contains("poll(source: nil)"))
        }
    }

    @Test func endsWithTheFeedAndWithTheTerminal() async throws {
        try await withLoop(virtual: true) { loop in
            let harness = await Harness(on: loop)
            let finished = try await harness.run { await harness.store.finish("count") }
            #expect(finished == .finished)
            let other = await Harness(on: loop)
            let gone = try await other.run { other.terminal.keyboard?.close() }
            #expect(gone == .terminalGone)
            #expect(other.terminal.log == ["enter", "close"])
        }
    }
}
