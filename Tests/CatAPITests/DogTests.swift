import CatAPI
import TestSupport
import Testing

@Suite(.limited) struct DogTests {
    @Test func answersAreAsTheRealOnesAre() throws {
        let answer = answer("GET", "/v1/images/search?limit=100&has_breeds=true", host: "dogs.test:1")
        #expect(answer.status == 200 && answer["Content-Type"] == "application/json")
        let dogs = try #require(JSONValue(answer.body)).items
        #expect(dogs.count == 100)
        for dog in dogs {
            #expect(dog.names == ["breeds", "id", "url", "width", "height"])
            #expect(dog["url"]?.text == "http://dogs.test:1/pictures/\(dog["id"]?.text ?? "").svg")
            for breed in dog["breeds"]?.items ?? [] {
                for name in ["name", "life_span", "breed_group", "origin"] { #expect(breed[name]?.text != nil) }
                #expect(
                    breed["weight"]?.names == ["imperial", "metric"]
                        && breed["height"]?.names == ["imperial", "metric"])
            }
        }
        let breeds = Set(dogs.compactMap { $0["breeds"]?.items.first?["name"]?.text })
        #expect(breeds.count > 25)
        // Each fifth has none, so that a list of ten has eight texts in every demo and is not folded in some.
        #expect(dogs.indices.allSatisfy { (dogs[$0]["breeds"]?.items.isEmpty == true) == ($0 % 5 == 4) })
    }

    @Test(arguments: [("", 1), ("?limit=0", 1), ("?limit=10", 10), ("?limit=1000", 100), ("?limit=x", 1)])
    func thereAreAsManyAsAskedFor(query: String, count: Int) throws {
        let answer = answer("GET", "/v1/images/search\(query)")
        #expect(try #require(JSONValue(answer.body)).items.count == count)
    }

    @Test func everyPictureIsServedAndEveryBreedHasItsOwn() throws {
        var random = SeededGenerator(seed: 3)
        var pictures: [String: [UInt8]] = [:]
        for _ in 0..<8 {
            let request = Request("GET", "/v1/images/search?limit=100", host: "dogs.test")
            let dogs = try #require(JSONValue(CatAPI.answer(request, using: &random).body)).items
            for dog in dogs {
                let url = try #require(dog["url"]?.text)
                if pictures[url] != nil { continue }
                let picture = answer("GET", String(url.dropFirst("http://dogs.test".count)))
                #expect(picture.status == 200 && picture["Content-Type"] == "image/svg+xml")
                pictures[url] = picture.body
            }
        }
        #expect(pictures.count > 100)
        #expect(Set(pictures.values).count == pictures.count)
        let text = String(decoding: try #require(pictures.values.first), as: UTF8.self)
        #expect(text.hasPrefix("<svg xmlns=") && text.hasSuffix("</svg>\n"))
    }

    @Test(arguments: [
        "/pictures/", "/pictures/.svg", "/pictures/beagle.svg", "/pictures/beagle-0.svg", "/pictures/beagle-4.svg",
        "/pictures/beagle-01.svg", "/pictures/dog-13.svg", "/pictures/beagle-1.png", "/v1/images", "/pictures/-1.svg",
    ])
    func otherPicturesAreNotFound(path: String) {
        #expect(answer("GET", path).status == 404)
    }
}
