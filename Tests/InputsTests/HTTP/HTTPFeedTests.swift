import Feed
import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct HTTPFeedTests {
    private static func text(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false).map(
            String.init)
    }

    @Test(arguments: [
        ("http://web2:2287", ""), ("http://web2:2287/", ""), ("http://web2:2287/feed", ""),
        ("http://web2:2287/agents/web2", "/agents/web2"), ("http://web2:2287/agents/web2/feed/", "/agents/web2"),
    ])
    func whatItAsksStandsBelowTheAgentsOwnPath(url: String, path: String) throws {
        var request = HTTPRequest(url: url)
        request.headers = ["Authorization: Bearer secret"]
        let target = try #require(WebSocketTarget(url: url))
        let feed = Self.text(HTTPFeed.head(of: request, target, FeedResumption(behind: LineID("r1", 41))))
        #expect(feed.first == "GET \(path)/feed?since=41&run=r1 HTTP/1.0")
        #expect(feed.contains("Authorization: Bearer secret") && feed.suffix(2) == ["", ""])
        let poll = Self.text(HTTPFeed.poll("é/a b?", PollRequest(n: 500), by: request, target))
        #expect(poll.first == "POST \(path)/poll/%C3%A9%2Fa%20b%3F HTTP/1.0")
        #expect(poll.contains("Authorization: Bearer secret") && poll.contains("Content-Type: application/json"))
        #expect(poll.contains("Content-Length: 9") && poll.suffix(2) == ["", #"{"n":500}"#])
        let plain = Self.text(HTTPFeed.poll("fact", PollRequest(), by: request, target))
        #expect(plain.contains("Content-Length: 2") && plain.last == "{}")
    }

    @Test(arguments: [
        ("", nil, nil), ("", "own", "Basic b3duOnNlY3JldA=="), ("a:b@", nil, "Basic YTpi"),
        ("a:b@", "own", "Basic b3duOnNlY3JldA=="),
    ])
    func sendsOneAuthorizationField(inURL: String, own: String?, basic: String?) throws {
        let url = "http://\(inURL)web2:2287"
        for header in [nil, "Authorization: Bearer secret", "authorization:Bearer secret"] {
            var request = HTTPRequest(url: url)
            request.headers = header.map { [$0] } ?? []
            request.credentials = own.map { HTTPRequest.Credentials(name: $0, password: "secret") }
            let target = try #require(WebSocketTarget(url: url))
            let fields = Self.text(HTTPFeed.head(of: request, target, nil)).filter {
                $0.lowercased().hasPrefix("authorization:")
            }
            #expect(fields == (header ?? basic.map { "Authorization: \($0)" }).map { [$0] } ?? [])
        }
    }
}
