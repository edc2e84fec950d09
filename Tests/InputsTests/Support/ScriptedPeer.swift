import Feed
import Inputs
import Outputs
import Reactor
import TestSupport
import Testing
import WebSocket

/// The server's end of a WebSocket, or of an answer that is read as it comes, in memory, driven by a test.
final class ScriptedPeer {
    private let stream: SimulatedStream
    private let loop: EventLoop
    private var decoder = FrameDecoder(role: .server, limit: 1 << 20)
    private var input: [UInt8] = []
    /// The head of the client's handshake.
    private(set) var request = ""
    /// The request that is answered as it comes; nil for a WebSocket.
    let asked: HTTPRequest?
    private var outcome: Result<Int, HTTPFailure>?
    private let answered: Wakeup

    enum Received: Equatable {
        case text(String)
        case ping([UInt8])
        case pong([UInt8])
        case close(UInt16?)
        case end
    }

    init(_ stream: SimulatedStream, asked: HTTPRequest? = nil, on loop: EventLoop) {
        self.stream = stream
        self.asked = asked
        self.loop = loop
        answered = Wakeup(loop: loop)
    }

    /// Begins the answer to the request.
    func answer(_ status: Int) { settle(.success(status)) }

    /// Has the request come to nothing.
    func fail(_ code: Failure.Code, _ message: String) { settle(.failure(HTTPFailure(code, message))) }

    private func settle(_ outcome: Result<Int, HTTPFailure>) {
        self.outcome = self.outcome ?? outcome
        answered.open()
    }

    /// The answer's status, once it has begun.
    fileprivate func status(within time: Duration) async throws(HTTPFailure) -> Int {
        do {
            try await answered.wait(until: loop.clock.now.advanced(by: time))
        } catch {
            throw HTTPFailure(.closed, "the request was cancelled")
        }
        guard let outcome else { throw HTTPFailure(.timeout, "no answer within \(time.shortText)") }
        return try outcome.get()
    }

    /// Reads the handshake, and answers it.
    ///
    /// - Parameter answer: nil for the right one; `ACCEPT` in it stands for the right key.
    func shakeHands(_ answer: String? = nil, then bytes: [UInt8] = []) async throws {
        while !input.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard try await fill() else { throw Ended() }
        }
        request = String(decoding: input, as: UTF8.self)
        input = []
        let key = field("Sec-WebSocket-Key") ?? ""
        let answer =
            answer
            ?? "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n\r\n"
        let parts = answer.split(separator: "ACCEPT", omittingEmptySubsequences: false).map(String.init)
        try await stream.write(all: Array(parts.joined(separator: Handshake.accept(key: key)).utf8) + bytes)
    }

    func field(_ name: String) -> String? {
        request.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }.map {
            String($0.dropFirst(name.count + 2))
        }
    }

    func send(_ text: String) async throws {
        try await stream.write(all: Self.frame(.text, Array(text.utf8)))
    }

    func send(_ opcode: Opcode, _ payload: [UInt8]) async throws {
        try await stream.write(all: Self.frame(opcode, payload))
    }

    func send(raw bytes: [UInt8]) async throws { try await stream.write(all: bytes) }

    static func frame(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        FrameEncoder.append(opcode, payload, key: nil, to: &bytes)
        return bytes
    }

    /// The next frame that the client sends.
    func next() async throws -> Received {
        while true {
            switch try takeItem() {
            case .text?, .binary?: return .text(String(decoding: decoder.payload, as: UTF8.self))
            case .ping(let payload)?: return .ping(payload)
            case .pong(let payload)?: return .pong(payload)
            case .close(let code, _)?: return .close(code?.rawValue)
            case nil: guard try await fill() else { return .end }
            }
        }
    }

    /// What has come of frames, as it came; waits for some, and is empty at the end.
    func nextBytes() async throws -> [UInt8] {
        if input.isEmpty { _ = try await fill() }
        defer { input = [] }
        return input
    }

    private func takeItem() throws -> FrameDecoder.Item? {
        var result: Result<FrameDecoder.Item?, WebSocketFault> = .success(nil)
        var used = 0
        input.withUnsafeBytes { bytes in
            var rest = bytes
            do throws(WebSocketFault) {
                result = .success(try decoder.next(from: &rest))
            } catch {
                result = .failure(error)
            }
            used = bytes.count - rest.count
        }
        input.removeFirst(used)
        return try result.get()
    }

    private func fill() async throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            if let count = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) {
                input += buffer[..<count]
                return count > 0
            }
            try await stream.waitUntilReadable()
        }
    }

    func sleep(_ duration: Duration) async throws { try await loop.sleep(for: duration) }

    func close() {
        fail(.closed, "closed without an answer")
        stream.close()
    }

    struct Ended: Error {}
}

