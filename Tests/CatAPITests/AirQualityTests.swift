import CatAPI
import Glibc
import Reactor
import TestSupport
import Testing
import WebSocket

@Suite(.limited) struct AirQualityTests {
    @Test func walksThroughAllBands() {
        var air = AirQuality(seed: 11)
        var seen: Set<Int> = []
        var before = air.values
        for _ in 0..<LongRun.rounds(short: 1_500, long: 50_000) {
            air.advance()
            #expect(zip(air.values, before).allSatisfy { abs($0 - $1) <= 11 && (0...500).contains($0) })
            before = air.values
            seen.formUnion(air.values.map { value in AirQuality.bands.firstIndex { $0.contains(value) } ?? -1 })
        }
        #expect(seen == Set(AirQuality.bands.indices))
    }

    // MARK: The server

    private static let fields = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="

    @Test(
        arguments: [
            ([], "/aqi", 426), (Array(fields[1...]) + [key], "/aqi", 426), (fields, "/aqi", 400),
            ([fields[0], fields[1], key, "Sec-WebSocket-Version: 8"], "/aqi", 426),
            (fields + [key], "/aqi?rate=0", 400), (fields + [key], "/aqi?rate=10001", 400),
            (fields + [key], "/fault/ws-close?after=x", 400), (fields + [key], "/fault/ws-nothing", 400),
            (fields + [key], "/fault/ws-refused", 403),
        ] as [([String], String, Int)])
    func refusesWhatIsNoHandshake(fields: [String], path: String, status: Int) async throws {
        try await ServerUnderTest.run { test in
            // One field, since the client's own would be looked at and no other.
            let connection = fields.contains(Self.fields[1]) ? "Connection: close, Upgrade" : "Connection: close"
            let sent = fields.filter { $0 != Self.fields[1] } + [connection]
            let answer = try await test.talk { try WireAnswer($0.talk($0.request("GET", path, fields: sent))) }
            #expect(answer.status == status, "\(path)")
        }
    }

    @Test func answersAHandshakeAndStopsCleanly() async throws {
        try await withLoop { loop in
            let server = try CatAPIServer(loop: loop, seed: 1)
            var streams: [any ByteStream] = []
            let addresses = try SocketAddress.resolve(host: "127.0.0.1", port: server.port)
            for index in 0..<3 {
                let stream = try await StreamSocket.connected(to: addresses, on: loop)
                let head = ["GET /aqi?rate=100 HTTP/1.1", "Host: x"] + Self.fields + [Self.key, "", ""]
                try await stream.write(all: Array(head.joined(separator: "\r\n").utf8))
                let bytes = try await Self.read(stream, until: 2_000)
                var answer = HandshakeAnswer(key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: [])
                let (outcome, left) = Self.take(bytes, &answer)
                #expect(outcome == .accepted(subprotocol: nil) && left > 0)
                streams.append(stream)
                // One leaves without a word.
                if index == 0 { stream.close() }
            }
            while await server.webSocketCount > 2 { try await loop.sleep(for: .milliseconds(5)) }
            #expect(await server.webSocketCount == 2)
            await server.stop()
            #expect(await server.webSocketCount == 0)
            for stream in streams.dropFirst() {
                let rest = try await Self.read(stream, until: .max)
                #expect(rest.suffix(4) == [0x88, 0x02, 0x03, 0xE9])
                stream.close()
            }
        }
    }

    private static func take(
        _ bytes: [UInt8], _ answer: inout HandshakeAnswer
    ) -> (HandshakeAnswer.Outcome?, Int) {
        bytes.withUnsafeBytes { bytes in
            var input = bytes
            let outcome = try? answer.next(from: &input)
            return (outcome, input.count)
        }
    }

    /// Reads so many bytes at least, or all there are until the end.
    private static func read(_ stream: any ByteStream, until count: Int) async throws -> [UInt8] {
        let buffer = ReadBuffer()
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let read = try stream.read(into: buffer.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            if read == 0 { break }
            bytes += buffer.memory[..<read]
        }
        return bytes
    }

    @Test func whatIsNoFaultIsNotServedWithoutLeave() async throws {
        try await ServerUnderTest.run(faults: false) { test in
            let answer = try await test.get("/fault/ws-close", fields: Self.fields + [Self.key])
            #expect(answer.status == 404)
        }
    }
}
