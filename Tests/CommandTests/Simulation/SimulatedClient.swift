import Feed
import Reactor
import TestSupport

@testable import catwatch

/// A reader that comes and goes, by the socket or by HTTP: it reads at once, slowly, or not at all for a while, leaves in the
/// middle of a line, and asks for what follows the last one that it has, or for the lines of some time.
final class SimulatedClient: @unchecked Sendable {  // touched on one loop only
    private enum Manner {
        case prompt
        case slow
        case blocked
    }

    let witness: ReaderWitness
    private let name: String
    private unowned let world: SimulatedWorld
    /// Whose feed it reads.
    private let service: any SimulatedService
    private let loop: EventLoop
    private var random: SeededGenerator
    private var manner = Manner.prompt
    /// What comes of lines of some time, when it has asked for those.
    private var past: TimeWitness?
    /// Since when it is connected; nil when it is not.
    private var connected: LoopInstant?
    /// To which of the agents that follow each other.
    private var incarnation = 0
    /// What the journal's troubles were then, and whether it may have been behind.
    private(set) var troubles = 0
    private(set) var wasHeld = false
    /// Whether it reads to the end from now on.
    var isWelcome = false

    /// A reader that takes so much at once has the rest of any line within a second, however slowly it goes on.
    private static let lineAtOnce = 200
    /// How long it waits for lines of the past, at most.
    private static let patience = Duration.seconds(4)

    init(
        _ name: String, _ kind: ReaderWitness.Kind, of service: any SimulatedService, in world: SimulatedWorld,
        seed: UInt64
    ) {
        self.name = name
        self.world = world
        self.service = service
        loop = world.loop
        random = SeededGenerator(seed: seed)
        witness = ReaderWitness(name, kind) { [unowned world] in world.accuse($0) }
        witness.oldest = { service.oldest(of: $0) }
    }

