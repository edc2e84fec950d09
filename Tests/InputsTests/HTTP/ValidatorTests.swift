import Feed
import Reactor
import TestSupport
import Testing

@testable import Inputs

/// With what an upstream is asked whether its last answer still holds.
@Suite(.limited) struct ValidatorTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            ("\"v1\"", nil, "If-None-Match: \"v1\""), ("W/\"a b~!\"", date, "If-None-Match: W/\"a b~!\""),
            (nil, date, "If-Modified-Since: \(date)"), ("", date, "If-Modified-Since: \(date)"), ("", nil, nil),
            (nil, "", nil), (nil, nil, nil), ("\"a\rX-Evil: 1\"", date, "If-Modified-Since: \(date)"),
            ("\"a\nX-Evil: 1\"", nil, nil), ("\"\u{1}\"", nil, nil), ("\"\u{7F}\"", nil, nil), ("\"\t\"", nil, nil),
            ("\"é\"", date, "If-Modified-Since: \(date)"), (nil, "\(date)\rX-Evil: 1", nil), (nil, "\u{FFFD}", nil),
            ("\"\u{0}\"", nil, nil),
        ] as [(String?, String?, String?)])
    func onlyWhatIsPrintableIsSentBack(etag: String?, lastModified: String?, line: String?) {
        #expect(HTTPAnswerHeaders(etag: etag, lastModified: lastModified).condition == line)
    }

    /// Polls until a server has had so many requests; their heads.
    private func heads(
        of path: String, _ count: Int = 3, answer: @escaping @Sendable (_ origin: String, _ request: String) -> String
    ) async throws -> [String] {
        try await withLoop { loop in
            let other = try RawServer(on: loop) { .text(answer("", $0)) }
            let server = try RawServer(on: loop) { .text(answer(other.origin, $0)) }
            let wall = SystemWallClock()
            let store = EventStore(on: loop, wall: wall, identity: SimulatedFeed.identity)
            let poller = HTTPPoller(
                HTTPSource(
                    SourceDescription(name: "x"), request: HTTPRequest(url: server.origin + path),
                    every: .milliseconds(10)), store: store, polls: PollRequests(on: loop),
                transport: try CurlTransport(on: loop), on: loop, wall: wall)
            return await withTaskGroup(of: Void.self) { group in
                group.addTask { await other.run() }
                group.addTask { await server.run() }
                group.addTask { try? await poller.run() }
                while await server.requests.count < count { try? await loop.sleep(for: .milliseconds(2)) }
                group.cancelAll()
                return Array(await server.requests.prefix(count))
            }
        }
    }

    private static func answer(_ headers: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\(headers)\r\n1"
    }

    @Test(arguments: ["ETag: \"a\rX-Evil: 1\"\r\n", "Last-Modified: a\rX-Evil: 1\r\n"])
    func aCarriageReturnMakesNoHeaderOfTheNextRequest(header: String) async throws {
        let heads = try await heads(of: "/x") { _, _ in Self.answer(header) }
        // libcurl ends a header there, so that at most its beginning is sent back.
        for head in heads { #expect(!head.contains("X-Evil"), "\(head)") }
    }

    @Test(arguments: ["ETag: \"a\u{1}b\"\r\n", "Last-Modified: a\u{1}b\r\n", "ETag: \"é\"\r\n"])
    func whatIsNotPrintableIsNotSentBack(header: String) async throws {
        let heads = try await heads(of: "/x") { _, _ in Self.answer(header) }
        for head in heads { #expect(!head.contains("If-"), "\(head)") }
    }

    @Test func anEmptyTagHidesNoDate() async throws {
        let heads = try await heads(of: "/x") { _, _ in Self.answer("ETag: \r\nLast-Modified: \(Self.date)\r\n") }
        #expect(!heads[0].contains("If-"))
        #expect(heads.dropFirst().allSatisfy { $0.contains("\r\nIf-Modified-Since: \(Self.date)\r\n") })
    }

    @Test func whatAnotherOriginSaysIsNotSentToTheFirst() async throws {
        let heads = try await heads(of: "/x") { origin, _ in
            origin.isEmpty
                ? Self.answer("ETag: \"theirs\"\r\n")
                : "HTTP/1.1 302 x\r\nLocation: \(origin)/y\r\nETag: \"hop\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        }
        for head in heads { #expect(!head.contains("If-"), "\(head)") }
    }

    @Test func aRedirectWithinTheOriginChangesNothing() async throws {
        let heads = try await heads(of: "/x", 4) { _, request in
            request.hasPrefix("GET /x ")
                ? "HTTP/1.1 302 x\r\nLocation: /y\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                : Self.answer("ETag: \"ours\"\r\n")
        }
        #expect(heads.prefix(2).allSatisfy { !$0.contains("If-") })
        #expect(heads.dropFirst(2).allSatisfy { $0.contains("\r\nIf-None-Match: \"ours\"\r\n") })
    }
}
