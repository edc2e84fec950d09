import CatAPI
import TestSupport
import Testing

/// `CatAPI.answer`, with the first seed that comes to mind.
func answer(_ method: String, _ target: String, host: String = "127.0.0.1:8080", seed: UInt64 = 1) -> Answer {
    var random = SeededGenerator(seed: seed)
    return CatAPI.answer(Request(method, target, host: host), using: &random)
}

@Suite(.limited) struct RoutingTests {
    @Test(arguments: [
        "/fact", "/fact/", "//fact", "/fact?", "/fact?max_length=", "/fact?max_length=abc", "/fact?x=1&&=",
    ])
    func aFactHasItsTextAndItsLength(target: String) throws {
        let answer = answer("GET", target)
        #expect(answer.status == 200)
        #expect(answer["Content-Type"] == "application/json")
        let document = try #require(JSONValue(answer.body))
        #expect(document.names == ["fact", "length"])
        let text = try #require(document["fact"]?.text)
        #expect(CatFacts.all.contains { $0.text == text })
        #expect(document["length"]?.integer == text.count)
    }

    @Test func theSameSeedGivesTheSameFacts() {
        var first = SeededGenerator(seed: 7)
        var second = SeededGenerator(seed: 7)
        let request = Request("GET", "/fact")
        let facts = (0..<100).map { _ in CatAPI.answer(request, using: &first).body }
        #expect(facts == (0..<100).map { _ in CatAPI.answer(request, using: &second).body })
        #expect(Set(facts).count > 50)
    }

    @Test(arguments: [40, 45, 60, 100, 150, 500])
    func aFactIsNoLongerThanAskedFor(limit: Int) throws {
        var random = SeededGenerator(seed: UInt64(limit))
        let request = Request("GET", "/fact?max_length=\(limit)")
        var seen: Set<String> = []
        for _ in 0..<400 {
            let document = try #require(JSONValue(CatAPI.answer(request, using: &random).body))
            let text = try #require(document["fact"]?.text)
            #expect(text.count <= limit, "seed \(random.seed)")
            seen.insert(text)
        }
        let possible = CatFacts.all.filter { $0.length <= limit }
        #expect(seen.isSubset(of: possible.map(\.text)))
        if possible.count <= 10 { #expect(seen.count == possible.count, "seed \(random.seed)") }
    }

    @Test(arguments: ["0", "-1", "39", "-9223372036854775808"])
    func noFactIsShortEnough(limit: String) throws {
        let answer = answer("GET", "/fact?max_length=\(limit)")
        #expect(answer.status == 404)
        #expect(try #require(JSONValue(answer.body))["code"]?.integer == 404)
    }

    @Test(arguments: ["/", "", "/facts/1", "/Fact", "/fact%00", "/cats", "*", "/fault/delay"])
    func unknownPathsAreNotFound(target: String) throws {
        for method in ["GET", "POST"] {
            let answer = answer(method, target)
            #expect(answer.status == 404)
            #expect(answer["Content-Type"] == "application/json")
            #expect(try #require(JSONValue(answer.body))["message"]?.text == "Not Found")
        }
    }

    @Test(
        arguments: ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get", "\"B\\REW\""], ["/fact", "/facts", "/breeds"])
    func otherMethodsAreRefused(method: String, path: String) throws {
        let answer = answer(method, path)
        #expect(answer.status == 405)
        #expect(answer["Allow"] == "GET, HEAD")
        #expect(try #require(JSONValue(answer.body))["message"]?.text?.hasPrefix(method) == true)
    }

    @Test func headIsAnsweredLikeGet() {
        #expect(answer("HEAD", "/breeds?page=2") == answer("GET", "/breeds?page=2"))
    }

    @Test(arguments: [
        ("a=1", "a", "1"), ("a=1&a=2", "a", "2"), ("a", "a", ""), ("a=b=c", "a", "b=c"), ("a=%41%62+c", "a", "Ab c"),
        ("a=%", "a", "%"), ("a=%4", "a", "%4"), ("a=%zz", "a", "%zz"), ("%61=1", "a", "1"), ("a=%C3%A9", "a", "é"),
        ("a=%FF", "a", "\u{FFFD}"), ("&&a=1&", "a", "1"),
    ])
    func queriesAreFormDecoded(raw: String, name: String, value: String) {
        #expect(Query(raw[...])[name] == value)
    }

    @Test(
        arguments: [
            ("5", 5), ("+5", 5), ("-5", -5), ("0", 0), ("-0", 0), ("%205%20", 5), ("%09+7", 7), ("007", nil),
            ("5.0", nil),
            ("1e3", nil), ("0x10", nil), ("", nil), ("+", nil), ("-", nil), ("--5", nil), ("5x", nil), ("%D9%A3", nil),
            ("9223372036854775807", Int.max), ("9223372036854775808", nil), ("%20", nil),
        ] as [(String, Int?)])
    func integersAreReadAsPHPReadsThem(text: String, number: Int?) {
        #expect(Query("n=\(text)").integer("n") == number, "\(text)")
    }

    @Test func everyPrefixOfAQueryIsRead() {
        let raw = "page=%32&limit=+5&max_length=%C3%A9&&x%3D=1%"
        for length in 0...raw.count {
            let query = Query(raw.prefix(length))
            let page = ["", "%", "%3", "2"]
            #expect(query["page"] == (length < 4 ? nil : page[min(max(length - 5, 0), 3)]), "\(length)")
            #expect(query.integer("limit") == (length >= 17 ? 5 : nil), "\(length)")
            #expect(query.integer("max_length") == nil)
        }
    }
}
