internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor
internal import Settings
internal import Terminal

extension Agent {
    /// Starts the live view.
    func startView(in group: inout TaskGroup<Void>) {
        let session = TerminalSession(
            newView(size: ScreenSize(columns: 80, rows: 24)), capabilities: capabilities, store: store, on: loop,
            wall: wall,
            device: ControllingTerminal(), mouse: plan.options.mouse
        ) { [unowned self] action in
            await self.perform(action)
        }
        self.session = session
        let notices = self.notices
        notices.assumeIsolated { $0.hold() }
        addDraining(to: &group) {
            let ending: TerminalSession.Ending?
            do {
                ending = try await session.run()
            } catch let error as SystemError {
                await notices.release()
                return .outputFailed(error)
            } catch {
                ending = nil
            }
            // Only now: anything else would have been drawn over the screen.
            await notices.release()
            switch ending {
            case .quit: return .quit
            case .terminalGone: return .readerGone
            case .finished, nil: return nil
            }
        }
    }

    /// Starts printing frames as text.
    func startFrames(isOnce: Bool, in group: inout TaskGroup<Void>) {
        let size = StandardStreams.size(of: STDOUT_FILENO, environment: plan.environment)
        let patience = plan.options.request.timeout + .seconds(2)
        var view = newView(size: ScreenSize(columns: size.columns, rows: size.rows))
        view.hasKeys = false
        let printer = FramePrinter(
            view, store: store, on: loop, wall: wall,
            isASCII: capabilities.isASCII, rhythm: isOnce ? .once(patience) : .every(plan.options.interval))
        self.printer = printer
        addDraining(to: &group) {
            do {
                try await printer.run { loop throws(SystemError) in
                    try DescriptorStream.standard(STDOUT_FILENO, on: loop)
                }
                return isOnce ? .frame : nil
            } catch let error as SystemError {
                return error.code == EPIPE ? .readerGone : .outputFailed(error)
            } catch {
                return nil
            }
        }
    }

    private func newView(size: ScreenSize) -> TerminalView {
        var view = TerminalView(size: size, connection: .waiting(target: target, since: wall.now))
        view.utcOffset = LocalTime.offset(at: wall.now)
        return view
    }

    /// What is waited for, as a person would name it.
    private var target: String {
        if let attach = plan.options.attach {
            return Sanitizer.visible(attach.path ?? DefaultSocket.path(environment: plan.environment))
        }
        return Sanitizer.visible(watched.joined(separator: ", "), limit: 200)
    }

    /// Does what keys ask for.
    private func perform(_ action: Action) async {
        switch action {
        case .poll(let source?): _ = await store.requestPoll(of: source)
        case .poll(nil):
            for status in await store.sourceStates { _ = await store.requestPoll(of: status.source) }
        case .calculate(let source, let n): _ = await store.requestPoll(of: source, PollRequest(n: n))
        case .quit, .suspend, .redraw: break  // the session's own
        }
    }

    /// Shows how the attached agent's feed comes here.
    func show(_ status: AttachInput.Status) async {
        switch status {
        case .connected: await show(TerminalView.Connection.open)
        case .lost(let reason, let retryIn):
            let now = wall.now
            await show(.lost(reason: Sanitizer.visible(reason), since: now, retryAt: retryIn.map { now + $0 }))
        }
    }

    private func show(_ connection: TerminalView.Connection) async {
        await session?.setConnection(connection)
        await printer?.setConnection(connection)
    }
}

extension HTTPRequest {
    /// Whom it asks.
    var host: String { endpoint.authority }
}

extension Source {
    /// Whom or what it waits for.
    var target: String {
        switch self {
        case .http(let source): source.request.host
        case .pages(let source): source.request.host
        case .webSocket(let source): source.request.host
        case .stdin: "standard input"
        case .fibonacci: "F(n)"
        }
    }
}
