import Glibc
import HTTPServer
import Reactor
import TestSupport

/// A server on a loop of its own with the routes that the tests need, and a thread beside it for a client that blocks.
/// Everything in it is the loop's.
final class ServerBench {
    let loop: EventLoop
    private(set) var requests: [HTTPRequest] = []
    /// The streams of `/stream`, in the order in which they were asked for.
    private(set) var feeds: [Feed] = []
    /// The promises of `/later`, and how many of them were left.
    private(set) var promises: [HTTPPromise] = []
    private(set) var left = 0
    private(set) var upgraded: [any ByteStream] = []
    private(set) var server: HTTPServer!  // set by `run` before anybody sees the bench
    private(set) var thread: ClientThread!  // as well

    private init(loop: EventLoop) { self.loop = loop }

    /// Serves while `body` runs, and stops whatever it came to.
    ///
    /// - Parameter host: a numeric address to listen at.
    static func run(
        host: String = "127.0.0.1", limits: HTTPServer.Limits = HTTPServer.Limits(),
        _ body: @escaping @Sendable (ServerBench) async throws -> Void
    ) async throws {
        try await withLoop { try await run(on: $0, host: host, limits: limits, body) }
    }

    static func run(
        on loop: EventLoop, host: String = "127.0.0.1", limits: HTTPServer.Limits = HTTPServer.Limits(),
        _ body: (ServerBench) async throws -> Void
    ) async throws {
        let socket = try StreamSocket.listening(at: SocketAddress.resolve(host: host, port: 0)[0])
        let bench = ServerBench(loop: loop)
        bench.server = try HTTPServer(on: loop, listeningAt: socket, limits: limits) { bench.reply(to: $0) }
        bench.thread = try ClientThread(RawClient(host: host, port: bench.server.port), besides: loop)
        defer {
            bench.server.stop()
            bench.thread.stop()
            bench.server = nil  // whose handler holds the bench
        }
        try await body(bench)
    }

    private func reply(to request: HTTPRequest) -> HTTPReply {
        requests.append(request)
        switch request.path {
        case "/stream":
            feeds.append(Feed(size: Int(request.query)))
            return .now(HTTPResponse(status: 200, body: .stream(feeds[feeds.count - 1].stream)))
        case "/later":
            return .later { [unowned self] promise in
                promise.whenLeft = { [unowned self] in left += 1 }
                promises.append(promise)
            }
        case "/upgrade":
            let fields = [HTTPField("Upgrade", "echo")]
            return .now(
                HTTPResponse(status: 101, fields: fields, body: .upgrade { [unowned self] in upgraded.append($0) }))
        default: return .now(.text("\(request.method) \(request.target) \(request.body.count)"))
        }
    }

    func talk<Value: Sendable>(_ work: @escaping @Sendable (RawClient) throws -> Value) async throws -> Value {
        try await thread.talk(work)
    }

    /// What comes back on a connection of its own, until its end.
    func talk(_ text: String) async throws -> RawClient.Outcome { try await talk { try $0.talk(text) } }

    func get(_ target: String, fields: [String] = []) async throws -> WireAnswer {
        try await thread.get(target, fields: fields)
    }

    /// Opens a connection and sends a text on it.
    func open(_ text: String) async throws -> Int32 {
        try await talk { client in
            let descriptor = try client.connect()
            try client.send(text, to: descriptor)
            return descriptor
        }
    }

    struct TooLate: Error {}

    /// Waits until something is so, for 20 s at the most.
    func until(_ condition: () -> Bool) async throws {
        let deadline = loop.clock.now.advanced(by: .seconds(20))
        while !condition() {
            guard loop.clock.now < deadline else { throw TooLate() }
            try await loop.sleep(for: .milliseconds(1))
        }
    }
}

/// The producer of a stream: it has what a test gives it.
final class Feed {
    private(set) var asked = 0
    /// Whether the stream came to its end; nil while it is under way.
    private(set) var isComplete: Bool?
    private var given: [UInt8] = []
    private var last: HTTPStream.Step?
    private(set) var stream: HTTPStream!  // set by `init`

    init(size: Int?) {
        stream = HTTPStream(size: size) { [unowned self] buffer, position in
            asked += 1
            let part = given[position...].prefix(buffer.count)
            guard !part.isEmpty else { return last ?? .nothingNow }
            buffer.copyBytes(from: part)
            return .bytes(part.count)
        }
        stream.whenOver = { [unowned self] in isComplete = $0 }
    }

    func give(_ text: String) {
        given += text.utf8
        stream.resume()
    }

    func finish(_ step: HTTPStream.Step = .end) {
        last = step
        stream.resume()
    }
}

extension HTTPResponse {
    static func text(_ text: String) -> HTTPResponse { HTTPResponse(status: 200, body: .bytes(Array(text.utf8))) }
}

extension RawClient.Outcome {
    /// The status lines of all answers on a connection, in their order.
    var statuses: [Int] {
        text.split(separator: "HTTP/1.1 ").compactMap { Int($0.prefix(3)) }
    }
}
