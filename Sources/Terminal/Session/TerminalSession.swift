package import Feed
package import Reactor

/// The terminal view: a reader of the feed that skips frames while the terminal accepts no output.
///
/// It draws at once after a key, and otherwise after changes, at most ten times a second.
package actor TerminalSession {
    /// Why the session ended.
    package enum Ending: Sendable, Equatable {
        /// A person pressed `q` or Ctrl-C.
        case quit
        /// The feed ended.
        case finished
        /// The terminal is gone, or failed.
        case terminalGone
    }

    private let store: EventStore
    private let loop: EventLoop
    private let wall: any WallClock
    private let device: any TerminalDevice
    private let mouse: Bool
    private let perform: @Sendable (Action) async -> String?
    private let playing: @Sendable (Action.Playing) -> TerminalView.Playback?
    private let past: (any PastFeed)?
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var view: TerminalView
    private var renderer: GridRenderer
    private var parser = KeyParser()
    private var escapeTimer: LoopTimer?

    private var input: (any ByteStream)?
    private var output: (any ByteStream)?
    /// Signalled when there may be something to draw.
    private let wake: Wakeup
    private var pace = FramePace(TerminalSession.pace)
    private var lastSuspension: LoopInstant?
    /// Incremented when the screen is given away: an unfinished write must then stop.
    private var screenNumber = 0
    private let actions: Wakeup
    private var pendingActions: [Action] = []
    /// Signalled when the journal may have to be read for another graph.
    private let pastChanges: Wakeup
    private var ending: Ending?
    private let ended: Wakeup
    /// Whether the view has ended, and only the restoring of the terminal is pending.
    package private(set) var isLeaving = false
    /// Signalled by a quit key, to stop waiting for that.
    private let quitAgain: Wakeup

    /// How long to wait for a blocked terminal at the end of the view, as for other outputs.
    package static let leaveTime = Duration.seconds(5)
    /// The least time between frames, unless a key was pressed.
    package static let pace = Duration.milliseconds(100)
    /// How long an ESC may be the start of a sequence.
    package static let escapeTime = Duration.milliseconds(25)
    /// How long after a suspension the signal that ended it may come.
    private static let echo = Duration.milliseconds(200)
    private static let tick = Duration.milliseconds(500)
    private static let fastTick = Duration.milliseconds(100)
    /// The most waiting actions; more are dropped.
    private static let mostActions = 16

    /// - Parameters:
    ///   - mouse: whether clicks and the wheel count as keys; the terminal's own selection then does not work.
    ///   - perform: does `poll` and `calculate`; returns why it cannot, or nil. The session does the other actions.
    ///   - past: the source of past lines; nil for none.
    ///   - playing: changes the replay, and returns its new state.
    package init(
        _ view: TerminalView, capabilities: TerminalCapabilities, store: EventStore, on loop: EventLoop,
        wall: any WallClock, device: any TerminalDevice, mouse: Bool = false,
        past: (any PastFeed)? = nil,
        perform: @escaping @Sendable (Action) async -> String?,
        playing: @escaping @Sendable (Action.Playing) -> TerminalView.Playback? = { _ in nil }
    ) {
        self.view = view
        self.store = store
        self.loop = loop
        self.wall = wall
        self.device = device
        self.mouse = mouse
        self.perform = perform
        self.playing = playing
        self.past = past
        self.view.hasJournal = past != nil
        renderer = GridRenderer(capabilities)
        wake = Wakeup(loop: loop)
        actions = Wakeup(loop: loop)
        pastChanges = Wakeup(loop: loop)
        ended = Wakeup(loop: loop)
        quitAgain = Wakeup(loop: loop)
    }

    /// Sets the state of the connection to the feed, for display.
    package func setConnection(_ connection: TerminalView.Connection) {
        view.connection = connection
        changed()
    }

    /// Sets the owner of the agent's socket, for display; nil for the user's own.
    package func setOwner(_ owner: String?) {
        view.owner = owner
        changed()
    }

    /// Shows the feed until a person quits, or the feed or the terminal ends; then restores the terminal.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, `SystemError` when no terminal can be opened.
    package func run() async throws -> Ending {
        let (input, output) = try device.open(on: loop)
        self.input = input
        self.output = output
        defer {
            device.close()
            input.close()
            output.close()
        }
        try device.watchSignals(on: loop) { [unowned self] signal in
            self.assumeIsolated { $0.received(signal) }
        }
        try enterScreen()
        let (reader, greeting) = await store.open("terminal", keptAfter: 0)
        apply(.greeting(greeting))
        defer { if let escapeTimer { loop.cancel(escapeTimer) } }
        do {
            try await show(reader)
        } catch {
            await store.close(reader)
            throw error
        }
        await store.close(reader)
        if ending != .terminalGone { try await waitForRoom() }
        return ending ?? .quit
    }

    /// Waits up to `leaveTime` until the terminal has accepted the restoring sequences, in case output is held
    /// (Ctrl-S).
    private func waitForRoom() async throws {
        guard !device.writeLeaving() else { return }
        isLeaving = true
        defer { isLeaving = false }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.writeLeaving() }
            group.addTask { try await self.readKeys() }
            group.addTask { try await self.quitAgain.wait() }
            group.addTask { try await self.loop.sleep(for: Self.leaveTime) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func writeLeaving() async throws {
        while let output, !device.writeLeaving() { try await output.waitUntilWritable() }
    }

    private func show(_ reader: ReaderID) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.readFeed(reader) }
            group.addTask { try await self.readKeys() }
            group.addTask { try await self.draw() }
            group.addTask { try await self.keepTime() }
            group.addTask { try await self.act() }
            if let past { group.addTask { try await self.readPast(past) } }
            group.addTask { try await self.waitForHangUp() }
            defer { group.cancelAll() }
            try await ended.wait()
        }
    }

    private func end(_ ending: Ending) {
        if self.ending == nil { self.ending = ending }
        ended.open()
    }

    // MARK: The screen

    private func enterScreen() throws(SystemError) {
        try device.enter(
            TerminalModes.enter(mouse: mouse), leaving: TerminalModes.leave(renderer.capabilities, mouse: mouse))
        redraw()
    }

    /// Restores the terminal when the process ends at once.
    package func giveBack() { device.leave() }

    private func redraw() {
        view.resize(device.size)
        renderer.invalidate()
        changed(urgently: true)
    }

    /// Restores the terminal while `body` runs.
    private func giveScreenAway(during body: () -> Void = {}) {
        screenNumber += 1
        device.leave()
        body()
        do { try enterScreen() } catch { end(.terminalGone) }
    }

    private func received(_ signal: TerminalSignal) {
        if isLeaving { return }
        switch signal {
        case .resized: redraw()
        case .suspend:
            giveScreenAway {
                device.suspend()
                // Continued, or never stopped because no shell could continue us.
                lastSuspension = loop.clock.now
            }
        case .continued:
            // The signal that follows our own suspension needs no action.
            if let lastSuspension, loop.clock.now < lastSuspension.advanced(by: Self.echo) { return }
            // Another process may have changed the terminal in the meantime.
            giveScreenAway()
        }
    }

    private func waitForHangUp() async throws {
        try await output?.waitUntilHungUp()
        end(.terminalGone)
    }

    // MARK: Frames

    private func changed(urgently: Bool = false) {
        pace.change(urgently: urgently)
        wake.signal()
    }

    /// Redraws regularly, so that ages and countdowns advance.
    private func keepTime() async throws {
        while true {
            let isQuick = view.connection != .open || view.board.sources.contains { $0.state != .ok && $0.isListed }
            try await loop.sleep(for: isQuick ? Self.fastTick : Self.tick)
            changed()
        }
    }

    private func draw() async throws {
        while true {
            try await wake.wait()
            switch pace.next(loop.clock.now) {
            case .nothing: break
            case .draw:
                let frame = renderer.render(view.frame(now: wall.now))
                pastChanges.signal()
                try await write(frame)
            case .wait(let time):
                loop.schedule(at: time) { [weak self] in
                    self?.assumeIsolated { session in
                        session.pace.endWait()
                        session.wake.signal()
                    }
                }
            }
        }
    }

    /// Writes a frame. While the terminal accepts no output, nothing is drawn; the next frame shows all changes.
    private func write(_ bytes: [UInt8]) async throws {
        let screen = screenNumber
        var done = 0
        while done < bytes.count, screen == screenNumber, let output {
            let taken: Int
            do {
                taken = try bytes.withUnsafeBytes { (bytes) throws(SystemError) in
                    try output.write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
                }
            } catch {
                return end(.terminalGone)
            }
            done += taken
            if taken == 0 { try await output.waitUntilWritable() }
        }
    }

    // MARK: The feed

    private func readFeed(_ reader: ReaderID) async throws {
        while apply(try await store.next(for: reader)) {}
        end(.finished)
    }

    @discardableResult
    private func apply(_ delivery: Delivery) -> Bool {
        defer { changed() }
        return view.apply(delivery, now: wall.now)
    }

    // MARK: The journal

    /// The time between two answers about the same graph.
    private static let pastPeriod = Duration.seconds(5)

    /// Reads the journal for the graph, one answer at a time, again and again until another series or span is shown.
    private func readPast(_ past: any PastFeed) async throws {
        while true {
            while let (number, request) = view.beginReading(at: wall.now) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await self.read(request, for: number, from: past) }
                    group.addTask { try await self.waitForOther(than: number, until: nil) }
                    defer { group.cancelAll() }
                    try await group.next()
                }
                try await waitForOther(than: number, until: loop.clock.now.advanced(by: Self.pastPeriod))
            }
            try await pastChanges.wait()
        }
    }

    private func waitForOther(than number: Int, until deadline: LoopInstant?) async throws(CancellationError) {
        while view.past?.number == number, deadline.map({ loop.clock.now < $0 }) ?? true {
            try await pastChanges.wait(until: deadline)
        }
    }

    private func read(_ request: PastRequest, for number: Int, from past: any PastFeed) async throws {
        do {
            try await past.read(request) { bytes in await self.read(bytes, for: number) }
            view.endReading(of: number)
        } catch let failure as PastFailure {
            view.endReading(of: number, failure: failure.reason)
        }
        changed()
    }

    private func read(_ bytes: [UInt8], for number: Int) -> Bool {
        defer { changed() }
        return view.read(bytes, of: number)
    }

    // MARK: Keys

    private func readKeys() async throws {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while let input {
            let count: Int?
            do {
                count = try buffer.withUnsafeMutableBytes { (bytes) throws(SystemError) in try input.read(into: bytes) }
            } catch {
                return end(.terminalGone)
            }
            guard let count else {
                try await input.waitUntilReadable()
                continue
            }
            guard count > 0 else { return end(.terminalGone) }
            if let escapeTimer { loop.cancel(escapeTimer) }
            escapeTimer = nil
            handle(parser.parse(buffer[..<count]))
            if parser.isWaiting {
                escapeTimer = loop.schedule(after: Self.escapeTime) { [weak self] in
                    self?.assumeIsolated { session in session.handle(session.parser.timeout()) }
                }
            }
        }
    }

    private func handle(_ keys: [Key]) {
        for key in keys {
            let action = view.handle(key, now: wall.now)
            if isLeaving {
                if action == .quit { quitAgain.signal() }
                continue
            }
            switch action {
            case .quit: end(.quit)
            case .suspend: device.askToSuspend()
            case .redraw: redraw()
            case .play(let action): view.playback = playing(action)
            case .some(let action):
                if pendingActions.count < Self.mostActions { pendingActions.append(action) }
                actions.signal()
            case nil: break
            }
        }
        if !keys.isEmpty { changed(urgently: true) }
    }

    private func act() async throws {
        while true {
            while !pendingActions.isEmpty {
                guard let refusal = await perform(pendingActions.removeFirst()) else { continue }
                view.show(notice: refusal)
                changed()
            }
            try await actions.wait()
        }
    }
}
