import CatAPI
import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct FaultRouterTests {
    static func reply(_ target: String, seed: UInt64 = 1) -> Reply {
        var router = FaultRouter()
        var random = SeededGenerator(seed: seed)
        return router.reply(to: Request("GET", target), using: &random, now: Timestamp(seconds: 784_111_777))
    }

    @Test(arguments: [
        "/fault/", "/fault/nothing", "/fault/status?code=199", "/fault/status?code=1000", "/fault/status?code=x",
        "/fault/delay?delay=-1", "/fault/delay?delay=x", "/fault/delay?delay=", "/fault/delay?delay=5-4",
        "/fault/delay?delay=1-2-3", "/fault/delay?delay=600001", "/fault/drip?every=-1", "/fault/large?bytes=31",
        "/fault/large?bytes=99999999999", "/fault/json", "/fault/json/unheard-of", "/fault/redirect?times=0",
        "/fault/redirect?to=%0D%0ASet-Cookie:%20a=b", "/fault/status?retry-after=%00", "/fault/loop?code=200",
        "/fault/etag?version=-1", "/fault/bomb?bytes=0", "/fault/garbled?encoding=%0A",
    ])
    func misuseIsExplained(target: String) throws {
        let reply = Self.reply(target)
        #expect(reply.answer.status == 400)
        #expect(reply.delivery == .whole && reply.delay == nil)
        #expect(try #require(JSONValue(reply.answer.body))["message"]?.text?.isEmpty == false)
    }

    @Test(
        arguments: [
            ("/fault/delay?delay=0", .zero), ("/fault/delay?delay=250", .milliseconds(250)),
            ("/fault/status?code=503&delay=7-7", .milliseconds(7)), ("/fault/delay", nil),
        ] as [(String, Duration?)])
    func delaysAreAsLongAsSaid(target: String, delay: Duration?) {
        #expect(Self.reply(target).delay == delay)
    }

    @Test func theAnswerBehindAFaultIsThePathsOwn() {
        #expect(Self.reply("/fault/delay/breeds?limit=3").answer == answer("GET", "/breeds?limit=3", host: "localhost"))
        #expect(Self.reply("/fault/drip/facts").answer == answer("GET", "/facts", host: "localhost"))
        #expect(Self.reply("/fault/delay").answer == answer("GET", "/fact", host: "localhost"))
        #expect(Self.reply("/fault/delay/cats").answer.status == 404)
    }

    @Test(
        arguments: [
            ("code=429&retry-after=120", 429, "120"), ("retry-after=soon", 500, "soon"),
            ("code=503&retry-date=0", 503, "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-date=86400", 500, "Mon, 07 Nov 1994 08:49:37 GMT"),
            ("retry-date=167670622", 500, "Mon, 28 Feb 2000 23:59:59 GMT"),
            ("retry-date=-784111777", 500, "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("retry-date=-999999999", 500, "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("retry-date=167670623", 500, "Tue, 29 Feb 2000 00:00:00 GMT"),
            ("retry-date=167757023", 500, "Wed, 01 Mar 2000 00:00:00 GMT"),
            ("retry-date=162573022", 500, "Fri, 31 Dec 1999 23:59:59 GMT"), ("code=204", 204, nil),
        ] as [(String, Int, String?)])
    func statusesComeWithTheirRetryAfter(query: String, status: Int, retryAfter: String?) {
        let answer = Self.reply("/fault/status?\(query)").answer
        #expect(answer.status == status)
        #expect(answer["Retry-After"] == retryAfter)
        #expect(answer.body.isEmpty == (status == 204))
    }

    @Test func aFlakyPathFailsAsOftenAsSaidForEachId() {
        var router = FaultRouter()
        var random = SeededGenerator(seed: 1)
        var statuses: [String: [Int]] = [:]
        for identity in ["a", "b", "a", "a", "b", "a"] {
            let request = Request("GET", "/fault/flaky/breeds?id=\(identity)&fail=2&code=502")
            let reply = router.reply(to: request, using: &random, now: Timestamp(seconds: 0))
            statuses[identity, default: []].append(reply.answer.status)
        }
        #expect(statuses == ["a": [502, 502, 200, 200], "b": [502, 502]])
    }

    @Test func thereIsAnEndToTheIdsOfFlakyPaths() {
        var router = FaultRouter()
        var random = SeededGenerator(seed: 1)
        func status(_ identity: Int) -> Int {
            let request = Request("GET", "/fault/flaky?id=\(identity)")
            return router.reply(to: request, using: &random, now: Timestamp(seconds: 0)).answer.status
        }
        for identity in 0..<10_000 where status(identity) != 503 { Issue.record("\(identity) did not fail") }
        #expect(status(10_000) == 400)
        #expect(status(9_999) == 200)
    }

    @Test func redirectsCountDownAndKeepTheirTarget() {
        var target = "/fault/redirect/breeds?times=3&code=307"
        var hops: [String] = []
        for _ in 0..<3 {
            let answer = Self.reply(target).answer
            #expect(answer.status == 307)
            target = answer["Location"] ?? ""
            hops.append(target)
        }
        #expect(
            hops.map { String($0.prefix { $0 != "?" }) } == [
                "/fault/redirect/breeds", "/fault/redirect/breeds", "/breeds",
            ])
        let away = Self.reply("/fault/redirect?times=2&to=http://h:1/a?b=%2541").answer["Location"] ?? ""
        #expect(Self.reply(away).answer["Location"] == "http://h:1/a?b=%41")
    }

    @Test(
        arguments: [
            (nil, nil, 200), ("\"v1\"", nil, 304), ("W/\"v1\"", nil, 304), ("\"v0\", \"v1\"", nil, 304),
            ("*", nil, 304),
            ("\"v2\"", nil, 200), ("\"v2\"", "Tue, 14 Nov 2023 22:13:21 GMT", 200),
            (nil, "Tue, 14 Nov 2023 22:13:21 GMT", 304), (nil, "Tue, 14 Nov 2023 22:13:20 GMT", 200),
        ] as [(String?, String?, Int)])
    func knownVersionsAreNotSentAgain(tag: String?, date: String?, status: Int) {
        var router = FaultRouter()
        var random = SeededGenerator(seed: 1)
        var request = Request("GET", "/fault/etag")
        request.ifNoneMatch = tag
        request.ifModifiedSince = date
        let answer = router.reply(to: request, using: &random, now: Timestamp(seconds: 0)).answer
        #expect(answer.status == status)
        #expect(answer["ETag"] == "\"v1\"")
        #expect(answer["Last-Modified"] == "Tue, 14 Nov 2023 22:13:21 GMT")
        #expect(answer.body.isEmpty == (status == 304))
    }

    @Test(arguments: [32, 33, 41, 42, 43, 44, 100, 126, 127, 128, 1_000, 1_027, 1_028, 1_029, 100_000])
    func aLargeDocumentHasExactlyTheSizeAndTellsItsLength(size: Int) throws {
        let body = Self.reply("/fault/large?bytes=\(size)").answer.body
        #expect(body.count == size)
        let trimmed = body[...(try #require(body.lastIndex(of: UInt8(ascii: "}"))))]
        let document = try #require(JSONValue(trimmed))
        #expect(document["length"]?.integer == document["fact"]?.text?.count)
        #expect(body.count - trimmed.count <= 2)
    }

    @Test(arguments: [
        ("nan", false), ("infinity", false), ("cut", false), ("trailing", false), ("comma", false), ("blank", false),
        ("nul", false), ("utf8", false), ("bom", false), ("overflow", true), ("big-integer", true), ("duplicate", true),
        ("surrogate", true), ("nul-escape", true), ("control", true), ("quoted", true), ("scalar", true),
        ("array", true), ("null", true), ("missing", true),
    ])
    func hostileDocumentsAreWhatTheTableSays(kind: String, isValid: Bool) {
        let answer = Self.reply("/fault/json/\(kind)").answer
        #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
        #expect((JSONValue(answer.body) != nil) == isValid)
    }
}