/// A transport whose connections a test serves, one after the other.
actor ScriptedPeers: HTTPTransport, StreamTransport {
    private let loop: EventLoop
    private let capacity: Int
    private let serve: @Sendable (Int, LoopBound<ScriptedPeer>) async throws -> Void
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// When connections were asked for.
    private(set) var attempts: [LoopInstant] = []
    private var waiting: [LoopBound<ScriptedPeer>] = []
    private let arrived: Wakeup

    /// - Parameter serve: gets the connection's number, from 0; throwing refuses the connection when it comes at once.
    init(
        on loop: EventLoop, capacity: Int = 65_536,
        serve: @escaping @Sendable (Int, LoopBound<ScriptedPeer>) async throws -> Void
    ) {
        self.loop = loop
        self.capacity = capacity
        self.serve = serve
        arrived = Wakeup(loop: loop)
    }

    func connect(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (stream: LoopBound<any ByteStream>, timing: HTTPTiming) {
        (LoopBound(meet(nil).near), HTTPTiming())
    }

    func open(
        _ request: HTTPRequest
    ) async throws(HTTPFailure) -> (status: Int, body: LoopBound<any ByteStream>) {
        let (near, peer) = meet(request)
        do throws(HTTPFailure) {
            return (try await peer.status(within: request.timeout), LoopBound(near))
        } catch {
            near.close()
            throw error
        }
    }

    func get(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        throw HTTPFailure(.connect, "there are no documents here")
    }

    /// Has a connection served.
    private func meet(_ request: HTTPRequest?) -> (near: SimulatedStream, peer: ScriptedPeer) {
        attempts.append(loop.clock.now)
        let (near, far) = SimulatedStream.pair(capacity: capacity, on: loop)
        let peer = ScriptedPeer(far, asked: request, on: loop)
        waiting.append(LoopBound(peer))
        arrived.signal()
        return (near, peer)
    }

    /// Serves every connection until the task is cancelled.
    func run() async {
        var number = 0
        await withTaskGroup(of: Void.self) { group in
            while true {
                while !waiting.isEmpty {
                    let peer = waiting.removeFirst()
                    let index = number
                    number += 1
                    group.addTask { [serve] in
                        try? await serve(index, peer)
                        peer.value.close()
                    }
                }
                do { try await arrived.wait() } catch { break }
            }
            group.cancelAll()
        }
    }
}

/// What a WebSocket input made of a scripted server, in virtual time.
struct SimulatedSocket: Sendable {
    var lines: [Line] = []
    var attempts: [LoopInstant] = []
    /// How the source was doing at the end.
    var state: SourceStatus.State?

    static func source(_ url: String = "ws://cats.test/aqi") throws -> WebSocketSource {
        var source = WebSocketSource(SourceDescription(name: "aqi"), request: HTTPRequest(url: url))
        source.extraction.key = .at(try JSONPointer("/city"))
        source.extraction.value = .at(try JSONPointer("/aqi"))
        source.extraction.text = .nowhere
        source.extraction.items = try JSONPointer("")
        return source
    }

    /// Runs the input for as long as said and reads the whole feed.
    static func run(
        _ source: WebSocketSource, for duration: Duration, seed: UInt64 = 1, capacity: Int = 65_536,
        beside: @escaping @Sendable (EventStore, PollRequests, EventLoop) async throws -> Void = { _, _, _ in },
        serve: @escaping @Sendable (Int, LoopBound<ScriptedPeer>) async throws -> Void
    ) async throws -> SimulatedSocket {
        try await withLoop(virtual: true) { loop in
            let wall = SteppedWallClock(following: loop.clock, startingAt: SimulatedFeed.wallStart)
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let polls = PollRequests(on: loop)
            let peers = ScriptedPeers(on: loop, capacity: capacity, serve: serve)
            let input = WebSocketInput(
                source, store: store, polls: polls, transport: peers, on: loop, wall: wall,
                random: SeededGenerator(seed: seed))
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let sink = LineSink(on: loop)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { _ = try? await output.run { _ in sink.open() } }
                group.addTask { await sink.run() }
                await withTaskGroup(of: Void.self) { inputs in
                    inputs.addTask { try? await store.run() }
                    inputs.addTask { try? await input.run() }
                    inputs.addTask { await peers.run() }
                    inputs.addTask { try? await beside(store, polls, loop) }
                    try? await loop.sleep(for: duration)
                    inputs.cancelAll()
                }
                await store.finish("test")
                await group.waitForAll()
            }
            #expect(loop.timerCount == 0)
            var result = SimulatedSocket()
            result.attempts = await peers.attempts
            result.state = await store.sourceStates.first?.state
            result.lines = try sink.texts.map { try LineDecoder.decode(Array($0.utf8)[...]) }
            return result
        }
    }

    var data: [Line.Data] {
        lines.compactMap { if case .data(let data) = $0.body { data } else { nil } }
    }
    var latencies: [LatencySample] {
        lines.compactMap { if case .latency(let sample) = $0.body { sample } else { nil } }
    }
    var errors: [Failure] {
        lines.compactMap { if case .error(let failure) = $0.body { failure } else { nil } }
    }
    var recoveries: [Recovery] {
        lines.compactMap { if case .recovered(let recovery) = $0.body { recovery } else { nil } }
    }
}
