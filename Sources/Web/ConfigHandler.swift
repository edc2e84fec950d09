internal import Feed
internal import HTTPServer

/// `GET /config`: the settings that the page needs and that no line contains.
struct ConfigHandler: WebHandler {
    let context: WebContext

    func response(to request: HTTPRequest, below _: Substring) -> HTTPResponse {
        let settings = context.settings
        let texts = ([settings.version, settings.demo ?? ""] + settings.pictures).reduce(0) { $0 + $1.utf8.count + 3 }
        return .json(atMost: texts) { writer in
            writer.raw("{\"version\":")
            writer.string(settings.version)
            writer.raw(",\"pictures\":[")
            for (index, origin) in settings.pictures.enumerated() {
                if index > 0 { writer.raw(",") }
                writer.string(origin)
            }
            writer.raw("]")
            if let demo = settings.demo {
                writer.raw(",\"demo\":")
                writer.string(demo)
            }
            if let series = settings.series {
                writer.raw(",\"series\":")
                writer.integer(series)
            }
            writer.raw(settings.isAttached ? ",\"attached\":true}" : ",\"attached\":false}")
        }
    }
}
