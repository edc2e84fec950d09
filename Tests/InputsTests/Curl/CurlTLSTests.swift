import CatAPI
import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// TLS against `openssl s_server`: what is trusted, and the reason when it is not.
@Suite(.limited) struct CurlTLSTests {
    static func outcome(
        _ certificate: TLSServer.Certificate, wantsClient: Bool = false,
        _ request: @escaping @Sendable (TLSServer) -> HTTPRequest
    ) async throws -> Result<HTTPAnswer, HTTPFailure> {
        let server = try TLSServer(certificate, wantsClient: wantsClient)
        defer { server.stop() }
        return try await withLoop { loop in
            let transport = try CurlTransport(on: loop)
            do throws(HTTPFailure) {
                return .success(try await transport.get(request(server)))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test func anAuthorityFromAFileIsTrusted() async throws {
        let answer = try await Self.outcome(.good) { $0.request() }.get()
        #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == #"{"fact":"Secure."}"#)
        #expect(answer.timing.tls > 0)
    }

    @Test(
        arguments: [
            (.good, nil, ["certificate"]), (.good, "stranger.pem", ["certificate"]),
            (.expired, "authority.pem", ["expired"]), (.otherHost, "authority.pem", ["127.0.0.1", "match"]),
            (.good, "missing.pem", ["missing.pem"]),
        ] as [(TLSServer.Certificate, String?, [String])])
    func whatIsNotTrustedIsATLSFailureWithItsReason(
        certificate: TLSServer.Certificate, authority: String?, words: [String]
    ) async throws {
        let result = try await Self.outcome(certificate) { $0.request(trusting: authority) }
        guard case .failure(let failure) = result else { throw Unexpected() }
        #expect(failure.code == .tls, "\(failure.message)")
        #expect(failure.message.hasPrefix("no secure connection to 127.0.0.1:"), "\(failure.message)")
        for word in words { #expect(failure.message.contains(word), "\(failure.message)") }
    }

    @Test func aClientShowsItsCertificate() async throws {
        let answer = try await Self.outcome(.good, wantsClient: true) { server in
            var request = server.request()
            request.certificate = server.path("client.pem")
            request.key = server.path("client.key")
            return request
        }.get()
        #expect(answer.status == 200)
    }

    @Test(
        arguments: [
            (nil, nil, ["ended the secure connection: tlsv13 alert certificate required"]),
            ("stranger.pem", "stranger.key", ["ended the secure connection: tlsv1 alert unknown ca"]),
            ("client.pem", "good.key", ["key"]), ("missing.pem", "missing.key", ["certificate"]),
        ] as [(String?, String?, [String])])
    func aClientWithoutTheRightCertificateIsToldSo(
        certificate: String?, key: String?, words: [String]
    ) async throws {
        let result = try await Self.outcome(.good, wantsClient: true) { server in
            var request = server.request()
            request.certificate = certificate.map(server.path)
            request.key = key.map(server.path)
            return request
        }
        guard case .failure(let failure) = result else { throw Unexpected() }
        #expect(failure.code == .tls, "\(failure.message)")
        for word in words { #expect(failure.message.contains(word), "\(failure.message)") }
    }

    @Test func plainHTTPWhereTLSIsSpokenAndTheOtherWayAroundFail() async throws {
        let plain = try await Self.outcome(.good) { server in
            HTTPRequest(url: "http://127.0.0.1:\(server.port)/fact")
        }
        #expect(throws: HTTPFailure.self) { try plain.get() }
        try await CurlBench.run { bench in
            let failure = try await bench.failure(HTTPRequest(url: "https://127.0.0.1:\(bench.server.port)/fact"))
            #expect(failure.code == .tls, "\(failure.message)")
        }
    }

    struct Unexpected: Error {}
}
