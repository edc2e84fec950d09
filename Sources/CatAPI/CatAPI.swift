internal import HTTPServer

/// A stand-in for the cat-fact API at catfact.ninja, the dog API at api.thedogapi.com and a feed of air quality: what it
/// answers, as a pure function.
///
/// | route | parameters | answer |
/// | --- | --- | --- |
/// | `/fact` | `max_length` | a random fact, 404 when none is short enough |
/// | `/facts` | `limit` (default 10), `max_length`, `page` | facts, in pages |
/// | `/breeds` | `limit` (default 25), `page` | breeds, in pages |
/// | `/v1/images/search` | `limit` (default 1), `has_breeds` | random pictures of dogs, with their breeds |
/// | `/pictures/ID.svg` | | one of these pictures |
/// | `/aqi` | see `AirQualityOrder` | a WebSocket with the air quality of cities |
///
/// The fields, their order and the escaping are the real API's; the facts are our own. `CatAPIServer` puts it on a port.
package enum CatAPI {
    /// Answers a request; a `HEAD` is answered like a `GET`, and the server leaves the body out.
    ///
    /// - Parameter random: picks the fact of `/fact` and the dogs; the same seed gives the same ones.
    package static func answer(_ request: Request, using random: inout some RandomNumberGenerator) -> Answer {
        let picture = picture(request.path)
        let route = Route(path: request.path)
        guard route != nil || picture != nil else { return notFound }
        guard request.method == "GET" || request.method == "HEAD" else {
            var answer = Answer.refusal(405, "\(request.method) is not possible here, only GET and HEAD are")
            answer.headers.append(HTTPField("Allow", "GET, HEAD"))
            return answer
        }
        switch route {
        case .fact: return fact(request, using: &random)
        case .facts: return facts(request)
        case .breeds: return breeds(request)
        case .dogs: return dogs(request, using: &random)
        case nil:
            let headers = [HTTPField("Content-Type", "image/svg+xml"), HTTPField("Cache-Control", "max-age=86400")]
            return picture.map { Answer(status: 200, headers: headers, body: $0) } ?? notFound
        }
    }

    private enum Route: String {
        case fact, facts, breeds
        case dogs = "v1/images/search"

        /// Slashes at either end are ignored.
        init?(path: String) {
            let slash = UInt8(ascii: "/")
            let name = Substring(path.utf8.drop { $0 == slash })
            guard let last = name.utf8.lastIndex(where: { $0 != slash }) else { return nil }
            self.init(rawValue: String(name[...last]))
        }
    }

    private static let notFound = Answer.refusal(404, "Not Found")

    private static func fact(_ request: Request, using random: inout some RandomNumberGenerator) -> Answer {
        var candidates = CatFacts.byLength[...]
        if let longest = request.query.integer("max_length") { candidates = candidates.prefix { $0.length <= longest } }
        guard let fact = candidates.randomElement(using: &random) else {
            return .refusal(404, "There is no fact that short")
        }
        return .json(fact.json)
    }

    private static func facts(_ request: Request) -> Answer {
        var facts = CatFacts.all
        if let longest = request.query.integer("max_length") { facts = facts.filter { $0.length <= longest } }
        let page = Page(query: request.query, defaultSize: 10, total: facts.count)
        return .json(page.json(url: "http://\(request.host)/facts") { index, json in json.raw(facts[index].json) })
    }

    private static func breeds(_ request: Request) -> Answer {
        let breeds = Breed.all
        let page = Page(query: request.query, defaultSize: 25, total: breeds.count)
        return .json(page.json(url: "http://\(request.host)/breeds") { index, json in breeds[index].write(to: &json) })
    }
}

extension Breed {
    fileprivate func write(to json: inout PHPStyleJSON) {
        json.raw(#"{"breed":"#)
        json.string(name)
        json.raw(#","country":"#)
        json.string(country)
        json.raw(#","origin":"#)
        json.string(origin)
        json.raw(#","coat":"#)
        json.string(coat)
        json.raw(#","pattern":"#)
        json.string(pattern)
        json.raw("}")
    }
}
