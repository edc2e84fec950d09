import Feed
import HTTPServer
import Outputs
import Reactor
import TestSupport

@testable import Web

/// A web server on a port of its own, over a store that nothing fills by itself, and a thread beside it for a client that blocks.
struct WebStage: Sendable {
    let loop: EventLoop
    let store: EventStore
    let polls: PollRequests
    let source: SourceID
    let server: WebServer
    private let thread: ClientThread

    /// Serves while `body` runs, and stops whatever it came to.
    static func run<Value: Sendable>(
        _ settings: WebSettings = WebSettings(), readers: ReaderLimits = ReaderLimits(), isRelay: Bool = false,
        demoPicture: @escaping WebContext.DemoPicture = { _ in nil }, at address: String = "127.0.0.1",
        limits: HTTPServer.Limits = WebServer.limits, _ body: @escaping @Sendable (WebStage) async throws -> Value
    ) async throws -> Value {
        try await withLoop { loop in
            let host = AgentIdentity.Host(name: "wire.test")
            let store = EventStore(
                on: loop, wall: SystemWallClock(),
                identity: AgentIdentity(run: "r1", version: "1", started: Timestamp(seconds: 0), host: host),
                isRelay: isRelay)
            let polls = PollRequests(on: loop)
            var settings = settings
            settings.hosts.append("cats.test")
            let server = WebServer(
                store: store, polls: polls, on: loop, settings: settings, limits: limits, readers: readers,
                demoPicture: demoPicture)
            let serving = Task(executorPreference: loop) {
                try await server.run { () throws(SystemError) in
                    try StreamSocket.listening(at: try SocketAddress.resolve(host: address, port: 0)[0])
                }
            }
            while await server.port == 0 { try await loop.sleep(for: .milliseconds(1)) }
            let thread = try ClientThread(RawClient(host: address, port: await server.port), besides: loop)
            let stage = WebStage(
                loop: loop, store: store, polls: polls,
                source: await store.register(SourceDescription(name: "fact", type: "fact")), server: server,
                thread: thread)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(stage))
            } catch {
                result = .failure(error)
            }
            serving.cancel()
            _ = await serving.result
            thread.stop()
            return try result.get()
        }
    }

    func get(_ target: String, fields: [String] = []) async throws -> WireAnswer {
        try await thread.get(target, fields: fields)
    }

    /// Sends a body, and the fields that are given, to a path.
    func post(_ target: String, _ body: String, fields: [String]) async throws -> WireAnswer {
        try await thread.talk { client in
            let length = ["Connection: close", "Content-Length: \(body.utf8.count)"]
            return try WireAnswer(client.talk(client.request("POST", target, fields: length + fields) + body))
        }
    }

    /// Publishes events of the one source.
    func publish(_ count: Int = 1, text: Int = 0) async {
        let text = text > 0 ? Bytes(repeating: 0x78, count: text) : nil
        let event = Event(time: store.wallTime, source: source, body: .data(Datum(value: 1, text: text)))
        await store.publish(Array(repeating: event, count: count))
    }

    /// Asks as `localhost`, unless a field says otherwise, and closes.
    func ask(_ method: String, _ target: String, _ fields: [String] = []) async throws -> WireAnswer {
        let host = fields.contains { $0.hasPrefix("Host:") } ? [] : ["Host: localhost"]
        return try await talk { client in
            let lines = ["\(method) \(target) HTTP/1.1", "Connection: close"] + host + fields
            return try WireAnswer(client.talk(lines.map { "\($0)\r\n" }.joined() + "\r\n"))
        }
    }

    /// Opens a stream, and reads it until a text has come.
    func stream(_ target: String, _ fields: [String] = [], until text: String) async throws -> WireAnswer {
        try await talk { client in
            let descriptor = try client.connect()
            defer { RawClient.leave(descriptor) }
            let lines = ["GET \(target) HTTP/1.1", "Host: localhost"] + fields
            try client.send(lines.map { "\($0)\r\n" }.joined() + "\r\n", to: descriptor)
            return try WireAnswer(client.receive(from: descriptor, until: text))
        }
    }

    /// Waits until something has come about, looking again and again.
    func wait(for what: String, _ condition: () async -> Bool) async throws {
        let limit = loop.clock.now.advanced(by: .seconds(20))
        while await !condition() {
            guard loop.clock.now < limit else { throw Failure(.timeout, "waited in vain for \(what)") }
            try await loop.sleep(for: .milliseconds(2))
        }
    }

    func talk<Value: Sendable>(_ work: @escaping @Sendable (RawClient) throws -> Value) async throws -> Value {
        try await thread.talk(work)
    }
}

extension WireAnswer {
    var text: String { String(decoding: body, as: UTF8.self) }
}
