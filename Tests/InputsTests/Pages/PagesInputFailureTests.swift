import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// What an input makes of listings that fail, lie or never end, in virtual time.
@Suite(.limited) struct PagesInputFailureTests {
    typealias Reply = ScriptedTransport.Reply

    @Test func resumesAtThePageThatFailed() async throws {
        let failures: [Int: Reply] = [
            1: .failure(.reset, "broke"), 2: .answer(503, "", headers: HTTPAnswerHeaders(retryAfter: "40")),
            3: .answer(200, "<html>"), 4: .answer(200, "{}"),
        ]
        let feed = try await SimulatedListing.run(try SimulatedListing.source { $0.total = nil }) { number, request in
            failures[number]
                ?? SimulatedListing.page(
                    [number], next: request.url.hasSuffix("breeds") ? #""?page=2""# : "null")
        }
        feed.expectWellFormed()
        #expect(feed.keys == ["0", "5"] && feed.returned != nil && feed.state == .ok)
        #expect(feed.urls == ["http://cats.test/breeds"] + Array(repeating: "http://cats.test/breeds?page=2", count: 5))
        #expect(feed.errors.map(\.code) == [.reset, .status, .notJSON, .pointer])
        #expect(feed.errors.map(\.attempt) == [1, 2, 3, 4])
        #expect(feed.errors.allSatisfy { $0.endpoint == "GET http://cats.test/breeds" })
        for (index, failure) in feed.errors.enumerated() {
            let pause = feed.begun[index + 2] - feed.begun[index + 1]
            let difference = try #require(failure.retryIn) - pause
            #expect(difference < .milliseconds(1) && difference > .milliseconds(-1))
        }
        #expect(feed.begun[3] - feed.begun[2] >= .seconds(40))
        #expect(feed.progress.map(\.page) == [1, 2])
    }

    @Test func beginsAnewWhenALinkHasExpired() async throws {
        let source = try SimulatedListing.source(every: .seconds(10)) { $0.total = nil }
        let feed = try await SimulatedListing.run(source, for: .seconds(1_200)) { number, request in
            guard !request.url.hasSuffix("breeds") else {
                return SimulatedListing.page([1], next: #""?cursor=\#(number)""#)
            }
            return number < 12 ? .answer(410, "") : SimulatedListing.page([2])
        }
        #expect(Set(feed.urls.prefix(11).dropFirst()) == ["http://cats.test/breeds?cursor=0"])
        #expect(feed.urls[11] == "http://cats.test/breeds" && feed.urls[12] == "http://cats.test/breeds?cursor=11")
        #expect(feed.errors.count == 10 && feed.errors.last?.message.contains("begins anew") == true)
        #expect(feed.state == .ok)
    }

    /// What the second page says is next, and what is said of it.
    @Test(
        arguments: [
            (#""/breeds""#, "protocol", "in a circle"), (#""?page=2#x""#, "protocol", "in a circle"),
            ("7", "pointer", "is a number and not a URL"), (#"{"a":1}"#, "pointer", "is an object and not a URL"),
            (#""https://cats.test/breeds""#, "redirect", "at https://cats.test"),
            (#""http://cats.test:81/breeds""#, "redirect", "at http://cats.test:81"),
            (#""//evil.test/x""#, "redirect", "other origins"), (#""file:///etc/passwd""#, "redirect", "not a URL"),
            (#""http://""#, "redirect", "not a URL"), (#""javascript:alert(1)""#, "redirect", "not a URL"),
            (#""/a b\n""#, "redirect", "not a URL"), (#""/a\u0000b""#, "redirect", "not a URL"),
            ("\"/\(String(repeating: "x", count: 9_000))\"", "too_large", "8192"),
        ] as [(String, String, String)])
    func aBadLinkEndsTheRunWithOneError(link: String, code: String, words: String) async throws {
        let feed = try await SimulatedListing.run(try SimulatedListing.source { $0.total = nil }) { number, _ in
            SimulatedListing.page([number], next: number == 0 ? #""?page=2""# : link)
        }
        feed.expectWellFormed()
        #expect(feed.calls.count == 2 && feed.keys == ["0", "1"] && feed.returned == .zero)
        let failure = try #require(feed.errors.first)
        #expect(feed.errors.count == 1 && feed.state == .failing)
        #expect(failure.code.rawValue == code && failure.message.contains(words), "\(failure)")
        #expect(failure.retryIn == nil && failure.endpoint == "GET http://cats.test/breeds")
    }

    @Test func anotherOriginIsFollowedWhenAllowedAndGetsNoSecrets() async throws {
        let source = try SimulatedListing.source {
            $0.followsOtherOrigins = true
            $0.request.headers = ["Authorization: Bearer SECRET"]
        }
        let feed = try await SimulatedListing.run(source) { number, _ in
            let next = [#""http://mirror.test/x""#, #""y""#, #""http://cats.test/z""#, "null"][number]
            return SimulatedListing.page([number], total: 4, next: next)
        }
        #expect(feed.urls.dropFirst() == ["http://mirror.test/x", "http://mirror.test/y", "http://cats.test/z"])
        #expect(feed.calls.map(\.headers.isEmpty) == [false, true, true, false])
        #expect(Set(feed.latencies.map(\.endpoint)) == ["GET http://cats.test/breeds"])
    }

    @Test(arguments: [nil, "https://CATS.test/v2/breeds"])
    func onlyTheFirstPageMayBeRedirectedElsewhere(location: String?) async throws {
        for (allows, pages) in [(false, "next"), (false, "page"), (true, "next")] {
            let source = try SimulatedListing.source(
                paging: pages == "next" ? nil : .counted(parameter: "page", first: 1)
            ) {
                $0.followsOtherOrigins = allows
                $0.total = nil
            }
            let feed = try await SimulatedListing.run(source) { number, _ in
                var reply = SimulatedListing.page(
                    number < 2 ? [number] : [], next: number < 2 ? "\"?\(number)\"" : "null")
                // A link would be looked for where the page came from.
                let other = number == 0 ? location : pages == "page" ? "https://mirror.test/breeds" : nil
                reply.outcome = reply.outcome.map { $0.moved(to: other) }
                return reply
            }
            var origins: Set<String>? = allows ? nil : ["http://cats.test"]
            if location != nil { origins?.insert("https://cats.test") }
            #expect(feed.calls.map(\.origins) == [nil, origins, origins])
        }
    }

    @Test func aListingWithoutEndIsCutOffAtTheCap() async throws {
        let source = try SimulatedListing.source {
            $0.mostPages = 50
            $0.total = nil
        }
        let feed = try await SimulatedListing.run(source) { number, _ in
            SimulatedListing.page([], next: "\"?cursor=\(number)\"")
        }
        #expect(feed.calls.count == 50 && feed.returned != nil)
        #expect(feed.errors.map(\.code) == [.tooLarge])
        #expect(feed.errors.first?.message.contains("behind page 50") == true)
    }

    @Test func aListingThatEndsAtTheCapIsWhole() async throws {
        let feed = try await SimulatedListing.run(try SimulatedListing.source { $0.mostPages = 3 }) { number, _ in
            SimulatedListing.page([number], total: 3, next: number < 2 ? "\"?\(number)\"" : "null")
        }
        #expect(feed.calls.count == 3 && feed.errors.isEmpty)
    }

    @Test func aServerThatDoesNotCountIsNoticed() async throws {
        let source = try SimulatedListing.source(paging: .counted(parameter: "page", first: 1)) { $0.total = nil }
        let feed = try await SimulatedListing.run(source) { _, _ in SimulatedListing.page(1...5) }
        #expect(feed.calls.count == 2 && feed.errors.count == 1)
        #expect(feed.errors.first?.message.contains("parameter \"page\"") == true)
    }

    @Test func aPointerWithAMistakeIsNotTakenForTheEnd() async throws {
        let feed = try await SimulatedListing.run(try SimulatedListing.source()) { _, _ in
            SimulatedListing.page(0..<30, total: 98, next: nil)
        }
        #expect(feed.errors.map(\.code) == [.pointer])
        #expect(feed.errors.first?.message.contains("30 of 98") == true)
    }

    @Test func itemsWithoutAKeyAreLeftOutAndToldOnce() async throws {
        let feed = try await SimulatedListing.run(try SimulatedListing.source { $0.total = nil }) { number, _ in
            let next = number < 3 ? "\"?\(number)\"" : "null"
            return .answer(200, #"{"data":[{"name":"\#(number)"},{"nom":"x"}],"next":\#(next)}"#)
        }
        #expect(feed.keys == ["0", "1", "2", "3"] && feed.errors.count == 1 && feed.calls.count == 4)
        #expect(feed.errors.first?.endpoint == "GET http://cats.test/breeds" && feed.errors.first?.attempt == nil)
        #expect(feed.progress.map(\.done) == [1, 2, 3, 4] && feed.state == .ok)
    }

    @Test func whatAServerSaysAtRandomNeitherCrashesNorNeverEnds() async throws {
        for seed in UInt64(1)...UInt64(LongRun.rounds(short: 6, long: 500)) {
            let source = try SimulatedListing.source(every: .seconds(5)) { $0.mostPages = 7 }
            let feed = try await SimulatedListing.run(source, for: .seconds(300), seed: seed) { number, _ in
                var random = SeededGenerator(seed: seed &* 1_000 &+ UInt64(number))
                let links = [#""?a""#, #""?b""#, #""?\#(number)""#, "null", "3", #""//x.test""#, #""""#]
                let link = links.randomElement(using: &random) ?? "null"
                switch Int.random(in: 0..<9, using: &random) {
                case 0: return .failure(.reset, "broke")
                case 1: return .answer([200, 404, 429, 500].randomElement(using: &random) ?? 200, "{\"data\":")
                case 2: return .answer(200, #"{"data":7,"next":\#(link)}"#)
                default:
                    let count = Int.random(in: 0..<3, using: &random)
                    return SimulatedListing.page(0..<count, total: Int.random(in: -1...5, using: &random), next: link)
                }
            }
            feed.expectWellFormed()
            #expect(feed.mostUnderWay == 1 && feed.returned == nil, "seed \(seed)")
            // Seven pages a run, a run in half a period at the soonest.
            #expect(feed.calls.count <= 7 * 120, "seed \(seed)")
        }
    }
}

extension HTTPAnswer {
    /// The answer as it comes from another URL, after redirects.
    fileprivate func moved(to location: String?) -> HTTPAnswer {
        var answer = self
        answer.location = location
        return answer
    }
}
