internal import HTTPServer

/// `GET /demo/PATH`: pictures of the stand-in API of `--demo`, served from the page's own origin because the page loads
/// nothing from elsewhere. Nothing is fetched.
struct DemoHandler: WebHandler {
    let context: WebContext

    func response(to request: HTTPRequest, below rest: Substring) -> HTTPResponse {
        guard context.settings.demo != nil, let picture = context.demoPicture("/\(rest)") else {
            return .refusal(404, "there is no such picture")
        }
        let fields = [
            HTTPField("Content-Type", "image/svg+xml"), HTTPField("Cache-Control", "max-age=86400"),
            // Opened by itself, an SVG is a document.
            HTTPField("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        ]
        return HTTPResponse(status: 200, fields: fields, body: .bytes(picture))
    }
}
