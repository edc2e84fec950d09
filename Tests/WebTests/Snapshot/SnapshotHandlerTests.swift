import Feed
import Reactor
import TestSupport
import Testing

@testable import HTTPServer
@testable import Web

/// Who gets which snapshot, and how much of the log that holds, in virtual time.
@Suite(.limited)
struct SnapshotHandlerTests {
    /// A handler and the streams that it has answered with. Unchecked: on the loop only.
    private final class Server: @unchecked Sendable {
        let handler: SnapshotHandler

        init(_ loop: EventLoop, isRelay: Bool = false) {
            let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_763_787_780))
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "r", version: "1", started: wall.now),
                isRelay: isRelay)
            handler = SnapshotHandler(
                WebContext(store: store, polls: PollRequests(on: loop), on: loop, WebSettings()))
        }

        func get() -> HTTPResponse {
            handler.response(to: HTTPRequest(method: "GET", target: "/snapshot", fields: [], body: []), below: "")
        }

        func stream() -> HTTPStream? {
            let response = get()
            guard response.status == 200, case .stream(let stream) = response.body else {
                return nil
            }
            return stream
        }
    }

    private static func rest(of stream: HTTPStream) -> String? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 10_000)
        while true {
            switch buffer.withUnsafeMutableBytes({ stream.next(into: $0, at: bytes.count) }) {
            case .bytes(let count): bytes += buffer[..<count]
            case .end: return String(decoding: bytes, as: UTF8.self)
            case .nothingNow, .broken: return nil
            }
        }
    }

    @Test func noMoreThanTwoAreHeld() async throws {
        try await withLoop(virtual: true) { loop in
            let server = Server(loop)
            let first = try #require(server.stream())
            let beside = try #require(server.stream())
            try await loop.sleep(for: .seconds(1))
            let second = try #require(server.stream())
            try await loop.sleep(for: .seconds(1))
            let refusal = server.get()
            #expect(refusal.status == 503 && refusal.fields.contains(HTTPField("Retry-After", "5")))
            // One of two who have the first one has it still.
            first.finish(isComplete: true)
            #expect(server.get().status == 503)
            beside.finish(isComplete: false)
            let third = try #require(server.stream())
            #expect(Self.rest(of: third) != nil && Self.rest(of: second) != nil)
            try await loop.sleep(for: .seconds(1))
            #expect(server.get().status == 503)
        }
    }

    @Test func whoTakesTooLongIsCutOff() async throws {
        try await withLoop(virtual: true) { loop in
            let server = Server(loop)
            let stream = try #require(server.stream())
            var buffer = [UInt8](repeating: 0, count: 100)
            func step() -> HTTPStream.Step { buffer.withUnsafeMutableBytes { stream.next(into: $0, at: 0) } }
            try await loop.sleep(for: .milliseconds(299_999))
            guard case .bytes(100) = step() else {
                Issue.record("cut off early")
                return
            }
            try await loop.sleep(for: .milliseconds(1))
            guard case .broken(byReset: false) = step() else {
                Issue.record("not cut off")
                return
            }
        }
    }

    @Test func thereIsNoneBeforeTheAgentIsThere() async throws {
        try await withLoop(virtual: true) { loop in
            let refusal = Server(loop, isRelay: true).get()
            #expect(refusal.status == 503 && refusal.fields.contains(HTTPField("Retry-After", "1")))
        }
    }

    @Test func comesAsAFileOverTheWire() async throws {
        try await WebStage.run { stage in
            let text = Bytes("</script>".utf8)
            let event = Event(
                time: stage.store.wallTime, source: stage.source, body: .data(Datum(value: 1, text: text)))
            await stage.store.publish(Array(repeating: event, count: 10_000))
            let answer = try await stage.get("/snapshot")
            #expect(answer.status == 200 && answer.fields["content-type"] == "text/html; charset=utf-8")
            let disposition = try #require(answer.fields["content-disposition"])
            #expect(disposition.hasPrefix("attachment; filename=\"catwatch-wire-test-20"))
            #expect(disposition.hasSuffix("Z.html\"") && answer.fields["cache-control"] == "no-store")
            let lines = answer.text.split(separator: "\n").filter { $0.hasPrefix("{") }
            #expect(lines[0].hasPrefix("{\"type\":\"hello\""))
            // Besides, a window may close at any time.
            let events = lines.filter { $0.hasSuffix(#""value":1,"text":"\u003c/script>"}"#) }
            #expect(events.count == 10_000, "\(lines.last ?? "")")
            // The head alone is made and let go of.
            for _ in 0..<3 {
                let head = try await stage.talk { client in
                    try client.talk(client.request("HEAD", "/snapshot", fields: ["Connection: close"]))
                }
                #expect(head.text.hasPrefix("HTTP/1.1 200") && head.text.hasSuffix("\r\n\r\n"))
            }
        }
    }
}
