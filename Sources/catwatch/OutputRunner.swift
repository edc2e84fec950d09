internal import Feed
internal import Outputs
internal import Reactor
internal import Settings
internal import Web

/// Runs the outputs, lets them drain at the end, and replaces some of them while the others continue.
actor OutputRunner {
    /// The result of `replace`.
    struct Changes: Equatable {
        var started = 0
        var stopped = 0
        var kept = 0
    }

    /// The change to the socket that readers connect to.
    enum SocketChange: Sendable {
        case keep
        case close
        /// Serve this socket, which is claimed already.
        case open(ListeningSocket)
    }

    /// The change to the port that serves the page.
    enum PortChange: Sendable {
        case keep(WebSettings)
        case close
        /// Serve this port, which is bound already.
        case open(ListeningPort, WebSettings)
    }

    private enum Output {
        /// stdout, the view, the journal or NATS, which run to the end.
        case fixed
        case file(FileOutput, String)
        case push(PushOutput, PushTarget)
        case server(FeedServer)
        case web(WebServer)
    }

    private struct Slot {
        let number: Int
        let output: Output
    }

    /// An output to start, and the output that it replaces.
    private enum Beginning {
        case file(String, after: Slot?)
        case push(PushTarget, after: Slot?)

        var predecessor: Slot? {
            switch self {
            case .file(_, let slot), .push(_, let slot): slot
            }
        }
    }

    private let factory: OutputFactory
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var slots: [Slot] = []
    /// The tasks of running outputs, including those about to end. Not a task group, because one child of a group
    /// cannot be cancelled alone; `end` waits for all.
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var next = 0
    /// The socket that serves the feed.
    private(set) var socket: ListeningSocket?
    /// The port that serves the page.
    private(set) var port: ListeningPort?
    /// The socket to serve next, while the replaced outputs still end.
    private var claimed: ListeningSocket?
    private var isReplacing = false
    /// Whether the feed has ended.
    private var isEnding = false
    /// Whether `drain` is limited to `drainTime`.
    private var isHurried = false
    /// The wakeups of everybody who waits for an output to end.
    private var waiting: [Wakeup] = []

    // Bound: time for outputs and readers to take what there is, when a stop or a reload ends them; when all inputs have
    //   ended, only readers have this limit | 5 s | they are cancelled; a reader that took nothing in the last second is
    //   cut off within its line
    static let drainTime = Duration.seconds(5)

    init(_ factory: OutputFactory) {
        self.factory = factory
        loop = factory.platform.loop
    }

    /// Whether there is an output file that can be reopened.
    var hasFile: Bool { slots.contains { if case .file = $0.output { true } else { false } } }

    // MARK: Starting

    /// Starts an output that runs to the end.
    func start(_ run: @escaping OutputFactory.Run) { start(.fixed, run) }

    /// Starts the outputs that the options ask for, and serves the feed on a socket and the page at a port.
    func start(_ options: Options, at socket: ListeningSocket?, _ port: (ListeningPort, WebSettings)?) async {
        if let path = options[\.outputFile] { await start(.file(path, after: nil)) }
        for target in options[\.connect] { await start(.push(target, after: nil)) }
        if let socket { serve(at: socket, ReaderLimits(options)) }
        if let (port, settings) = port { serve(at: port, settings, ReaderLimits(options)) }
    }

    private func start(_ beginning: Beginning) async {
        switch beginning {
        case .file(let path, let former):
            var place: FileOutput.Place?
            if case .file(let file, _)? = former?.output { place = await file.takePlace() }
            guard let (output, run) = factory.file(path, from: place) else {
                if let place { await factory.store.close(place.reader) }
                return await factory.notices.say("catwatch: --output-file: there is no thread left for it\n")
            }
            start(.file(output, path), run)
        case .push(let target, let former):
            var reader: ReaderID?
            if case .push(let push, _)? = former?.output { reader = await push.takeReader() }
            let (output, run) = factory.push(to: target, from: reader)
            start(.push(output, target), run)
        }
    }

    private func serve(at socket: ListeningSocket, _ limits: ReaderLimits) {
        self.socket = socket
        let (server, run) = factory.server(at: socket, limits)
        start(.server(server), run)
    }

    private func serve(at port: ListeningPort, _ settings: WebSettings, _ limits: ReaderLimits) {
        self.port = port
        let (server, run) = factory.web(at: port, settings, limits)
        start(.web(server), run)
    }

    private func start(_ output: Output, _ run: @escaping OutputFactory.Run) {
        let number = next
        next += 1
        slots.append(Slot(number: number, output: output))
        tasks[number] = Task(executorPreference: loop) {
            await run()
            await self.didEnd(number)
        }
    }

    private func didEnd(_ number: Int) {
        tasks[number] = nil
        // A server that ended, asked to or not, leaves no open socket; the next one is served only after this.
        if slots.contains(where: { if case .server = $0.output { $0.number == number } else { false } }) {
            closeSocket()
        }
        if slots.contains(where: { if case .web = $0.output { $0.number == number } else { false } }) { port = nil }
        slots.removeAll { $0.number == number }
        callWaiting()
    }

    // MARK: Changing

    /// Reopens output files, which may have been renamed, and waits until that is done.
    func reopenFiles() async throws(CancellationError) {
        for slot in slots {
            guard case .file(let file, _) = slot.output else { continue }
            await file.reopen()
            try await file.waitUntilReopened()
        }
    }

    /// Remembers a socket that is claimed already, until `replace` serves it.
    func hold(_ change: SocketChange) { if case .open(let socket) = change { claimed = socket } }

    /// Ends the outputs that the options no longer ask for, once they have drained, then starts the new ones: a file
    /// continues where its predecessor ended, a push to the same address continues as after a lost connection.
    /// Unchanged outputs, and the readers of an unchanged socket, are not touched.
    func replace(with options: Options, socket change: SocketChange, port portChange: PortChange) async -> Changes {
        isReplacing = true
        defer {
            isReplacing = false
            callWaiting()
        }
        var changes = Changes()
        var leaving = slots.filter { if case .fixed = $0.output { false } else { true } }
        var beginnings: [Beginning] = []
        func keep(_ isSame: (Output) -> Bool) -> Bool {
            guard let index = leaving.firstIndex(where: { isSame($0.output) }) else { return false }
            leaving.remove(at: index)
            changes.kept += 1
            return true
        }
        if let path = options[\.outputFile],
            !keep({ if case .file(_, path) = $0 { true } else { false } })
        {
            let former = leaving.first { if case .file = $0.output { true } else { false } }
            beginnings.append(.file(path, after: former))
        }
        // Find all unchanged outputs first, so that none of them becomes a predecessor.
        for target in options[\.connect] where !keep({ if case .push(_, target) = $0 { true } else { false } }) {
            beginnings.append(.push(target, after: nil))
        }
        beginnings = follow(leaving, beginnings)
        if case .keep = change { _ = keep { if case .server = $0 { true } else { false } } }
        if case .keep(let settings) = portChange {
            _ = keep { if case .web = $0 { true } else { false } }
            for case .web(let server) in slots.map(\.output) {
                await server.change(to: settings, readers: ReaderLimits(options))
            }
        }
        for case .server(let server) in slots.map(\.output) { await server.change(to: ReaderLimits(options)) }
        do throws(SystemError) {
            if case .keep = change { try socket?.change(mode: options[\.listenMode]) }
        } catch {
            await factory.notices.say("catwatch: --listen-mode: \(error.reason)\n")
        }
        changes.stopped = leaving.count
        changes.started = beginnings.count

        let followed = Set(beginnings.compactMap { $0.predecessor?.number })
        for slot in leaving { await stop(slot, isFollowed: followed.contains(slot.number), isOver: false) }
        await end(leaving, within: Self.drainTime)
        // Once the feed has ended, only outputs that replace another one are started.
        for beginning in beginnings where !isEnding || beginning.predecessor != nil { await start(beginning) }
        if case .open(let socket) = change {
            changes.started += 1
            claimed = nil
            // No new readers are accepted at the end.
            if isEnding { socket.remove() } else { serve(at: socket, ReaderLimits(options)) }
        }
        if case .open(let port, let settings) = portChange {
            changes.started += 1
            if isEnding { port.close() } else { serve(at: port, settings, ReaderLimits(options)) }
        }
        return changes
    }

    /// Makes each push the successor of an ending push to the same address.
    private func follow(_ leaving: [Slot], _ beginnings: [Beginning]) -> [Beginning] {
        var free = leaving
        return beginnings.map { beginning in
            guard case .push(let target, _) = beginning else { return beginning }
            let index = free.firstIndex {
                if case .push(_, let former) = $0.output { former.address == target.address } else { false }
            }
            return .push(target, after: index.map { free.remove(at: $0) })
        }
    }

    private func stop(_ slot: Slot, isFollowed: Bool, isOver: Bool) async {
        switch slot.output {
        case .fixed: break
        case .file(let file, _): await file.stop(isFollowed: isFollowed)
        case .push(let push, _): await push.stop(isFollowed: isFollowed)
        case .server(let server):
            await server.waitUntilBegun()
            await server.stop(within: Self.drainTime, isOver: isOver)
            closeSocket()
        case .web(let server):
            await server.waitUntilBegun()
            await server.stop(within: Self.drainTime, isOver: isOver)
        }
    }

    private func closeSocket() {
        socket?.remove()
        socket = nil
    }

    /// Waits until outputs have ended, and cancels those that are late.
    private func end(_ slots: [Slot], within time: Duration) async {
        let deadline = loop.clock.now.advanced(by: time)
        while slots.contains(where: { tasks[$0.number] != nil }), loop.clock.now < deadline, !Task.isCancelled {
            await waitForEnd(until: deadline)
        }
        let late = slots.compactMap { tasks[$0.number] }
        for task in late { task.cancel() }
        for task in late { await task.value }
    }

    // MARK: The end

    /// Waits until the outputs have drained; the feed has ended.
    ///
    /// - Parameter limit: nil for no limit until `hurry` is called: a whole file has to come out of the other end of a
    ///   pipe, however slow that is. Readers of the socket and of the page have at most `drainTime` in any case.
    func drain(within limit: Duration?) async {
        isEnding = true
        var deadline = limit.map { loop.clock.now.advanced(by: $0) }
        for slot in slots {
            switch slot.output {
            case .server, .web: await stop(slot, isFollowed: false, isOver: true)
            default: break
            }
        }
        while !tasks.isEmpty || isReplacing, !Task.isCancelled {
            if deadline == nil, isHurried { deadline = loop.clock.now.advanced(by: Self.drainTime) }
            if let deadline, loop.clock.now >= deadline { return }
            await waitForEnd(until: deadline)
        }
    }

    /// Limits `drain` to `drainTime` from now on.
    func hurry() {
        isHurried = true
        callWaiting()
    }

    /// Cancels all outputs that still run, and waits for them.
    func end() async {
        let late = tasks.values
        for task in late { task.cancel() }
        for task in late { await task.value }
    }

    /// Removes the socket before the process exits at once.
    func giveBack() {
        socket?.remove()
        claimed?.remove()
    }

    private func waitForEnd(until deadline: LoopInstant?) async {
        let ended = Wakeup(loop: loop)
        waiting.append(ended)
        let timer = deadline.map { loop.schedule(at: $0) { ended.signal() } }
        try? await ended.wait()
        if let timer { loop.cancel(timer) }
        waiting.removeAll { $0 === ended }
    }

    private func callWaiting() { for waiter in waiting { waiter.signal() } }
}
