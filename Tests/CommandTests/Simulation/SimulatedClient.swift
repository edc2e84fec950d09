import Reactor
import TestSupport

/// A reader of the socket that comes and goes: it reads at once, slowly, or not at all for a while, leaves in the middle of a
/// line, and asks for what follows the last one that it has.
final class SimulatedClient: @unchecked Sendable {  // touched on one loop only
    private enum Manner {
        case prompt
        case slow
        case blocked
    }

    let witness: ReaderWitness
    private let name: String
    private unowned let world: SimulatedWorld
    private let loop: EventLoop
    private var random: SeededGenerator
    private var manner = Manner.prompt
    /// Since when it is connected; nil when it is not.
    private var connected: LoopInstant?
    /// Whether it reads to the end from now on.
    var isWelcome = false

    init(_ number: Int, of world: SimulatedWorld, seed: UInt64) {
        name = "reader \(number)"
        self.world = world
        loop = world.loop
        random = SeededGenerator(seed: seed)
        witness = ReaderWitness(name, .socket) { [unowned world] in world.accuse($0) }
        witness.oldest = { [unowned world] in world.oldest(of: $0) }
    }

    private func milliseconds(_ range: ClosedRange<Int64>) -> Duration {
        .microseconds(Int64.random(in: range.lowerBound * 1_000...range.upperBound * 1_000, using: &random))
    }

    func live() async {
        while !Task.isCancelled {
            guard (try? await loop.sleep(for: milliseconds(10...1_200))) != nil else { return }
            if world.hasEnded { continue }
            guard let stream = world.connect(capacity: [300, 3_000, 65_536].randomElement(using: &random) ?? 300) else {
                continue
            }
            await read(stream)
        }
    }

    private func read(_ stream: SimulatedStream) async {
        defer { stream.close() }
        manner = [.prompt, .prompt, .slow, .blocked].randomElement(using: &random) ?? .prompt
        witness.connect()
        connected = loop.clock.now
        defer { connected = nil }
        if random.next() % 4 > 0, let ask = witness.ask() {
            guard (try? Array(ask.utf8).withUnsafeBytes { try stream.write($0) }) == ask.utf8.count else { return }
            world.note("\(name) asks for \(ask.dropLast())")
        }
        let isPatient = random.next() % 4 == 0
        let leaves = loop.schedule(after: milliseconds(20...5_000)) { [self] in
            if !isPatient, !isWelcome { stream.close() }
        }
        defer { loop.cancel(leaves) }
        let buffer = ReadBuffer()
        let most = manner == .prompt ? buffer.memory.count : Int.random(in: 1...2_000, using: &random)
        while true {
            let count: Int?
            do { count = try stream.read(into: .init(rebasing: buffer.memory[..<most])) } catch { break }
            if count == 0 {
                ended()
                break
            }
            if let count { witness.take(UnsafeRawBufferPointer(rebasing: buffer.memory[..<count]), world.feeds) }
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
        witness.disconnect(mayCut: true)
    }

    /// The agent has closed the connection.
    private func ended() {
        guard manner == .prompt, !witness.isRefused, let (_, isStopping) = world.live(for: self) else { return }
        if !isStopping {
            world.accuse("\(name) is sent away")
        } else if witness.isGreeted, !witness.isOver {
            world.accuse("\(name) gets no bye")
        }
    }

    /// It must have what was there some time ago.
    ///
    /// - Parameter isHeld: whether the journal, which is asked for older lines, may take its time.
    func check(_ next: Int, of run: String, since time: LoopInstant, isHeld: Bool) {
        if isHeld, witness.isAsking { return }
        guard manner == .prompt, let connected, connected <= time, witness.run == run, !witness.isOver else { return }
        if witness.reach < next { world.accuse("\(name) has not got \(next - 1), only \(witness.next - 1)") }
    }
}
