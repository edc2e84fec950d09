import CatAPI
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
