internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

/// The view on standard output: live in a terminal, or frame by frame as text.
struct ViewOutput: Sendable {
    private enum Form: Sendable {
        case live(TerminalSession)
        case frames(FramePrinter, isOnce: Bool)
    }

    private let form: Form
    private let notices: Notices
    private let platform: Platform

    /// - Parameters:
    ///   - mode: the initialiser returns nil when it is not a view.
    ///   - target: what the agent waits for, in words for people.
    ///   - replay: the clock of a recording that is played back.
    ///   - past: the source of older lines; nil for none.
    init?(
        _ mode: StdoutMode, _ options: Options, target: String, store: EventStore, polls: PollRequests,
        notices: Notices,
        replay: ReplayClock?, past: (any PastFeed)?, in platform: Platform
    ) {
        self.notices = notices
        self.platform = platform
        let (loop, wall, capabilities) = (platform.loop, platform.wall, platform.capabilities)
        var view = TerminalView(
            size: platform.screenSize(STDOUT_FILENO), connection: .waiting(target: target, since: wall.now),
            limits: Board.Limits(series: options[\.maxSeries]))
        view.utcOffset = LocalTime.offset(at: wall.now)
        view.readTime = { text, now in
            try? TimeWord(text).time(now: now) { LocalTime.offset(at: $0) }
        }
        view.playback = replay?.playback
        switch mode {
        case .view:
            // First hold all notices: the screen belongs to the view until it ends.
            notices.assumeIsolated { $0.hold() }
            form = .live(
                TerminalSession(
                    view, capabilities: capabilities, store: store, on: loop, wall: wall,
                    device: platform.openTerminal().value, mouse: options[\.mouse], past: past
                ) { action in
                    await Self.perform(action, on: store, polls)
                } playing: { action in
                    replay?.perform(action)
                    return replay?.playback
                })
        case .once, .frames:
            view.hasKeys = false
            var rhythm = FramePrinter.Rhythm.every(options[\.interval])
            if case .once(let form) = mode { rhythm = .once(form, options[\.timeout] + .seconds(2)) }
            let printer = FramePrinter(
                view, store: store, on: loop, wall: wall, isASCII: capabilities.isASCII,
                isTerminal: platform.outputIsTerminal, rhythm: rhythm)
            form = .frames(printer, isOnce: mode != .frames)
        case .ndjson, .none, .wait: return nil
        }
    }

    /// Shows the feed until it ends or the user quits; returns the reason to stop the agent, if there is one.
    func run() async -> Agent.Stop? {
        switch form {
        case .live(let session):
            let stop: Agent.Stop?
            do {
                switch try await session.run() {
                case .quit: stop = .quit
                case .terminalGone: stop = .readerGone
                case .finished: stop = nil
                }
            } catch {
                stop = (error as? SystemError).map { .outputFailed($0) }
            }
            // Only now, because notices would have been drawn over the screen.
            await notices.release()
            return stop
        case .frames(let printer, let isOnce):
            do {
                try await printer.run { [platform] _ throws(SystemError) in
                    try platform.openStandard(STDOUT_FILENO)
                }
                return isOnce ? .frame : nil
            } catch {
                return (error as? SystemError).map { $0.code == EPIPE ? .readerGone : .outputFailed($0) }
            }
        }
    }

    /// Whether the view has ended, but its terminal still blocks.
    var isLeaving: Bool {
        if case .live(let session) = form { session.assumeIsolated { $0.isLeaving } } else { false }
    }

    /// Restores the terminal before the process exits at once.
    func giveBack() {
        if case .live(let session) = form { session.assumeIsolated { $0.giveBack() } }
    }

    /// Shows the state of the connection to the attached agent.
    func show(_ status: AttachInput.Status) async {
        let connection: TerminalView.Connection
        switch status {
        case .connected: connection = .open
        case .warned, .unreadable: return
        case .lost(let reason, let retryIn):
            let now = platform.wall.now
            connection = .lost(reason: Sanitizer.visible(reason), since: now, retryAt: retryIn.map { now + $0 })
        }
        switch form {
        case .live(let session): await session.setConnection(connection)
        case .frames(let printer, _): await printer.setConnection(connection)
        }
    }

    /// The store has the state that earlier runs left in a journal, or there is none.
    func setRestored() async {
        if case .frames(let printer, _) = form { await printer.setRestored() }
    }

    /// Shows the owner of the agent's socket; nil for the user's own socket.
    func show(owner: String?) {
        switch form {
        case .live(let session): session.assumeIsolated { $0.setOwner(owner) }
        case .frames(let printer, _): printer.assumeIsolated { $0.setOwner(owner) }
        }
    }

    /// Performs an action; returns the reason when it cannot.
    private static func perform(_ action: Action, on store: EventStore, _ polls: PollRequests) async -> String? {
        switch action {
        case .poll(let source?): return await polls.requestPoll(of: source)?.reason
        case .poll(nil):
            // Polling all sources reports no error for those that cannot be polled.
            for status in await store.sourceStates { await polls.requestPoll(of: status.source) }
        case .quit, .suspend, .redraw, .play: break  // the session's own
        }
        return nil
    }
}

extension ReplayClock {
    /// The playback state for the view.
    fileprivate var playback: TerminalView.Playback { TerminalView.Playback(speed: speed.text, isPaused: isPaused) }

    fileprivate func perform(_ action: Action.Playing) {
        switch action {
        case .pause: togglePause()
        case .faster: changeSpeed(isFaster: true)
        case .slower: changeSpeed(isFaster: false)
        case .next: skip()
        }
    }
}

extension Source {
    /// The address, file or name that the source waits for.
    var target: String {
        switch self {
        case .http(let source): source.request.endpoint.authority
        case .pages(let source): source.request.endpoint.authority
        case .webSocket(let source): source.request.endpoint.authority
        case .stdin(let source): source.path ?? "standard input"
        case .fibonacci: "F(n)"
        case .feed(let source): source.name
        case .nats(let source): source.target
        }
    }
}
