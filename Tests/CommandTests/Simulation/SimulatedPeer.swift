import Reactor
import TestSupport

/// Whoever an agent pushes to: it comes and goes as well.
final class SimulatedPeer: @unchecked Sendable {  // touched on one loop only
    static let path = "/peer"

    let witness: ReaderWitness
    private let machine: SimulatedMachine
    private unowned let world: SimulatedWorld
    private var random: SeededGenerator
    /// Since when it is connected; nil when it is not.
    private var connected: LoopInstant?

    init(on machine: SimulatedMachine, in world: SimulatedWorld, seed: UInt64) {
        (self.machine, self.world) = (machine, world)
        random = SeededGenerator(seed: seed)
        witness = ReaderWitness("the peer", .push) { [unowned world] in world.accuse($0) }
    }

    func live() async {
        let loop = machine.loop
        let buffer = ReadBuffer()
        while !Task.isCancelled {
            let listener = machine.listen(at: Self.path)
            guard let stream = try? await listener.accept() else { return }
            witness.connect()
            connected = loop.clock.now
            let leaves = loop.clock.now.advanced(by: .milliseconds(Int64.random(in: 50...6_000, using: &random)))
            let timer = world.hasEnded ? nil : loop.schedule(at: leaves) { if !self.world.hasEnded { stream.close() } }
            while let count = try? stream.read(into: buffer.memory) ?? -1, count != 0 {
                if count > 0 {
                    witness.take(UnsafeRawBufferPointer(rebasing: buffer.memory[..<count]), world.feeds)
                } else if (try? await stream.waitUntilReadable()) == nil {
                    break
                }
            }
            if let timer { loop.cancel(timer) }
            connected = nil
            stream.close()
            listener.close()
            witness.disconnect(mayCut: true)
            world.count("pushes")
            guard (try? await loop.sleep(for: .milliseconds(Int64.random(in: 0...500, using: &random)))) != nil else {
                break
            }
        }
        machine.listen(at: Self.path).close()
    }

    /// It must have what was there some time ago.
    func check(_ next: Int, of run: String, since time: LoopInstant) {
        guard let connected, connected <= time, !witness.isOver else { return }
        if witness.run != run {
            return world.accuse("the peer is with \(witness.run ?? "nobody"), and not with \(run)")
        }
        if witness.next < next { world.accuse("the peer has not got \(next - 1), only \(witness.next - 1)") }
    }
}
