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

    /// What an output is for. One that is still wanted goes on.
    private enum Purpose: Equatable {
        /// stdout, the view, the journal or NATS, which run to the end.
        case fixed
        case file(String)
        case push(PushTarget)
        case feed(ListeningSocket)
        case page(ListeningPort)

        /// Whether an output for this continues where one for `former` ended.
        func continues(_ former: Purpose) -> Bool {
            switch (self, former) {
            case (.file, .file): true
            case (.push(let target), .push(let former)): target.address == former.address
            default: false
            }
        }

        /// Closes the socket or port that is not served any more.
        func close() {
            switch self {
            case .feed(let socket): socket.remove()
            case .page(let port): port.close()
            case .fixed, .file, .push: break
            }
        }
    }

    private struct Slot {
        let number: Int
        let purpose: Purpose
        /// nil for one that runs to the end.
        let output: (any Actor)?
        let task: Task<Void, Never>
    }

    private let factory: OutputFactory
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The running outputs, including those about to end. Not a task group, because one child of a group cannot be
    /// cancelled alone; `end` waits for all.
    private var slots: [Slot] = []
    private var next = 0
    /// Where the last output to a file ended that no other continued: one to the same file goes on there.
    private var lastFile: (path: String, end: FileOutput.Place)?
    /// The socket to serve next, while the replaced outputs still end.
    private var claimed: ListeningSocket?
    private var isReplacing = false
    /// Whether the feed has ended.
    private var isEnding = false
    /// Whether `drain` is limited to `drainTime`.
    private var isHurried = false
    /// The wakeups of everybody who waits for an output to end.
    private var waiting: [Wakeup] = []

    // Time for outputs and readers to take the rest at a stop or reload; at the end of all inputs for readers only: 5
    // s; cancelled; who took nothing in the last second is cut off within its line.
    static let drainTime = Duration.seconds(5)

    init(_ factory: OutputFactory) {
        self.factory = factory
        loop = factory.platform.loop
    }

    /// The socket that serves the feed.
    var socket: ListeningSocket? {
        slots.lazy.compactMap { if case .feed(let socket) = $0.purpose { socket } else { nil } }.first
    }

    /// The port that serves the page.
    var port: ListeningPort? {
        slots.lazy.compactMap { if case .page(let port) = $0.purpose { port } else { nil } }.first
    }

    /// Whether there is an output file that can be reopened.
    var hasFile: Bool { slots.contains { $0.output is FileOutput } }

    // MARK: Starting

    /// Starts an output that runs to the end.
    func start(_ run: @escaping OutputFactory.Run) { start(.fixed, nil, run) }

    /// Starts an output; one to a file or to another program continues where the output ended that it replaces, or
    /// where the last one to the same file did.
    private func start(
        _ purpose: Purpose, after former: Slot?, _ limits: ReaderLimits, _ settings: WebSettings
    ) async {
        switch purpose {
        case .file(let path):
            let last = lastFile?.path == path ? lastFile?.end : nil
            let place = await (former?.output as? FileOutput)?.handOverEnd() ?? last
            guard let (output, run) = factory.file(path, from: place) else {
                if let reader = place?.reader { await factory.store.close(reader) }
                return await factory.notices.say("catwatch: --output-file: there is no thread left for it\n")
            }
            start(purpose, output, run)
        case .push(let target):
            let (output, run) = factory.push(to: target, from: await (former?.output as? PushOutput)?.start)
            start(purpose, output, run)
        case .feed(let socket):
            let (server, run) = factory.server(at: socket, limits)
            start(purpose, server, run)
        case .page(let port):
            let (server, run) = factory.web(at: port, settings, limits)
            start(purpose, server, run)
        case .fixed: break
        }
    }

    private func start(_ purpose: Purpose, _ output: (any Actor)?, _ run: @escaping OutputFactory.Run) {
        let number = next
        next += 1
        let task = Task(executorPreference: loop) {
            await run()
            await self.didEnd(number)
        }
        slots.append(Slot(number: number, purpose: purpose, output: output, task: task))
    }

    private func didEnd(_ number: Int) {
        // A server that ended, asked to or not, leaves no open socket; the next one is served only after this.
        slots.first { $0.number == number }?.purpose.close()
        slots.removeAll { $0.number == number }
        callWaiting()
    }

    // MARK: Changing

    /// Reopens output files, which may have been renamed, and waits until that is done.
    func reopenFiles() async throws(CancellationError) {
        for case let file as FileOutput in slots.map(\.output) {
            await file.reopen()
            try await file.waitUntilReopened()
        }
    }

    /// Remembers a socket that is claimed already, until `replace` serves it.
    func hold(_ socket: ListeningSocket?) { claimed = socket }

    /// Ends the outputs that the options do not ask for, once they have drained, then starts the new ones: a file
    /// continues where its predecessor ended, or where it ended itself in an earlier call; a push to the same address
    /// continues as after a lost connection. Unchanged outputs, and the readers of an unchanged socket, are not touched.
    ///
    /// - Parameters:
    ///   - socket: the socket to serve the feed on: the one that is served already, or one that is claimed.
    ///   - port: the port to serve the page at, likewise.
    @discardableResult
    func replace(
        with options: Options, socket: ListeningSocket?, port: ListeningPort?, _ settings: WebSettings
    ) async -> Changes {
        isReplacing = true
        defer {
            isReplacing = false
            callWaiting()
        }
        let limits = ReaderLimits(options)
        var wanted = (options[\.outputFile].map { [.file($0)] } ?? []) + options[\.connect].map(Purpose.push)
        if let socket { wanted.append(.feed(socket)) }
        if let port { wanted.append(.page(port)) }
        var leaving = slots.filter { $0.purpose != .fixed }
        var kept: [Slot] = []
        // Find all unchanged outputs first, so that none of them becomes a predecessor.
        let new = wanted.filter { purpose in
            guard let index = leaving.firstIndex(where: { $0.purpose == purpose }) else { return true }
            kept.append(leaving.remove(at: index))
            return false
        }
        var free = leaving
        let beginnings = new.map { purpose in
            (purpose: purpose, after: free.firstIndex { purpose.continues($0.purpose) }.map { free.remove(at: $0) })
        }
        for case let server as FeedServer in kept.map(\.output) { await server.change(to: limits) }
        for case let server as WebServer in kept.map(\.output) { await server.change(to: settings, readers: limits) }
        do throws(SystemError) {
            try socket?.change(mode: options[\.listenMode])
        } catch {
            await factory.notices.say("catwatch: --listen-mode: \(error.reason)\n")
        }

        let followed = Set(beginnings.compactMap { $0.after?.number })
        for slot in leaving { await stop(slot, isFollowed: followed.contains(slot.number), isOver: false) }
        await end(leaving, within: Self.drainTime)
        for slot in leaving where !followed.contains(slot.number) {
            guard case .file(let path) = slot.purpose, let file = slot.output as? FileOutput else { continue }
            lastFile = await file.handOverEnd().map { (path, $0) }
        }
        for (purpose, former) in beginnings {
            // Once the feed has ended, only outputs that replace another one are started, and no new readers accepted.
            if isEnding, former == nil {
                purpose.close()
            } else {
                await start(purpose, after: former, limits, settings)
            }
        }
        claimed = nil
        return Changes(started: beginnings.count, stopped: leaving.count, kept: kept.count)
    }

    private func stop(_ slot: Slot, isFollowed: Bool, isOver: Bool) async {
        switch slot.output {
        case let file as FileOutput: await file.stop(isFollowed: isFollowed)
        case let push as PushOutput: await push.stop()
        case let server as FeedServer:
            await server.waitUntilBegun()
            await server.stop(within: Self.drainTime, isOver: isOver)
        case let server as WebServer:
            await server.waitUntilBegun()
            await server.stop(within: Self.drainTime, isOver: isOver)
        default: break
        }
        slot.purpose.close()
    }

    /// Waits until outputs have ended, and cancels those that are late.
    private func end(_ ending: [Slot], within time: Duration) async {
        let numbers = Set(ending.map(\.number))
        func late() -> [Slot] { slots.filter { numbers.contains($0.number) } }
        let deadline = loop.clock.now.advanced(by: time)
        while !late().isEmpty, loop.clock.now < deadline, !Task.isCancelled { await waitForEnd(until: deadline) }
        let tasks = late().map(\.task)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    // MARK: The end

    /// Waits until the outputs have drained, and cancels those that are late; the feed has ended.
    ///
    /// - Parameter limit: nil for no limit until `hurry` is called: a whole file has to come out of the other end of a
    ///   pipe, however slow that is. Readers of the socket and of the page have at most `drainTime` in any case.
    func drain(within limit: Duration?) async {
        isEnding = true
        var deadline = limit.map { loop.clock.now.advanced(by: $0) }
        for slot in slots where slot.output is FeedServer || slot.output is WebServer {
            await stop(slot, isFollowed: false, isOver: true)
        }
        while !slots.isEmpty || isReplacing, !Task.isCancelled {
            if deadline == nil, isHurried { deadline = loop.clock.now.advanced(by: Self.drainTime) }
            if let deadline, loop.clock.now >= deadline { return await end() }
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
        await end(slots, within: .zero)
    }

    /// Removes the socket before the process exits at once.
    func giveBack() {
        socket?.remove()
        claimed?.remove()
    }

    private func waitForEnd(until deadline: LoopInstant?) async {
        let ended = Wakeup(loop: loop)
        waiting.append(ended)
        try? await ended.wait(until: deadline)
        waiting.removeAll { $0 === ended }
    }

    private func callWaiting() { for waiter in waiting { waiter.signal() } }
}
