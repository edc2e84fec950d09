internal import HTTPServer

/// `GET /demo/PATH`: pictures of the stand-in API of `--demo`, served from the page's own origin because the page loads
/// nothing from elsewhere. Nothing is fetched.
final class DemoHandler: WebHandler {
    private let context: WebContext

    init(_ context: WebContext) { self.context = context }

    func reply(to request: HTTPRequest, below rest: Substring) -> HTTPReply {
        guard context.settings.demo != nil, let picture = context.demoPicture("/\(rest)") else {
            return .now(.refusal(404, "there is no such picture"))
        }
        let fields = [
            HTTPField("Content-Type", "image/svg+xml"), HTTPField("Cache-Control", "max-age=86400"),
            // Opened by itself, an SVG is a document.
            HTTPField("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
        ]
        return .now(HTTPResponse(status: 200, fields: fields, body: .bytes(picture)))
    }
}