    private func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
        .microseconds(Int64.random(in: range.lowerBound * 1_000...range.upperBound * 1_000, using: &random))
    }

    func live() async {
        while !Task.isCancelled {
            guard (try? await loop.sleep(for: milliseconds(10...1_200))) != nil else { return }
            if world.hasEnded { continue }
            let capacity = [300, 3_000, 65_536].randomElement(using: &random) ?? 300
            manner = [.prompt, .prompt, .slow, .blocked].randomElement(using: &random) ?? .prompt
            let asks = random.next() % 4 > 0
            let looksBack = random.next() % 6 == 0
            let reach = milliseconds(0...9_000)
            let span = milliseconds(1...6_000)
            (troubles, wasHeld, incarnation) = (world.troubles, world.isHeld, service.incarnation)
            past = looksBack ? service.timeWitness(name, witness.kind, reaching: reach, for: span) : nil
            guard let stream = connect(capacity, asks: asks) else { continue }
            await read(stream)
            past = nil
        }
    }

    /// Connects, and asks.
    private func connect(_ capacity: Int, asks: Bool) -> SimulatedStream? {
        witness.connect()
        witness.isPrompt = manner == .prompt
        // Later there may be fewer windows.
        if !witness.isPrompt || past != nil { witness.owedWindows = [:] }
        let place = past == nil && asks ? witness.ask() : nil
        switch witness.kind {
        case .events:
            let query = past.map { "from=\(Self.text($0.from))&until=\(Self.text($0.until))" } ?? ""
            let id = place.map { "\($0.run)-\($0.sequence)" }
            if let id { world.note("\(name) asks for what follows \(id)") }
            return service.events(capacity: capacity, behind: id, query)
        case .socket, .file, .push:
            guard let stream = service.connect(capacity: capacity) else { return nil }
            let wish =
                past.map { "{\"from\":\"\(Self.text($0.from))\",\"until\":\"\(Self.text($0.until))\"}" }
                ?? place.map { "{\"since\":\($0.sequence),\"run\":\"\($0.run)\"}" }
            guard let wish else { return stream }
            world.note("\(name) asks for \(wish)")
            let request = Array("\(wish)\n".utf8)
            let written = try? request.withUnsafeBytes { bytes throws(SystemError) in try stream.write(bytes) }
            return written == request.count ? stream : nil
        }
    }

    /// As RFC 3339 has it.
    private static func text(_ time: Timestamp) -> String {
        var text = TimestampText()
        let bytes = LineWriter.bytes(atMost: 64) { text.write(time, to: &$0) }
        return String(decoding: bytes, as: UTF8.self).filter { $0 != "\"" }
    }

    private func read(_ stream: SimulatedStream) async {
        defer { stream.close() }
        connected = loop.clock.now
        defer { connected = nil }
        let isPatient = random.next() % 4 == 0
        let leaves = loop.schedule(after: milliseconds(20...5_000)) { [self] in
            if !isPatient, !isWelcome { stream.close() }
        }
        defer { loop.cancel(leaves) }
        let buffer = ReadBuffer()
        let most = manner == .prompt ? buffer.memory.count : Int.random(in: 1...2_000, using: &random)
        var isCut = true
        while true {
            let count: Int?
            do { count = try stream.read(into: .init(rebasing: buffer.memory[..<most])) } catch { break }
            if count == 0 {
                isCut = ended(stream, most)
                break
            }
            if let count {
                let bytes = UnsafeRawBufferPointer(rebasing: buffer.memory[..<count])
                if let past { past.take(bytes, world.feeds) } else { witness.take(bytes, world.feeds) }
            }
            do {
                if isWelcome { manner = manner == .prompt ? .prompt : .slow }
                switch manner {
                case .slow where !isWelcome: try await loop.sleep(for: milliseconds(1...40))
                case .blocked:
                    try await loop.sleep(for: milliseconds(200...1_900))
                    if random.next() % 2 == 0 { manner = .slow }
                default: if count == nil { try await stream.waitUntilReadable() }
                }
            } catch {
                break
            }
        }
        witness.disconnect(mayCut: isCut)
        if past == nil { checkSeries() }
    }

    /// The agent has closed the connection.
    ///
    /// - Returns: whether it may have done so in the middle of a line.
    private func ended(_ stream: SimulatedStream, _ most: Int) -> Bool {
        if past?.isOver == true { return false }
        // Until then there is time for the rest of a line, also for who reads nothing yet.
        if witness.kind == .socket, let stopped = service.stopped(incarnation), let end = stream.ended,
            stopped <= end, end < stopped.advanced(by: OutputRunner.drainTime)
        {
            return false
        }
        // What one has written that has crashed is still there.
        guard let isStopping = service.isStopping, incarnation == service.incarnation else { return true }
        if !isStopping {
            if manner == .prompt, !witness.isRefused { world.accuse("\(name) is sent away") }
            return true
        }
        if manner == .prompt, past == nil, !witness.isRefused, witness.isGreeted, !witness.isOver, !witness.isAsking {
            world.accuse("\(name) gets no bye")
        }
        return manner == .blocked || most < Self.lineAtOnce
    }

    /// It must have what was there some time ago.
    ///
    /// - Parameter isHeld: whether the journal, which is asked for older lines, may take its time.
    func check(_ next: Int, of run: String, since time: LoopInstant, isHeld: Bool) {
        guard manner == .prompt, let connected, connected <= time else { return }
        if let past {
            let time = connected.duration(to: loop.clock.now)
            if !past.isOver, !isHeld, time > Self.patience {
                world.accuse("\(name) has no end after \(time.shortText)")
            }
            return
        }
        // The past comes page by page, from a disk that is slow and that others wait for as well.
        if isHeld, witness.hasAsked || witness.run != run { return }
        if witness.isOver || witness.isRefused { return }
        if witness.run != run { return world.accuse("\(name) is with \(witness.run ?? "nobody"), and not with \(run)") }
        if witness.next < next { world.accuse("\(name) has not got \(next - 1), only \(witness.next - 1)") }
        checkSeries()
    }

    /// It must know all series.
    private func checkSeries() {
        let records = world.feeds
        if witness.run == world.run { witness.checkSeries(records, where: world.isWatched) }
    }
}

/// Where a simulated client connects to.
protocol SimulatedService: AnyObject, Sendable {
    /// By its socket.
    func connect(capacity: Int) -> SimulatedStream?
    /// By HTTP, behind the event with an id; nil for none.
    func events(capacity: Int, behind id: String?, _ query: String) -> SimulatedStream?
    /// What a reader has to get that asks for the lines from so long ago on, for so long; nil when that is nobody's to say.
    func timeWitness(
        _ name: String, _ kind: ReaderWitness.Kind, reaching back: Duration, for span: Duration
    ) -> TimeWitness?
    /// The oldest line of a run that its log has.
    func oldest(of run: String) -> Int?
    /// Which of the agents that follow each other it is, from 1.
    var incarnation: Int { get }
    /// When one of them was told to end; nil when it was not.
    func stopped(_ incarnation: Int) -> LoopInstant?
    /// Whether it is about to end; nil when it is not there.
    var isStopping: Bool? { get }
}
