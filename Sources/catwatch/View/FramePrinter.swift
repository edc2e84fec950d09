internal import Feed
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal
internal import Web

/// Prints frames of the view as text: once, for scripts and reports, or repeatedly, for terminals that only scroll.
/// Printed once, the output may also be the page, or lines.
actor FramePrinter {
    enum Rhythm: Sendable {
        /// Once every source has a result, at the end of a recording, or after this time.
        case once(OnceForm, Duration)
        case every(Duration)
    }

    private var view: TerminalView
    private let store: EventStore
    private let loop: EventLoop
    private let wall: any WallClock
    private let isASCII: Bool
    private let isTerminal: Bool
    private let rhythm: Rhythm
    private let settled: Wakeup
    private var isOver = false
    /// Whether the store has the state that earlier runs left in a journal.
    private var isRestored = false
    private var reader: ReaderID?
    /// The most deliveries that are read once all sources have a result.
    private static let mostMore = 100
    /// The most alerts in a line of their own.
    private static let mostAlerts = 100
    /// The stream to write to, while `run` is active.
    private var stream: (any ByteStream)?
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameter isTerminal: whether lines are printed to a terminal, which must not obey them.
    init(
        _ view: TerminalView, store: EventStore, on loop: EventLoop, wall: any WallClock, isASCII: Bool,
        isTerminal: Bool, rhythm: Rhythm
    ) {
        self.view = view
        self.store = store
        self.loop = loop
        self.wall = wall
        self.isASCII = isASCII
        self.isTerminal = isTerminal
        self.rhythm = rhythm
        settled = Wakeup(loop: loop)
    }

    /// Sets the state of the connection to the agent, to be shown.
    func setConnection(_ connection: TerminalView.Connection) { view.connection = connection }

    /// Sets the owner of the agent's socket, to be shown; nil for the user's own socket.
    func setOwner(_ owner: String?) { view.owner = owner }

    /// Lets a single frame be printed once all sources have a result.
    func setRestored() async {
        isRestored = true
        if let reader { await store.interrupt(reader) }
    }

    /// Prints until the feed ends, or the single frame is printed.
    ///
    /// - Throws: `SystemError` when writing fails, `CancellationError` when the task is cancelled.
    func run(_ open: @Sendable (EventLoop) throws(SystemError) -> any ByteStream) async throws {
        let stream = try open(loop)
        self.stream = stream
        defer {
            stream.close()
            self.stream = nil
        }
        let (reader, greeting) = await store.open("stdout", keptAfter: 0)
        self.reader = reader
        apply(.greeting(greeting))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.read(reader) }
            defer { group.cancelAll() }
            switch rhythm {
            case .once(let form, let patience):
                try await settled.wait(until: loop.clock.now.advanced(by: patience))
                switch form {
                case .text: try await printFrame(end: alertLines())
                case .html: try await printPage()
                case .ndjson: try await printLines()
                }
            case .every(let pause):
                while !isOver {
                    // Between the ends of windows, so that each frame has a complete new window.
                    try await loop.sleep(for: pause)
                    try await printFrame(end: "\n")
                }
            }
        }
        await store.close(reader)
    }

    private func printFrame(end: String) async throws { try await stream?.write(all: frame() + Array(end.utf8)) }

    /// Prints the page; nothing when no agent was there, so that the feed's identity is unknown.
    private func printPage() async throws {
        guard let stream, let snapshot = Snapshot(of: store) else { return }
        var cursor = Snapshot.Cursor(in: snapshot)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while case let count = buffer.withUnsafeMutableBytes({ cursor.read(into: $0) }), count > 0 {
            try await stream.write(all: Array(buffer[..<count]))
        }
    }

    /// Prints the newest line of each series; nothing when no agent was there.
    private func printLines() async throws {
        for piece in await store.newestOfEach() ?? [] {
            let escaped = isTerminal ? piece.withUnsafeBytes { TerminalEscaper.escaped($0) } : nil
            try await stream?.write(all: escaped ?? piece)
        }
    }

    /// A line for each alert that fires, and one for those left out.
    private func alertLines() -> String {
        let lines = store.assumeIsolated { store in
            let lines = store.alerts.compactMap { firing in
                firing.alert.map { "\(firing.agent.map { "\($0): " } ?? "")alert \(Self.text(of: $0))\n" }
            }.prefix(Self.mostAlerts)
            let more = store.firingAlerts - lines.count
            return lines + (more > 0 ? ["\(more) more alerts fire\n"] : [])
        }
        guard isASCII else { return lines.joined() }
        return lines.map { String($0.map { $0.isASCII ? $0 : "?" }) }.joined()
    }

    private static func text(of alert: Alert) -> String {
        func shown(_ text: String) -> String { Sanitizer.visible(text, limit: 100) }
        let value = (alert.value.map { LineWriter.text(of: $0) } ?? alert.text.map(shown)).map { " is \($0)" } ?? ""
        return
            "\(shown(alert.condition)): \(shown(alert.about))\(value) (\(shown(alert.test))), since \(alert.since.text)"
    }

    private func frame() -> [UInt8] {
        var rows = view.frame(now: wall.now).text(isASCII: isASCII).split(
            separator: "\n", omittingEmptySubsequences: false)
        while rows.last?.isEmpty == true { rows.removeLast() }
        return Array((rows.joined(separator: "\n") + "\n").utf8)
    }

    private func read(_ reader: ReaderID) async throws(CancellationError) {
        while true {
            // What is there already may have kept lines behind those by which all sources have a result; but a feed may
            // always have more.
            var more = Self.mostMore
            while more > 0, let delivery = await store.dequeue(for: reader) {
                guard apply(delivery) else { return end() }
                if isSettled { more -= 1 }
            }
            if isSettled { settled.open() }
            guard apply(try await store.next(for: reader)) else { return end() }
        }
    }

    private func end() {
        isOver = true
        settled.open()
    }

    @discardableResult
    private func apply(_ delivery: Delivery) -> Bool { view.apply(delivery, now: wall.now) }

    /// Whether every source has a result, listings are complete, feeds of other agents have been replayed, and earlier runs'
    /// state is there.
    private var isSettled: Bool {
        let board = view.board
        // How much of a recording was read by now is arbitrary.
        guard isRestored, view.playback == nil, store.assumeIsolated({ $0.areAgentsReplayed }), let hello = board.hello,
            max(board.lastSequence, hello.firstSeq - 1) >= hello.nextSeq - 1
        else {
            return false
        }
        let sources = board.sources.filter { $0.isListed && $0.name != "catwatch" }
        return !sources.isEmpty
            && sources.allSatisfy { source in
                guard source.state != .starting else { return false }
                guard source.state == .ok, let progress = source.progress, let total = progress.total else {
                    return true
                }
                return progress.done >= total
            }
    }
}
