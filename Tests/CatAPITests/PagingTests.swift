import CatAPI
import TestSupport
import Testing

@Suite(.limited) struct PagingTests {
    static let fields = [
        "current_page", "data", "first_page_url", "from", "last_page", "last_page_url", "links", "next_page_url",
        "path",
        "per_page", "prev_page_url", "to", "total",
    ]

    /// What a page must say, worked out without the module's own arithmetic: by dealing the items out.
    static func pages(of total: Int, by size: Int) -> [[Int]] {
        var pages: [[Int]] = [[]]
        for item in 0..<total {
            if pages[pages.count - 1].count == size { pages.append([]) }
            pages[pages.count - 1].append(item)
        }
        return pages
    }

    @Test(arguments: [1, 2, 3, 7, 10, 24, 25, 49, 97, 98, 99, 1000])
    func everyPageOfTheBreedsSaysWhereItIs(limit: Int) throws {
        let pages = Self.pages(of: Breed.all.count, by: limit)
        for number in 1...pages.count + 2 {
            let document = try #require(JSONValue(answer("GET", "/breeds?limit=\(limit)&page=\(number)").body))
            let items = number <= pages.count ? pages[number - 1] : []
            #expect(document.names == Self.fields)
            #expect(document["current_page"]?.integer == number)
            #expect(document["data"]?.items.compactMap { $0["breed"]?.text } == items.map { Breed.all[$0].name })
            #expect(document["from"] == (items.first.map { .number(Double($0 + 1)) } ?? .null))
            #expect(document["to"] == (items.last.map { .number(Double($0 + 1)) } ?? .null))
            #expect(document["last_page"]?.integer == pages.count)
            #expect(document["per_page"]?.integer == limit)
            #expect(document["total"]?.integer == 98)
            let base = "http://127.0.0.1:8080/breeds"
            #expect(document["path"]?.text == base)
            #expect(document["first_page_url"]?.text == "\(base)?page=1")
            #expect(document["last_page_url"]?.text == "\(base)?page=\(pages.count)")
            #expect(document["next_page_url"] == (number < pages.count ? .string("\(base)?page=\(number + 1)") : .null))
            #expect(document["prev_page_url"] == (number > 1 ? .string("\(base)?page=\(number - 1)") : .null))
        }
    }

    @Test(arguments: [
        ("", 10), ("limit=", 10), ("limit=0", 10), ("limit=-5", 10), ("limit=abc", 10), ("limit=2.5", 10),
        ("limit=1", 1), ("limit=25", 25), ("limit=1000", 1000), ("limit=1001", 1000),
        ("limit=9223372036854775807", 1000), ("limit=9223372036854775808", 10), ("limit[]=3", 10),
        ("limit=3&limit=4", 4),
    ])
    func limitsFallBackAndAreCapped(query: String, perPage: Int) throws {
        let document = try #require(JSONValue(answer("GET", "/facts?\(query)").body))
        #expect(document["per_page"]?.integer == perPage)
        #expect(document["data"]?.items.count == min(perPage, CatFacts.all.count))
    }

    @Test func breedsComeTwentyFiveAtATimeByDefault() throws {
        let document = try #require(JSONValue(answer("GET", "/breeds").body))
        #expect(document["per_page"]?.integer == 25)
        #expect(document["last_page"]?.integer == 4)
        #expect(document["data"]?.items.first?.names == ["breed", "country", "origin", "coat", "pattern"])
    }

    @Test(arguments: [
        ("0", 1), ("-1", 1), ("abc", 1), ("", 1), ("01", 1), ("2", 2), ("+2", 2), ("%2B2", 2), ("1.5", 1),
        ("9223372036854775807", Int.max), ("9223372036854775808", 1),
    ])
    func badPagesAreTheFirst(page: String, number: Int) throws {
        let body = answer("GET", "/breeds?page=\(page)").body
        // The largest page number does not fit a Double: look at the text.
        #expect(String(decoding: body, as: UTF8.self).hasPrefix("{\"current_page\":\(number),"))
        #expect(try #require(JSONValue(body))["data"]?.items.isEmpty == (number > 4))
    }

    @Test func factsAreFilteredByLengthBeforeTheyArePaged() throws {
        let short = CatFacts.all.filter { $0.length <= 60 }
        let document = try #require(JSONValue(answer("GET", "/facts?max_length=60&limit=1000").body))
        #expect(document["total"]?.integer == short.count)
        #expect(document["data"]?.items.compactMap { $0["fact"]?.text } == short.map(\.text))
        #expect(document["data"]?.items.compactMap { $0["length"]?.integer } == short.map(\.length))
    }

    @Test func aListingWithoutFactsHasOneEmptyPage() throws {
        let document = try #require(JSONValue(answer("GET", "/facts?max_length=1").body))
        #expect(document["total"]?.integer == 0)
        #expect(document["last_page"]?.integer == 1)
        #expect(document["from"] == .null && document["to"] == .null)
        #expect(document["data"] == .array([]))
    }

    @Test func urlsNameTheHostThatWasAskedAndEscapeIt() throws {
        let body = answer("GET", "/breeds", host: "\"cats\".example").body
        #expect(try #require(JSONValue(body))["path"]?.text == "http://\"cats\".example/breeds")
        #expect(String(decoding: body, as: UTF8.self).contains(#""http:\/\/\"cats\".example\/breeds""#))
    }
}
