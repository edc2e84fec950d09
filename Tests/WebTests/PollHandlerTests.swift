import Feed
import Reactor
import TestSupport
import Testing

@testable import Web

/// Polling by HTTP, over a real server.
@Suite(.limited)
struct PollHandlerTests {
    private static let json = "Content-Type: application/json"

    /// What the sources of a polls were asked for. Unchecked: on the loop only.
    private final class Asked: @unchecked Sendable {
        var requests: [String] = []
    }

    private static func run(_ body: @escaping @Sendable (WebStage, Asked) async throws -> Void) async throws {
        try await WebStage.run { stage in
            let asked = Asked()
            for name in ["fact", "ä.b"] {
                await stage.polls.allowPolling(of: name) { request in
                    if let refusal = request.refusal(by: name) { return refusal }
                    asked.requests.append(name)
                    return nil
                }
            }
            await stage.polls.allowPolling(of: "fibonacci") { request in
                if request.n == 7 { return PollRefusal("too many runs wait already", .busy) }
                asked.requests.append("fibonacci \(request.n ?? -1)")
                return nil
            }
            try await body(stage, asked)
        }
    }

    @Test func asksTheSourceAndSaysSo() async throws {
        try await Self.run { stage, asked in
            for (path, body, type) in [
                ("fact", "", Self.json), ("f%61ct", " {} ", "content-type: Application/JSON; charset=utf-8"),
                ("%C3%a4.b", "{}", Self.json), ("fibonacci", #"{"n":500}"#, Self.json),
                ("fibonacci", "\r\n", Self.json), ("fact?x=1", "", Self.json),
                ("fact", String(repeating: " ", count: 1_024), Self.json),
            ] {
                let answer = try await stage.post("/poll/\(path)", body, fields: [type])
                #expect(answer.status == 202, "\(path) \(answer.text)")
                #expect(answer.fields["content-type"] == "application/json")
                #expect(answer.fields["cache-control"] == "no-store")
            }
            #expect(asked.requests == ["fact", "fact", "ä.b", "fibonacci 500", "fibonacci -1", "fact", "fact"])
            let answer = try await stage.post("/poll/%C3%A4.b", "", fields: [Self.json])
            #expect(answer.text == "{\"source\":\"ä.b\"}\n")
        }
    }

    @Test(arguments: [
        ("/poll/other", "", 404, #"{"reason":"there is no source \"other\" that can be polled"}"#),
        ("/poll/a%2F%22%0Ab", "", 404, #"{"reason":"there is no source \"a/\"\nb\" that can be polled"}"#),
        ("/poll/fact/x", "", 404, #"{"reason":"there is no source \"fact/x\" that can be polled"}"#),
        ("/poll/fact", #"{"n":1}"#, 400, #"{"reason":"the source \"fact\" takes no \"n\""}"#),
        ("/poll/fibonacci", #"{"n":7}"#, 429, #"{"reason":"too many runs wait already"}"#),
        (
            "/poll/fibonacci", #"{"n":100001}"#, 400,
            #"{"reason":"\"n\" takes a whole number from 0 to 100000, in digits"}"#
        ),
        (
            "/poll/fibonacci", #"{"n":1e2}"#, 400,
            #"{"reason":"\"n\" takes a whole number from 0 to 100000, in digits"}"#
        ),
        (
            "/poll/fibonacci", #"{"n":null}"#, 400,
            #"{"reason":"\"n\" takes a whole number from 0 to 100000, in digits"}"#
        ),
        ("/poll/fibonacci", #"{"n":1,"n":1}"#, 400, #"{"reason":"\"n\" stands there twice"}"#),
        ("/poll/fibonacci", #"{"poll":"fact"}"#, 400, #"{"reason":"a request to poll has no \"poll\""}"#),
        ("/poll/fact", "[]", 400, #"{"reason":"a request is a JSON object"}"#),
        ("/poll/fact", "{", 400, nil), ("/poll/fact", "{}\u{0}", 400, nil),
        (
            "/poll/fact", String(repeating: " ", count: 1_025), 413,
            #"{"reason":"a body has 1024 bytes at the most"}"#
        ),
        ("/poll/", "", 400, nil), ("/poll/%", "", 400, nil), ("/poll/%4", "", 400, nil), ("/poll/%+1", "", 400, nil),
        ("/poll/%zz", "", 400, nil), ("/poll/%ff", "", 400, nil), ("/poll/%ED%A0%80", "", 400, nil),
        ("/poll/" + String(repeating: "a", count: 257), "", 400, nil),
        ("/poll/" + String(repeating: "a", count: 256), "", 404, nil),
    ])
    func refusesWithAReason(_ target: String, _ body: String, _ status: Int, _ text: String?) async throws {
        try await Self.run { stage, asked in
            let answer = try await stage.post(target, body, fields: [Self.json])
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.text.hasPrefix("{\"reason\":\"") && answer.text.hasSuffix("\"}\n"), "\(answer.text)")
            if let text { #expect(answer.text == text + "\n") }
            #expect((answer.fields["retry-after"] != nil) == (status == 429))
            #expect(asked.requests.isEmpty)
        }
    }

    @Test func wantsJSON() async throws {
        try await Self.run { (stage, asked) async throws -> Void in
            for fields in [
                [], ["Content-Type: text/plain"], ["Content-Type: application/x-www-form-urlencoded"],
                ["Content-Type: application/json, text/plain"], ["Content-Type: text/plain; application/json"],
                ["Content-Type: application/jsonp"], ["Content-Type:"], [Self.json, "Content-Type: text/plain"],
            ] {
                #expect(try await stage.post("/poll/fact", "", fields: fields).status == 415, "\(fields)")
            }
            #expect(try await stage.get("/poll/fact").status == 405)
            #expect(try await stage.get("/poll/fact").fields["allow"] == "POST")
            #expect(asked.requests.isEmpty)
        }
    }

    /// Who may is held against by the guard; that it stands in front of this is held here.
    @Test(arguments: [
        ([], 202), (["Origin: http://cats.test"], 202), (["Origin: http://cats.test:80"], 202),
        (["Sec-Fetch-Site: same-origin"], 202), (["Sec-Fetch-Site: same-origin", "Origin: https://cats.test"], 202),
        (["Sec-Fetch-Site: cross-site"], 403), (["Sec-Fetch-Site: same-site", "Origin: http://cats.test"], 403),
        (["Sec-Fetch-Site: cross-site", "Origin: http://cats.test"], 403), (["Origin: http://evil.test"], 403),
        (["Origin: http://cats.test:8080"], 403), (["Origin: null"], 403), (["Origin:"], 403),
        (["Origin: http://cats.test", "Origin: http://evil.test"], 403), (["Origin: http://cats.test.evil.test"], 403),
    ])
    func isNotForOtherSitesPages(_ fields: [String], _ status: Int) async throws {
        try await Self.run { stage, asked in
            let answer = try await stage.post("/poll/fact", "{}", fields: [Self.json] + fields)
            #expect(answer.status == status, "\(answer.text)")
            #expect(asked.requests.isEmpty == (status != 202))
        }
    }

    @Test func isPassedOnToAnAttachedAgent() async throws {
        try await WebStage.run(isRelay: true) { stage in
            let asked = Asked()
            await stage.polls.forwardPolls { source, request in
                if source == "away" { return PollRefusal("the agent is not there", .away) }
                asked.requests.append("\(source) \(request.n ?? -1)")
                return nil
            }
            #expect(try await stage.post("/poll/whatever", #"{"n":3}"#, fields: [Self.json]).status == 202)
            let away = try await stage.post("/poll/away", "", fields: [Self.json])
            #expect(away.status == 503 && away.fields["retry-after"] == "1")
            #expect(away.text == "{\"reason\":\"the agent is not there\"}\n")
            #expect(asked.requests == ["whatever 3"])
        }
    }
}
