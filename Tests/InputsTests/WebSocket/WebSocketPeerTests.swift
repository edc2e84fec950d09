import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// Against a server that is not ours: `websockets`, from PyPI.
@Suite(.limited, .enabled(if: RealSocket.python != nil)) struct WebSocketPeerTests {
    @Test(arguments: ["/aqi", "/binary", "/fragments"])
    func messagesComeThrough(path: String) async throws {
        try await RealSocket.withPython { origin, loop in
            var source = try RealSocket.source(origin + path)
            source.pingEvery = .milliseconds(50)
            // Long enough for the server's pings, which it insists on being answered.
            let lines = try await RealSocket.lines(of: source, on: loop) {
                RealSocket.data($0).count >= 60 && RealSocket.latency($0, "PING") != nil
            }
            #expect(RealSocket.error(lines) == nil)
            #expect(Set(RealSocket.data(lines).map(\.series)) == ["aqi/Delhi", "aqi/Pune"])
            #expect(RealSocket.latency(lines)?.status == 101)
        }
    }

    @Test func whatIsSentArrivesAsItWas() async throws {
        try await RealSocket.withPython { origin, loop in
            for size in [0, 125, 126, 65_535, 65_536, 300_000] {
                var source = try RealSocket.source(origin + "/echo")
                let name = String(repeating: "ö", count: size / 2)
                source.subscribe = #"[{"city":"x","aqi":1,"name":"\#(name)"}]"#
                let lines = try await RealSocket.lines(of: source, on: loop) { !RealSocket.data($0).isEmpty }
                let data = try #require(RealSocket.data(lines).first?.data)
                #expect(data.count == size / 2 * 2 + #"{"city":"x","aqi":1,"name":""}"#.utf8.count)
            }
        }
    }

    @Test func subprotocolsAreAgreedOn() async throws {
        try await RealSocket.withPython { origin, loop in
            var source = try RealSocket.source(origin + "/subprotocol")
            source.subprotocols = ["aqi.v2", "aqi.v1"]
            let lines = try await RealSocket.lines(of: source, on: loop) { !RealSocket.data($0).isEmpty }
            #expect(RealSocket.data(lines).first?.series == "aqi/aqi.v1")
        }
    }

    @Test(
        arguments: [
            ("/secret", .status, "answered 401"), ("/unavailable", .status, "answered 503"),
            ("/redirect", .redirect, "redirects the handshake (302)"),
            ("/close?code=4001&reason=over", .closed, "with 4001: over"),
            ("/close?code=1012", .closed, "with 1012 (service restart)"),
            ("/large?bytes=2000000", .tooLarge, "more than 1048576 bytes"),
        ] as [(String, Failure.Code, String)])
    func refusalsAndEndsAreTold(path: String, code: Failure.Code, words: String) async throws {
        try await RealSocket.withPython { origin, loop in
            let source = try RealSocket.source(origin + path)
            let lines = try await RealSocket.lines(of: source, on: loop) { RealSocket.error($0) != nil }
            let error = try #require(RealSocket.error(lines))
            #expect(
                error.code == code && error.message.contains(words), "\(path): \(error.code.rawValue): \(error.message)"
            )
            if path == "/unavailable" { #expect((error.retryIn ?? .zero) >= .seconds(29)) }
        }
    }

    @Test func aDroppedConnectionIsMadeAgain() async throws {
        try await RealSocket.withPython { origin, loop in
            let source = try RealSocket.source(origin + "/drop")
            let lines = try await RealSocket.lines(of: source, on: loop) { RealSocket.data($0).count >= 6 }
            let code = try #require(RealSocket.error(lines)?.code)
            #expect([.reset, .closed].contains(code))
        }
    }

    @Test func credentialsAreSent() async throws {
        try await RealSocket.withPython { origin, loop in
            var source = try RealSocket.source(origin + "/secret")
            source.request.credentials = HTTPRequest.Credentials(name: "user", password: "pa55")
            let lines = try await RealSocket.lines(of: source, on: loop) { !RealSocket.data($0).isEmpty }
            #expect(RealSocket.error(lines) == nil)
        }
    }
}
