internal import Feed
internal import HTTPServer
internal import Outputs

/// Serves the feed, as lines or as Server-Sent Events. A stream is a reader like those of the socket.
struct FeedHandler: WebHandler {
    let form: ReaderForm
    let readers: FeedReaders

    func response(to request: HTTPRequest, below _: Substring) -> HTTPResponse {
        var terms: ReaderRequest.Terms
        do throws(Failure) {
            terms = try FeedQuery.terms(request.query)
        } catch {
            return .refusal(400, error.message)
        }
        // A browser that reconnects repeats its first query.
        if form == .events, let start = request["Last-Event-ID"].flatMap({ FeedQuery.start(behind: $0) }) {
            terms.start = start
        }
        if let refusal = readers.refusal(of: terms) { return .refusal(404, refusal.message) }
        if let refusal = readers.refusal { return .notNow(refusal, retryAfter: 5) }
        let type = form == .events ? "text/event-stream" : "application/x-ndjson"
        let fields = [
            HTTPField("Content-Type", type), HTTPField("Cache-Control", "no-store"),
            HTTPField("X-Accel-Buffering", "no"),
        ]
        guard request.method != "HEAD" else {
            // Has no known length.
            return HTTPResponse(status: 200, fields: fields, body: .stream(HTTPStream { _, _ in .end }))
        }
        let body = HTTPResponse.Body.connection { readers.admit($0, behind: $1, as: form, terms) }
        return HTTPResponse(status: 200, fields: fields, body: body)
    }
}
