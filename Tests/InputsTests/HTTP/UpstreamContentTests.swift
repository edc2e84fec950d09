import CatAPI
import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// What a poller makes of what an upstream says: one event, or one error line that explains itself.
@Suite(.limited) struct UpstreamContentTests {
    /// Polls what the stand-in's fault polls answers, and in between a good document.
    static func poll(
        _ target: String, value: String? = "/length", text: String? = "/fact"
    ) async throws -> SimulatedFeed {
        let source = try SimulatedFeed.source(value: value, text: text)
        return try await SimulatedFeed.run(source, for: .seconds(20)) { number, _ in
            guard number == 0 else { return .answer(200, #"{"fact":"It goes on.","length":11}"#) }
            var polls = FaultRouter()
            var random = SeededGenerator(seed: 1)
            let reply = polls.reply(to: Request("GET", target), using: &random, now: SimulatedFeed.wallStart)
            let headers = HTTPAnswerHeaders(
                retryAfter: reply.answer["Retry-After"], contentType: reply.answer["Content-Type"])
            return .answer(reply.answer.status, String(decoding: reply.answer.body, as: UTF8.self), headers: headers)
        }
    }

    /// The one error, after which everything goes on.
    static func oneError(
        _ feed: SimulatedFeed, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Failure {
        feed.expectWellFormed(sourceLocation: sourceLocation)
        #expect(feed.errors.count == 1, sourceLocation: sourceLocation)
        #expect(feed.data.count == feed.calls.count - 1 && feed.data.count >= 10, sourceLocation: sourceLocation)
        #expect(feed.data.allSatisfy { $0.text == "It goes on." }, sourceLocation: sourceLocation)
        #expect(feed.latencies.count == feed.calls.count, sourceLocation: sourceLocation)
        return try #require(feed.errors.first, sourceLocation: sourceLocation)
    }

    @Test(
        arguments: [
            ("nan", "not JSON at byte 33"), ("infinity", "not JSON at byte"), ("leading-zero", "must not start with 0"),
            ("deep", "nested deeper than"), ("nul", "byte 0x00 in a string"),
            ("comma", "',' where a value"), ("cut", "it ends where a closing quote should be"),
            ("trailing", "'{' after the end"), ("blank", "there is nothing there"),
        ] as [(String, String)])
    func whatIsNotJSONIsExplained(kind: String, words: String) async throws {
        let failure = try Self.oneError(try await Self.poll("/fault/json/\(kind)"))
        #expect(failure.code == .notJSON)
        #expect(failure.message.contains(words), "\(failure.message)")
        #expect(failure.message.hasPrefix("not JSON at byte "))
    }

    @Test func onlyAByteOrderMarkAtTheStartIsPassedOver() async throws {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let bodies = [
            mark + mark + Array("1".utf8), mark + Array("[1,]".utf8), mark, mark.dropLast() + Array("{}".utf8),
        ]
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(60)) { number, _ in
            guard number < bodies.count else { return .answer(200, "7") }
            return ScriptedTransport.Reply(outcome: .success(HTTPAnswer(status: 200, body: bodies[number])))
        }
        // Offsets are the body's, with the mark.
        let offsets = [3, 6, 3, 0]
        #expect(feed.errors.count == offsets.count && feed.errors.allSatisfy { $0.code == .notJSON })
        for (failure, offset) in zip(feed.errors, offsets) {
            #expect(failure.message.hasPrefix("not JSON at byte \(offset):"), "\(failure.message)")
        }
        #expect(feed.data.first?.value == 7)
    }

    @Test(arguments: [0, 99, 600, 999, -1])
    func aStatusThatThereIsNoneOfIsAFaultAndNoAnswer(status: Int) async throws {
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(20)) { number, _ in
            switch number {
            case 0: .answer(status, #"{"fact":"a","length":1}"#)
            case 1:
                ScriptedTransport.Reply(
                    outcome: .failure(HTTPFailure(.timeout, "too slow", begun: (status, HTTPTiming()))))
            default: .answer(number == 2 ? 599 : 200, "7")
            }
        }
        feed.expectWellFormed()
        #expect(feed.errors.map(\.code) == [.protocol, .timeout, .status])
        #expect(feed.errors[0].message == "cats.test answered \(status), which is no status of HTTP")
        #expect(feed.latencies.map(\.status).first == 599 && feed.latencies.count == feed.calls.count - 2)
        #expect(feed.data.count == feed.calls.count - 3)
    }

    @Test func bytesThatAreNotUTF8AreRefused() async throws {
        var body = Array(#"{"fact":""#.utf8)
        body += [0xC3, 0x28]
        body += Array(#"","length":2}"#.utf8)
        let bytes = body
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(), for: .seconds(20)) { number, _ in
            guard number == 0 else { return .answer(200, #"{"fact":"It goes on.","length":11}"#) }
            return ScriptedTransport.Reply(outcome: .success(HTTPAnswer(status: 200, body: bytes)))
        }
        let failure = try Self.oneError(feed)
        #expect(failure.code == .notJSON && failure.message == "not JSON at byte 10: invalid UTF-8")
    }

    @Test(
        arguments: [
            ("/fault/status?code=500", "status", "500 (internal server error)"),
            ("/fault/status?code=404", "status", "404 (not found)"),
            ("/fault/status?code=401", "status", "a token may be missing"),
            ("/fault/status?code=403", "status", "403 (forbidden)"),
            ("/fault/status?code=418", "status", "answered 418"),
            ("/fault/status?code=503&retry-after=2", "status", "503 (service unavailable)"),
            ("/fault/status?code=429", "rate_limited", "fewer requests (429)"),
            ("/fault/status?code=302", "status", "302 (a redirect without a usable target)"),
            ("/fault/no-content", "not_json", "204 with an empty body"),
            ("/fault/empty", "not_json", "200 with an empty body"),
            ("/fault/html", "not_json", "as in HTML (the answer is text/html)"),
        ] as [(String, String, String)])
    func statusesAndWrongContentAreExplained(target: String, code: String, words: String) async throws {
        let failure = try Self.oneError(try await Self.poll(target))
        #expect(failure.code.rawValue == code)
        #expect(failure.message.contains(words), "\(failure.message)")
        #expect(failure.attempt == 1 && (failure.retryIn ?? .zero) > .zero)
    }

    @Test func secretsOfTheURLAreInNoLine() async throws {
        let url = "https://user:SECRET@cats.test/fact?api_key=SECRET#SECRET"
        let feed = try await SimulatedFeed.run(try SimulatedFeed.source(url), for: .seconds(30)) { number, _ in
            switch number % 4 {
            case 0: .answer(500, "SECRET")
            case 1: .answer(200, "<html>")
            case 2: .answer(302, "")
            default: .answer()
            }
        }
        #expect(feed.errors.count > 2 && feed.data.count > 1)
        for text in feed.texts { #expect(!text.contains("SECRET"), "\(text)") }
    }
}
