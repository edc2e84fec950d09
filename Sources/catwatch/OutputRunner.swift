internal import Feed
internal import Outputs
internal import Reactor
internal import Settings
internal import Web

/// Runs the outputs that get the feed, ends them with what they are owed, and swaps some of them while the others go on.
actor OutputRunner {
    /// What `replace` came to.
    struct Changes: Equatable {
        var started = 0
        var stopped = 0
        var kept = 0
    }

    /// What becomes of the socket that readers connect to.
    enum SocketChange: Sendable {
        case keep
        case close
        /// This one is claimed already.
        case open(ListeningSocket)
    }

    /// What becomes of the port that the page is served at.
    enum PortChange: Sendable {
        case keep(WebSettings)
        case close
        /// This one is bound already.
        case open(ListeningPort, WebSettings)
    }

    private enum Output {
        /// stdout or the view, which stay to the end.
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

    /// An output that is to be started, and the one that it follows.
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
    /// What runs, also what is about to end. Not children of a group, as one child of a group cannot be cancelled; `end` waits
    /// for all.
    private var tasks: [Int: Task<Void, Never>] = [:]
    private var next = 0
    /// Where the feed is served.
    private(set) var socket: ListeningSocket?
    /// Where the page is.
    private(set) var port: ListeningPort?
    /// Where it is to be, while the outputs of before come to their end.
    private var claimed: ListeningSocket?
    private var isReplacing = false
    /// Whether the feed is over.
    private var isEnding = false
    /// Whether outputs are waited for no longer than they must be.
    private var isHurried = false
    /// Who waits for an output to end.
    private var waiting: [Wakeup] = []

    /// How long outputs that are to end have to take what there is.
    static let drainTime = Duration.seconds(5)

    init(_ factory: OutputFactory) {
        self.factory = factory
        loop = factory.surroundings.loop
    }

    /// Whether there is a file that can be opened anew.
    var hasFile: Bool { slots.contains { if case .file = $0.output { true } else { false } } }

    // MARK: Starting

    /// Starts stdout or the view, which stays to the end.
    func start(_ run: @escaping OutputFactory.Run) { start(.fixed, run) }

    /// Starts the outputs that options ask for, and serves the feed at a socket, and the page at a port.
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
        // Nobody is let in any more, also when that was not asked for; another one is served only after this.
        if slots.contains(where: { if case .server = $0.output { $0.number == number } else { false } }) {
            closeSocket()
        }
        if slots.contains(where: { if case .web = $0.output { $0.number == number } else { false } }) { port = nil }
        slots.removeAll { $0.number == number }
        callWaiting()
    }

    // MARK: Changing

    /// Has outputs whose files were renamed open them anew, and waits until they have.
    func reopenFiles() async throws(CancellationError) {
        for slot in slots {
            guard case .file(let file, _) = slot.output else { continue }
            await file.reopen()
            try await file.waitUntilReopened()
        }
    }

    /// Keeps in mind a socket that is claimed already, until `replace` serves it.
    func hold(_ change: SocketChange) { if case .open(let socket) = change { claimed = socket } }

    /// Ends what options ask for no more, once it has what there is, and then starts what is new: a file goes on where the one
    /// before has ended, a push to the same address as after a lost connection. Equal ones are not touched, and readers of a
    /// socket that stays are not either.
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
        // All that stay first: none of them is to be taken for what another one follows.
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
        // Once the feed is over only what another one has begun goes on.
        for beginning in beginnings where !isEnding || beginning.predecessor != nil { await start(beginning) }
        if case .open(let socket) = change {
            changes.started += 1
            claimed = nil
            // Nobody is let in any more.
            if isEnding { socket.remove() } else { serve(at: socket, ReaderLimits(options)) }
        }
        if case .open(let port, let settings) = portChange {
            changes.started += 1
            if isEnding { port.close() } else { serve(at: port, settings, ReaderLimits(options)) }
        }
        return changes
    }

    /// Has each push follow one to the same address that is about to end.
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

    /// Waits until outputs have ended, and cancels those that have not in time.
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

    /// Waits for outputs to get what there is; the feed is over.
    ///
    /// - Parameter limit: nil for as long as it takes, which is until `hurry`: the whole of a file is to come out at the other
    ///   end of a pipe, however slow that is. Readers of the socket have no more than `drainTime` in any case.
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

    /// Has `drain` take no longer than it must.
    func hurry() {
        isHurried = true
        callWaiting()
    }

    /// Ends all that still runs, and waits for that.
    func end() async {
        let late = tasks.values
        for task in late { task.cancel() }
        for task in late { await task.value }
    }

    /// Removes the socket, as the process ends on the spot.
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
