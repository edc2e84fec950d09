import Feed
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct SourceNameTests {
    private func names(_ urls: String...) throws -> [String] {
        var parsed: [FeedURL] = []
        for url in urls { parsed.append(try FeedURL(url)) }
        return Self.names(for: parsed)
    }

    private static func names(for urls: [FeedURL]) -> [String] {
        var register = SourceName.Register()
        return urls.map { register.name(SourceName.base(for: $0)) }
    }

    @Test(arguments: [
        ("https://catfact.ninja/fact", "fact"), ("http://h/a/b.json?x=/y", "b.json"), ("http://h/a/", "a"),
        ("http://h.example:81", "h.example"), ("http://h/", "h"), ("http://h//", "h"), ("http://h/a%20b", "a-20b"),
        ("http://h/a:b,c", "a-b-c"), ("http://h/...", "h"), ("http://[::1]/", "---1-"), ("http://h/ä", "-C3-A4"),
        ("http://h/stats", "stats-2"), ("http://h/hello", "hello-2"), ("http://h/catwatch", "catwatch-2"),
        ("http://h/Stats", "Stats"), ("http://gap/", "gap-2"),
    ])
    func isTheLastComponentOrTheHost(_ url: String, _ expected: String) throws {
        #expect(try names(url) == [expected])
    }

    @Test func numbersWhatIsTaken() throws {
        #expect(try names("http://a/x", "http://b/x", "http://c/x") == ["x", "x-2", "x-3"])
        #expect(try names("http://a/x", "http://a/x-2", "http://a/x") == ["x", "x-2", "x-3"])
        #expect(try names("http://a/x", "http://a/x", "http://a/x-2") == ["x", "x-2", "x-2-2"])
        #expect(try names("http://a/error", "http://a/error") == ["error-2", "error-3"])
    }

    @Test func refusesNoReservedTypeAndGivesNoNameTwice() throws {
        var urls: [FeedURL] = []
        for name in ReservedNames.all.sorted() + ["a", "a", "a-2", "a-2"] {
            for _ in 0..<5 { urls.append(try FeedURL("http://h/\(name)")) }
        }
        let names = Self.names(for: urls)
        #expect(names.count == urls.count)
        #expect(Set(names).count == names.count)
        #expect(ReservedNames.all.isDisjoint(with: names))
    }

    @Test func staysShortAndQuickForManyAlike() throws {
        let long = try FeedURL("http://h/" + String(repeating: "x", count: 5_000))
        #expect(Self.names(for: [long])[0].count == SourceName.maximumLength)
        let many = Self.names(for: Array(repeating: try FeedURL("http://h/x"), count: 2_000))
        #expect(many.last == "x-2000")
    }
}
