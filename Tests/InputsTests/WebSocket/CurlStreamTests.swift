import CatAPI
import Feed
import Inputs
import Reactor
import TestSupport
import Testing
import WebSocket

/// Streams and WebSockets through libcurl, over loopback.
@Suite(.limited) struct CurlStreamTests {
    @Test(
        arguments: [
            ("/fault/ws-refused", .status, "answered 403"), ("/fact", .status, "answered 200 and not 101"),
            ("/nothing", .status, "answered 404"),
            ("/fault/ws-refused?code=429&retry-after=7", .rateLimited, "asks for fewer requests"),
            ("/fault/ws-refused?code=302", .redirect, "redirects the handshake (302)"),
            ("/fault/ws-accept", .protocol, "wrong Sec-WebSocket-Accept"),
            ("/fault/ws-extension", .protocol, "chose an extension"),
            ("/fault/ws-subprotocol", .protocol, "chose a subprotocol"),
            ("/fault/ws-large", .tooLarge, "more than 1048576 bytes"),
            ("/fault/ws-utf8", .encoding, "not UTF-8"), ("/fault/ws-text", .notJSON, "in "),
            ("/fault/ws-masked", .protocol, "sent a masked frame"),
            ("/fault/ws-garbage", .protocol, "127.0.0.1"),
            ("/fault/ws-close?code=4000&reason=enough&after=1", .closed, "with 4000: enough"),
            ("/fault/ws-close?code=1005", .protocol, "closed with the code 1005"),
            ("/fault/ws-drop?after=1", .closed, "closed the connection without a word"),
            ("/fault/close", .closed, "closed the connection during the handshake"),
            ("/fault/reset", .reset, "broke"),
        ] as [(String, Failure.Code, String)])
    func faultsAreTold(path: String, code: Failure.Code, words: String) async throws {
        let lines = try await RealSocket.withServer { server, loop in
            let source = try RealSocket.source("ws://127.0.0.1:\(server.port)\(path)")
            return try await RealSocket.lines(of: source, on: loop) { RealSocket.error($0) != nil }
        }
        let error = try #require(RealSocket.error(lines))
        #expect(error.code == code && error.message.contains(words), "\(error.code.rawValue): \(error.message)")
    }

    @Test func silenceIsATimeout() async throws {
        let lines = try await RealSocket.withServer { server, loop in
            var source = try RealSocket.source("ws://127.0.0.1:\(server.port)/fault/ws-silence?after=1")
            source.pingEvery = .milliseconds(50)
            source.pingTimeout = .milliseconds(100)
            return try await RealSocket.lines(of: source, on: loop) { RealSocket.error($0) != nil }
        }
        #expect(RealSocket.error(lines)?.code == .timeout && RealSocket.data(lines).count == AirQuality.cities.count)
    }

    @Test func aServerThatIsNotThereIsAConnectFailure() async throws {
        let lines = try await withLoop { loop in
            let closed = try RawServer(on: loop) { _ in .text("") }
            // Listening, but nobody answers: the deadline ends it.
            var source = try RealSocket.source("ws://127.0.0.1:\(closed.port)/")
            source.request.timeout = .milliseconds(200)
            let silent = try await RealSocket.lines(of: source, on: loop) { RealSocket.error($0) != nil }
            source = try RealSocket.source("ws://127.0.0.1:1/")
            return silent + (try await RealSocket.lines(of: source, on: loop) { RealSocket.error($0) != nil })
        }
        let codes = lines.compactMap { if case .error(let failure) = $0.body { failure.code } else { nil } }
        #expect(codes == [.timeout, .connect])
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{1}\u{2}", "", "HTTP/1.1 101\r\n\r\n", "HTTP/1.1 999 x\r\n\r\n",
    ])
    func plainGarbageIsAProtocolFailure(answer: String) async throws {
        let lines = try await withLoop { loop in
            let server = try RawServer(on: loop) { _ in .text(answer) }
            let source = try RealSocket.source("ws://127.0.0.1:\(server.port)/")
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                let lines = try await RealSocket.lines(of: source, on: loop) { RealSocket.error($0) != nil }
                group.cancelAll()
                return lines
            }
        }
        #expect(RealSocket.error(lines)?.code == (answer.isEmpty ? .closed : .protocol))
    }

    // MARK: The stream itself

    @Test func moreThanTheSocketTakesIsWrittenInTheEnd() async throws {
        try await withLoop { loop in
            let received = LoopBound(Received())
            let server = try RawServer(on: loop) { request in
                received.value.count = request.utf8.count
                return .text("done")
            }
            let transport = try CurlTransport(on: loop)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await server.run() }
                let request = HTTPRequest(url: "http://127.0.0.1:\(server.port)/")
                let (bound, timing) = try await transport.connect(request)
                #expect(timing.total > 0 && timing.tls == 0)
                let stream = bound.value
                let bytes = [UInt8](repeating: 0x61, count: 3 << 20) + Array("\r\n\r\n".utf8)
                try await stream.write(all: bytes)
                var answer: [UInt8] = []
                let buffer = ReadBuffer()
                while true {
                    guard let count = try stream.read(into: buffer.memory) else {
                        try await stream.waitUntilReadable()
                        continue
                    }
                    if count == 0 { break }
                    answer += buffer.memory[..<count]
                }
                #expect(String(decoding: answer, as: UTF8.self) == "done" && received.value.count == bytes.count)
                stream.close()
                stream.close()
                #expect(throws: SystemError.self) { try stream.read(into: buffer.memory) }
                group.cancelAll()
            }
            #expect(transport.underWay == 0)
        }
    }

    private final class Received: @unchecked Sendable { var count = 0 }

    @Test func aConnectionThatIsGivenUpIsClosed() async throws {
        try await withLoop { loop in
            let listener = try RawServer(on: loop) { _ in .text("") }
            let transport = try CurlTransport(on: loop)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // An address that nobody answers from (RFC 5737), unless the network refuses it at once.
                    let failure = await #expect(throws: HTTPFailure.self) {
                        _ = try await transport.connect(HTTPRequest(url: "https://192.0.2.1/"))
                    }
                    #expect([.closed, .connect].contains(failure?.code))
                }
                try await loop.sleep(for: .milliseconds(20))
                group.cancelAll()
                try await group.waitForAll()
            }
            _ = listener
            // One that is dropped without being closed.
            _ = try await transport.connect(HTTPRequest(url: "ws://127.0.0.1:\(listener.port)/"))
            #expect(loop.timerCount <= 1)
        }
    }

    @Test func secureStreamsAreTrustedOrNot() async throws {
        let server = try TLSServer(.good)
        defer { server.stop() }
        try await withLoop { loop in
            let transport = try CurlTransport(on: loop)
            let (bound, timing) = try await transport.connect(server.request())
            #expect(timing.tls > 0)
            let stream = bound.value
            try await stream.write(all: Array("GET /fact HTTP/1.0\r\n\r\n".utf8))
            var answer: [UInt8] = []
            let buffer = ReadBuffer(count: 7)  // less than a TLS record: the rest of it must not be waited for
            while !String(decoding: answer, as: UTF8.self).contains("Secure.") {
                guard let count = try stream.read(into: buffer.memory) else {
                    try await stream.waitUntilReadable()
                    continue
                }
                try #require(count > 0)
                answer += buffer.memory[..<count]
            }
            stream.close()
            let failure = await #expect(throws: HTTPFailure.self) {
                _ = try await transport.connect(server.request(trusting: nil))
            }
            #expect(failure?.code == .tls)
        }
    }
}
