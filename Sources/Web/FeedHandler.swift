internal import Feed
internal import HTTPServer
internal import Outputs

/// Serves the feed, as lines or as Server-Sent Events. A stream is a reader like those of the socket.
final class FeedHandler: WebHandler {
    private let form: ReaderForm
    private let readers: FeedReaders

    init(_ form: ReaderForm, _ readers: FeedReaders) {
        self.form = form
        self.readers = readers
    }

    func reply(to request: HTTPRequest, below _: Substring) -> HTTPReply {
        var terms: ReaderRequest.Terms
        do throws(Failure) {
            terms = try FeedQuery.terms(request.query)
        } catch {
            return .now(.refusal(400, error.message))
        }
        // A browser that reconnects repeats its first query.
        if form == .events, let start = request["Last-Event-ID"].flatMap({ FeedQuery.start(behind: $0) }) {
            terms.start = start
        }
        if let refusal = readers.refusal { return .now(.notNow(refusal, retryAfter: 5)) }
        let type = form == .events ? "text/event-stream" : "application/x-ndjson"
        let fields = [
            HTTPField("Content-Type", type), HTTPField("Cache-Control", "no-store"),
            HTTPField("X-Accel-Buffering", "no"),
        ]
        guard request.method != "HEAD" else {
            // Has no known length.
            return .now(HTTPResponse(status: 200, fields: fields, body: .stream(HTTPStream { _, _ in .end })))
        }
        let (readers, form) = (readers, form)
        let body = HTTPResponse.Body.connection { readers.admit($0, behind: $1, as: form, terms) }
        return .now(HTTPResponse(status: 200, fields: fields, body: body))
    }
}
