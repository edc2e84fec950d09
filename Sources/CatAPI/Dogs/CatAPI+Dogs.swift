extension CatAPI {
    /// The most pictures of one response.
    private static let mostPictures = 100

    /// `/v1/images/search`: random pictures of dogs, with their breeds.
    ///
    /// About half of all pictures have a breed. With `has_breeds` all have one but each fifth picture, so that a list
    /// of ten always has eight breeds and looks alike in every demo. The stand-in ignores the key in `x-api-key`.
    static func dogs(_ request: Request, using random: inout some RandomNumberGenerator) -> Answer {
        let limit = min(max(request.query.integer("limit") ?? 1, 1), mostPictures)
        let asksForBreeds = ["1", "true"].contains(request.query["has_breeds"] ?? "")
        var json = PHPStyleJSON()
        json.raw("[")
        for index in 0..<limit {
            if index > 0 { json.raw(",") }
            let isKnown = asksForBreeds ? index % 5 != 4 : Bool.random(using: &random)
            let picture = isKnown ? knownDog(using: &random) : unknownDog(using: &random)
            write(picture, host: request.host, to: &json)
        }
        json.raw("]")
        return .json(json.bytes)
    }

    /// The picture (SVG) at a path, `/pictures/ID.svg`; nil when there is none.
    package static func picture(_ path: String) -> [UInt8]? {
        let prefix = "/pictures/"
        guard path.hasPrefix(prefix), path.hasSuffix(".svg"),
            let picture = DogPicture(id: String(path.dropFirst(prefix.count).dropLast(".svg".count)))
        else { return nil }
        return Array(picture.svg.utf8)
    }

    private static func knownDog(using random: inout some RandomNumberGenerator) -> DogPicture {
        DogPicture(
            breed: Int.random(in: DogBreed.all.indices, using: &random),
            number: Int.random(in: 1...DogPicture.ofEachBreed, using: &random))
    }

    private static func unknownDog(using random: inout some RandomNumberGenerator) -> DogPicture {
        DogPicture(breed: nil, number: Int.random(in: 1...DogPicture.ofUnknownBreed, using: &random))
    }

    private static func write(_ picture: DogPicture, host: String, to json: inout PHPStyleJSON) {
        json.raw(#"{"breeds":["#)
        if let breed = picture.breed { DogBreed.all[breed].write(number: breed + 1, to: &json) }
        json.raw(#"],"id":"#)
        json.string(picture.id)
        json.raw(#","url":"#)
        json.string("http://\(host)/pictures/\(picture.id).svg")
        json.raw(#","width":"#)
        json.integer(DogPicture.width)
        json.raw(#","height":"#)
        json.integer(DogPicture.height)
        json.raw("}")
    }
}
