internal import Feed
internal import HTTPServer
internal import Outputs

/// `POST /poll/SOURCE`: polls a source now, like `r` in the terminal; for an attached feed, its agent polls.
struct PollHandler: WebHandler {
    let methods = ["POST"]
    let context: WebContext

    // Body of a poll request: 1 KiB; 413.
    static let longest = 1 << 10

    func response(to request: HTTPRequest, below rest: Substring) -> HTTPResponse {
        guard let source = rest.percentDecoded(), 1...256 ~= source.utf8.count else {
            return .reason(400, "the path is /poll/SOURCE, percent-encoded UTF-8 of at most 256 bytes")
        }
        // A form on another site's page cannot send this type without a CORS preflight.
        guard Self.isJSON(request["Content-Type"]) else {
            return .reason(415, "what is polled with has the content type application/json")
        }
        guard request.body.count <= Self.longest else {
            return .reason(413, "a body has \(Self.longest) bytes at the most")
        }
        let wanted: PollRequest
        do throws(Failure) {
            wanted = try ReaderRequest.poll(request.body[...])
        } catch {
            return .reason(400, error.message)
        }
        guard let refusal = context.polls.assumeIsolated({ $0.requestPoll(of: source, wanted) }) else {
            return .json(202, atMost: source.utf8.count) { writer in
                writer.raw("{\"source\":")
                writer.string(source)
                writer.raw("}")
            }
        }
        return switch refusal.cause {
        case .unknown: .reason(404, refusal.reason)
        case .unfit: .reason(400, refusal.reason)
        case .busy: .reason(429, refusal.reason, [HTTPField("Retry-After", "1")])
        case .away: .reason(503, refusal.reason, [HTTPField("Retry-After", "1")])
        }
    }

    /// Ignores parameters (RFC 9110, section 8.3.1).
    static func isJSON(_ type: String?) -> Bool {
        let name = type?.prefix { $0 != ";" }.lowercased().split(whereSeparator: { $0 == " " || $0 == "\t" })
        return name == ["application/json"]
    }
}

extension HTTPResponse {
    /// A reason as JSON.
    fileprivate static func reason(_ status: Int, _ reason: String, _ fields: [HTTPField] = []) -> HTTPResponse {
        json(status, fields, atMost: reason.utf8.count) { writer in
            writer.raw("{\"reason\":")
            writer.string(reason)
            writer.raw("}")
        }
    }

    /// A JSON document that clients must not store.
    ///
    /// - Parameter texts: the bytes of all strings in it, unescaped.
    static func json(
        _ status: Int = 200, _ fields: [HTTPField] = [], atMost texts: Int, _ body: (inout LineWriter) -> Void
    ) -> HTTPResponse {
        let own = [HTTPField("Content-Type", "application/json"), HTTPField("Cache-Control", "no-store")]
        let bytes = LineWriter.bytes(atMost: 256 + LineWriter.mostEscaped(texts)) { writer in
            body(&writer)
            writer.raw("\n")
        }
        return HTTPResponse(status: status, fields: own + fields, body: .bytes(bytes))
    }
}
