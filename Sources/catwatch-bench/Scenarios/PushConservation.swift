internal import Glibc
internal import Reactor

/// `--connect` to a listener that reads everything and is killed and restarted again and again: counts lost and
/// repeated lines by what the listeners read.
enum PushConservation: Scenario {
    static let name = "push-conservation"
    static let summary = "--connect to a listener killed 100 times under 2,000 events a second"
    static let defaultRuns = 1

    private static let rate = 2_000

    static func measure(_ setting: Setting) throws -> [Figure] {
        var lost = Figure(name: "lines lost", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var torn = Figure(name: "lines torn", unit: "lines", runs: [], statistic: .most, limit: .atMost(0))
        var kills = Figure(name: "listeners killed", unit: "", runs: [], statistic: .least, limit: .atLeast(100))
        var resent = Figure(
            name: "most bytes repeated after a reconnect", unit: "bytes", runs: [], statistic: .most,
            limit: .atMost(Double(StreamSocket.sendBuffer + FeedProgram.lineLength)))
        var lines = Figure(name: "lines read", unit: "lines", runs: [], statistic: .least)
        for _ in 0..<setting.runs {
            let run = try Self.run(setting)
            lost.runs.append(Double(run.tally.lost))
            torn.runs.append(Double(run.tally.torn))
            kills.runs.append(Double(run.kills))
            resent.runs.append(Double(run.mostRepeated))
            lines.runs.append(Double(run.tally.lines))
        }
        return [lines, lost, torn, kills, resent]
    }

    private struct Run: Sendable {
        var tally: LineChecker.Tally
        var kills: Int
        var mostRepeated: Int
    }

    private static func run(_ setting: Setting) throws -> Run {
        try setting.withFolder { folder in
            let path = "\(folder)/peer.sock"
            var options = FeedOptions()
            options.rate = rate
            options.count = .max / (1 << 20)
            let feed = try setting.startFeed(options, connect: "unix:\(path)", folder: folder)
            defer { feed.end() }
            let loop = try EventLoop()
            return try loop.run {
                let peer = MortalListener(path, on: loop)
                var kills = 0
                let deadline = loop.clock.now.advanced(by: .seconds(70))
                while kills < 100, loop.clock.now < deadline {
                    try peer.start()
                    try await peer.waitForBytes()
                    try await loop.sleep(for: .milliseconds(.random(in: 0...400)))
                    peer.kill()
                    kills += 1
                    try await loop.sleep(for: .milliseconds(.random(in: 0...100)))
                }
                // The next listener must get what the last one did not.
                try peer.start()
                try await peer.waitForBytes()
                try await loop.sleep(for: .seconds(1))
                peer.kill()
                return Run(tally: peer.tally, kills: kills, mostRepeated: peer.mostRepeated)
            }
        }
    }
}

/// A listener that dies like a process: at any moment, with unread bytes in its socket.
private final class MortalListener {
    private(set) var tally = LineChecker.Tally()
    private(set) var mostRepeated = 0
    private let path: String
    private let loop: EventLoop
    private let checker = LineChecker(next: 1)
    private let reference = LineReference()
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)
    private let arrived: Wakeup
    private var watches: [Watch] = []
    private var numbers: [Int32] = []

    init(_ path: String, on loop: EventLoop) {
        self.path = path
        self.loop = loop
        arrived = Wakeup(loop: loop)
    }

    deinit {
        kill()
        buffer.deallocate()
    }

    func start() throws {
        let socket = try StreamSocket.bound(to: path)
        try StreamSocket.listen(socket)
        let number = socket.release()
        numbers.append(number)
        watches.append(try loop.watch(number, interest: .read) { [unowned self] _ in accept(number) })
    }

    func waitForBytes() async throws { try await arrived.wait() }

    func kill() {
        for watch in watches { watch.cancel() }
        for number in numbers { close(number) }
        watches = []
        numbers = []
        unlink(path)
    }

    private func accept(_ listener: Int32) {
        let number = Glibc.accept(listener, nil, nil)
        guard number >= 0 else { return }
        numbers.append(number)
        checker.beginConnection()
        var isFirst = true
        let watch = try? loop.watch(number, interest: .read) { [unowned self] _ in
            let count = recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return }
            checker.check(UnsafeRawBufferPointer(rebasing: buffer[..<count]), reference, &tally)
            mostRepeated = max(mostRepeated, checker.repeatedBytes)
            if isFirst { arrived.signal() }
            isFirst = false
        }
        if let watch { watches.append(watch) }
    }
}
