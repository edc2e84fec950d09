package import Feed
package import Reactor

/// Shows the feed in a terminal: a reader like any other, which folds lines into a view and draws it.
///
/// The terminal is one more non-blocking cursor. While it takes nothing, frames are skipped, and nothing else waits. Keys are
/// answered at once; otherwise it draws when something changed, at most ten times a second.
package actor TerminalOutput {
    /// Why showing ended.
    package enum Ending: Sendable, Equatable {
        /// Somebody wanted it to.
        case quit
        /// The feed has ended.
        case finished
        /// The terminal is gone, or does not work.
        case gone
    }

    /// What keys ask for that is done elsewhere.
    package struct Commands: Sendable {
        /// Polls a source, or all; up to F(n) with a number. Called on the loop, must not wait.
        package var poll: @Sendable (_ source: String?, _ n: Int?) async -> Void
        /// Stops the process, as Ctrl-Z does; returns when it goes on.
        package var suspend: @Sendable () -> Void

        package init(
            poll: @escaping @Sendable (String?, Int?) async -> Void, suspend: @escaping @Sendable () -> Void
        ) {
            self.poll = poll
            self.suspend = suspend
        }
    }

    private let store: EventStore
    private let loop: EventLoop
    private let wall: any WallClock
    private let mode: TerminalMode
    private let commands: Commands
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var view: TerminalView
    private var parser = KeyParser()
    private var renderer: GridRenderer
    /// Told when there may be something to draw.
    private let changed: Wakeup
    private var isDirty = true
    /// Whether what changed is to be seen at once.
    private var isUrgent = true
    private var isSuspended = false
    private var ending: Ending?
    private let ended: Wakeup
    /// What makes the terminal ours, to be written before the next frame.
    private var preamble: [UInt8] = []
    private var lastFrame = LoopInstant(nanoseconds: 0)
    private var escapeTimer: LoopTimer?

    private static let framePause = Duration.milliseconds(100)
    /// How long an escape waits for the rest of a sequence: a key alone is told from one by this.
    private static let escapePause = Duration.milliseconds(25)
    /// How often ages are drawn when nothing else changes.
    private static let tick = Duration.seconds(1)

    /// - Parameters:
    ///   - mode: the terminal, which is not changed before `run`; it outlives this.
    ///   - view: what is shown of the feed, and of what size; the size is the terminal's from `run` on.
    package init(
        store: EventStore, on loop: EventLoop, wall: any WallClock, mode: LoopBound<TerminalMode>, view: TerminalView,
        capabilities: TerminalCapabilities, commands: Commands
    ) {
        self.store = store
        self.loop = loop
        self.wall = wall
        self.mode = mode.value
        self.view = view
        self.commands = commands
        renderer = GridRenderer(capabilities)
        changed = Wakeup(loop: loop)
        ended = Wakeup(loop: loop)
    }

    /// Shows the feed until somebody wants out, the terminal is gone, or the task is cancelled; the terminal is left as it
    /// was found.
    package func run() async throws(CancellationError) -> Ending {
        let stream: DescriptorStream
        do {
            stream = try mode.stream(on: loop)
            preamble = try mode.begin()
        } catch {
            return .gone
        }
        defer {
            mode.end()
            stream.close()
        }
        view.resize(size)
        let reading = LoopBound(stream)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.readFeed() }
            group.addTask { try? await self.readKeys(reading.value) }
            group.addTask { try? await self.draw(reading.value) }
            group.addTask { try? await self.keepTime() }
            group.addTask { if (try? await reading.value.waitUntilHungUp()) != nil { await self.end(.gone) } }
            // Not for the drawing to end: the terminal may never take the frame that is under way.
            try? await ended.wait()
            group.cancelAll()
        }
        if let ending { return ending }
        throw CancellationError()
    }

    // MARK: From outside

    /// How the feed comes here, by the local clock.
    package func setConnection(_ connection: TerminalView.Connection) {
        view.connection = connection
        redraw(urgently: false)
    }

    /// The terminal has another size. (SIGWINCH.)
    package func resized() {
        view.resize(size)
        redraw(urgently: true)
    }

    /// Gives the terminal back, stops the process, and takes the terminal again. (SIGTSTP.)
    package func suspend() {
        guard !isSuspended, ending == nil else { return }
        isSuspended = true
        mode.end()
        commands.suspend()
        resume()
    }

    /// Takes the terminal again after somebody stopped and continued the process. (SIGCONT.)
    package func resume() {
        isSuspended = false
        mode.end()
        preamble = (try? mode.begin()) ?? []
        renderer.invalidate()
        resized()
    }

    // MARK: What comes in

    private func readFeed() async throws(CancellationError) {
        let (reader, greeting) = await store.open("view")
        var splitter = LineSplitter(limit: 2 << 20)
        take(greeting[...], &splitter)
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span): span.withUnsafeBytes { take(Bytes($0), &splitter) }
            case .gap(let line), .greeting(let line): take(line[...], &splitter)
            case .interrupted: break
            case .end(let line):
                take(line[...], &splitter)
                await store.close(reader)
                return end(.finished)
            }
        }
    }

    private func take(_ bytes: Bytes, _ splitter: inout LineSplitter) {
        splitter.push(bytes)
        while let item = splitter.next() {
            guard case .line(let bytes) = item, let line = try? LineDecoder.decode(bytes) else { continue }
            view.apply(line)
        }
        if case .waiting = view.connection { view.connection = .open }
        redraw(urgently: false)
    }

    private func readKeys(_ stream: DescriptorStream) async throws(CancellationError) {
        let buffer = ReadBuffer(count: 4 << 10)
        while true {
            do {
                guard let count = try stream.read(into: buffer.memory) else {
                    try await stream.waitUntilReadable()
                    continue
                }
                guard count > 0 else { return end(.gone) }
                pressed(parser.parse(buffer.memory[..<count]))
                waitForEscape()
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                return end(.gone)
            }
        }
    }

    /// Decides after a while that an escape was a key and no beginning.
    private func waitForEscape() {
        if let escapeTimer { loop.cancel(escapeTimer) }
        escapeTimer = nil
        guard parser.isWaiting else { return }
        escapeTimer = loop.schedule(after: Self.escapePause) { [weak self] in
            self?.assumeIsolated { output in
                output.escapeTimer = nil
                output.pressed(output.parser.timeout())
            }
        }
    }

    private func pressed(_ keys: [Key]) {
        for key in keys {
            switch view.handle(key, now: wall.now) {
            case .quit: end(.quit)
            case .suspend: suspend()
            case .redraw: renderer.invalidate()
            case .poll(let source): request(source, nil)
            case .calculate(let source, let n): request(source, n)
            case nil: break
            }
        }
        if !keys.isEmpty { redraw(urgently: true) }
    }

    /// Polls that keys asked for, in their order; bounded, as keys can be held down.
    private var requests: [(source: String?, n: Int?)] = []
    private static let mostRequests = 16

    private func request(_ source: String?, _ n: Int?) {
        guard requests.count < Self.mostRequests else { return }
        requests.append((source, n))
        changed.signal()
    }

    private func keepTime() async throws(CancellationError) {
        while true {
            try await loop.sleep(for: Self.tick)
            redraw(urgently: false)
        }
    }

    private func end(_ ending: Ending) {
        if self.ending == nil { self.ending = ending }
        ended.open()
    }

    private var size: ScreenSize {
        let (columns, rows) = mode.size
        return ScreenSize(columns: min(columns, 1_000), rows: min(rows, 1_000))
    }

    // MARK: What goes out

    private func redraw(urgently: Bool) {
        isDirty = true
        if urgently { isUrgent = true }
        changed.signal()
    }

    /// Draws until there is an ending.
    private func draw(_ stream: DescriptorStream) async throws {
        while ending == nil {
            while !requests.isEmpty {
                let (source, n) = requests.removeFirst()
                await commands.poll(source, n)
            }
            let due = lastFrame.advanced(by: Self.framePause)
            if isDirty, !isSuspended, isUrgent || due <= loop.clock.now {
                try await drawFrame(to: stream)
                continue
            }
            let timer = isDirty ? loop.schedule(at: due) { [changed] in changed.signal() } : nil
            defer { if let timer { loop.cancel(timer) } }
            try await changed.wait()
        }
    }

    private func drawFrame(to stream: DescriptorStream) async throws {
        isDirty = false
        isUrgent = false
        lastFrame = loop.clock.now
        let bytes = preamble + renderer.render(view.frame(now: wall.now))
        preamble = []
        do {
            // Nothing else is drawn until the terminal has taken this: what happens meanwhile is in the frame after it.
            if !bytes.isEmpty { try await stream.write(all: bytes) }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            end(.gone)
        }
    }
}
