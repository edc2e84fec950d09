import Feed
import Inputs
import Reactor
import TestSupport

/// The servers that a simulated agent polls: they refuse, break off, are slow and send halves.
actor SimulatedServers: HTTPTransport, StreamTransport {
    private let loop: EventLoop
    private let world: SimulatedWorld
    private unowned let process: SimulatedProcess
    private var random: SeededGenerator
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(of world: SimulatedWorld, for process: SimulatedProcess, seed: UInt64) {
        loop = world.loop
        self.world = world
        self.process = process
        random = SeededGenerator(seed: seed)
    }

    func get(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        let source = String(request.endpoint.name.split(separator: "/").last ?? "")
        let fate = world.isDown(source) ? UInt64.random(in: 0...5, using: &random) : random.next() % 40
        var time = Duration.microseconds(Int64.random(in: 1_000...60_000, using: &random))
        if fate == 4 { time = request.timeout }
        do { try await loop.sleep(for: time) } catch { throw HTTPFailure(.closed, "cancelled") }
        if process.isDead { throw HTTPFailure(.closed, "nobody is there") }
        var timing = HTTPTiming()
        timing.total = time.milliseconds
        func fail(_ code: Failure.Code, hasBegun: Bool = false) -> HTTPFailure {
            world.note(failureOf: source)
            return HTTPFailure(code, "the simulation wants it", begun: hasBegun ? (200, timing) : nil)
        }
        func answer(_ status: Int, _ text: String) -> HTTPAnswer {
            HTTPAnswer(status: status, body: Array(text.utf8), timing: timing)
        }
        switch fate {
        case 0, 1: throw fail(.connect)
        case 2: throw fail(.reset, hasBegun: true)
        case 3: throw fail(.closed, hasBegun: true)
        case 4: throw fail(.timeout)
        case 5:
            world.note(failureOf: source)
            switch random.next() % 4 {
            case 0: return answer(503, "{}")
            case 1: return answer(200, #"{"n": 1, "v": 17, "pad": "aaaa"#)
            case 2: return answer(200, "")
            default: return answer(random.next() % 4 == 0 ? 429 : 404, "no")
            }
        default: return answer(200, world.document(of: source, isAnswer: true))
        }
    }

    func open(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (status: Int, body: LoopBound<any ByteStream>) {
        throw HTTPFailure(.connect, "there are no feeds here")
    }

    func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming) {
        throw HTTPFailure(.connect, "nobody takes WebSockets here")
    }
}
