internal import HTTPServer
package import Reactor

/// Produces faulty answers on request, for tests: `/fault/KIND[/PATH]?PARAMETERS`.
///
/// PATH is the request to answer without the fault; `/fact` by default. Durations are in milliseconds and at most ten
/// minutes. An invalid parameter is answered with status 400 and a message.
///
/// | path | parameters (default) | what happens |
/// | --- | --- | --- |
/// | any of these | `delay=MS` or `delay=LOW-HIGH` | the answer waits, as long as said or at random in between; `X-Delay-Ms` says how long it did |
/// | `/fault/delay/PATH` | | PATH's answer; for use with `delay` |
/// | `/fault/status` | `code` (500), `retry-after=TEXT`, `retry-date=SECONDS` | a status from 200 to 999, of which HTTP has none beyond 599; `Retry-After` with that text, or with the HTTP date so many seconds from now |
/// | `/fault/flaky/PATH` | `id`, `fail` (1), `code` (503), `retry-after`, `retry-date` | the first `fail` requests with this `id` fail with `code`, later ones get PATH's answer |
/// | `/fault/truncated/PATH` | `sent` (half) | `Content-Length` promises the whole body, `sent` bytes of it come, the connection ends |
/// | `/fault/drip/PATH` | `every` (100) | one byte of the body every so many milliseconds |
/// | `/fault/reset/PATH` | `after` (0) | a TCP reset after so many bytes of the body; with 0 instead of an answer |
/// | `/fault/close` | | the connection ends without an answer |
/// | `/fault/silence` | | no answer ever; the connection stays open |
/// | `/fault/endless` | | a chunked body that starts like a fact and never ends |
/// | `/fault/large` | `bytes` (10,000,000) | a valid document of that size, at most 64 MiB |
/// | `/fault/items` | `count` (150,000) | an array of the numbers from 0 to `count` - 1, at most 1,048,576 |
/// | `/fault/empty` | | status 200 and no body |
/// | `/fault/no-content` | | status 204 |
/// | `/fault/html` | | status 200 and a page that is HTML |
/// | `/fault/json/KIND` | `levels` (100,000) for `deep` | a document from `HostileJSON`, as `application/json` |
/// | `/fault/bomb` | `bytes` (104,857,600) | a gzip body that inflates to at least so many bytes, a thousandth of them on the wire |
/// | `/fault/garbled` | `encoding` (gzip) | a `Content-Encoding` that the body does not have |
/// | `/fault/loop` | `code` (302) | a redirect to itself |
/// | `/fault/redirect/PATH` | `times` (1), `to=URL`, `code` (302) | so many redirects, the last one to PATH or to any URL: another port, `file:///etc/passwd` |
/// | `/fault/etag/PATH` | `version` (1) | `ETag` and `Last-Modified`, and 304 for who has them; each version has one answer |
/// | `/fault/ws-KIND` | see `AirQualityOrder.Fault` | a WebSocket that goes wrong; the other parameters are those of `/aqi` |
package struct FaultRouter: Sendable {
    /// The number of requests for each `id` of `/fault/flaky`; more than `mostFlaky` ids are refused.
    private var flaky: [String: Int] = [:]
    private static let mostFlaky = 10_000

    package init() {}

    /// Whether a path is a request for a fault.
    package static func covers(_ path: String) -> Bool {
        path.utf8.starts(with: "/fault/".utf8)
    }

    /// Answers a request under `/fault/`.
    ///
    /// - Parameters:
    ///   - random: picks facts and delays.
    ///   - now: the time that `retry-date` counts from.
    package mutating func reply(
        to request: Request, using random: inout some RandomNumberGenerator, now: Timestamp
    ) -> Reply {
        do throws(Misuse) {
            let order = try FaultOrder(request, now: now)
            var reply = try reply(to: order, using: &random)
            for field in reply.answer.headers where !field.value.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
                throw Misuse("\(field.name) cannot have control characters")
            }
            if let delay = try order.delay(using: &random) { reply.delay = delay }
            return reply
        } catch {
            return Reply(.refusal(400, error.message))
        }
    }

    private mutating func reply(
        to order: FaultOrder, using random: inout some RandomNumberGenerator
    ) throws(Misuse) -> Reply {
        switch order.kind {
        case "delay": return Reply(order.plainAnswer(using: &random))
        case "status": return Reply(try order.failure(defaultStatus: 500))
        case "flaky": return try flakyReply(to: order, using: &random)
        case "truncated":
            let answer = order.plainAnswer(using: &random)
            let sent = try order.number("sent", in: 0...Int.max, default: answer.body.count / 2)
            return Reply(answer, delivery: .truncated(sent: min(sent, answer.body.count)))
        case "drip":
            let every = try order.number("every", in: 0...FaultOrder.longestDelay, default: 100)
            return Reply(order.plainAnswer(using: &random), delivery: .drip(every: .milliseconds(every)))
        case "reset":
            let answer = order.plainAnswer(using: &random)
            let after = try order.number("after", in: 0...Int.max, default: 0)
            return Reply(answer, delivery: .reset(after: min(after, answer.body.count)))
        case "close": return Reply(Answer(status: 200), delivery: .closed)
        case "silence": return Reply(Answer(status: 200), delivery: .silence)
        case "endless":
            let body = Array(#"{"fact":"\#(String(repeating: "purr ", count: 3_000))"#.utf8)
            return Reply(.json(body), delivery: .endless)
        case "large":
            return Reply(.json(HostileJSON.large(try order.number("bytes", in: 32...1 << 26, default: 10_000_000))))
        case "items":
            return Reply(.json(HostileJSON.items(try order.number("count", in: 0...1 << 20, default: 150_000))))
        case "empty": return Reply(.json([]))
        case "no-content": return Reply(Answer(status: 204))
        case "html": return Reply(.html(status: 200))
        case "json": return Reply(.json(try order.document()))
        case "bomb":
            let size = try order.number("bytes", in: 1...1 << 32 - 1, default: 104_857_600)
            return Reply(.json(GzipBomb(inflatingTo: size).bytes, encoding: "gzip"))
        case "garbled": return Reply(.json(HostileJSON.noise, encoding: order.request.query["encoding"] ?? "gzip"))
        case "loop": return Reply(try order.redirect(to: order.request.path))
        case "redirect": return Reply(try order.redirect())
        case "etag": return Reply(try order.revalidated())
        case "ws-refused": return Reply(try order.failure(defaultStatus: 403))
        default:
            guard let fault = try AirQualityOrder.Fault(order) else {
                throw Misuse("there is no fault named \(order.kind)")
            }
            return AirQualityOrder.reply(to: order.request, fault)
        }
    }

    private mutating func flakyReply(
        to order: FaultOrder, using random: inout some RandomNumberGenerator
    ) throws(Misuse) -> Reply {
        let identity = order.request.query["id"] ?? ""
        let failures = try order.number("fail", in: 0...Int.max, default: 1)
        let failure = try order.failure(defaultStatus: 503)
        let count = flaky[identity] ?? 0
        guard count > 0 || flaky.count < Self.mostFlaky else { throw Misuse("there are too many ids already") }
        flaky[identity] = count + 1
        return Reply(count < failures ? failure : order.plainAnswer(using: &random))
    }

    /// The error for an unknown fault or an invalid parameter.
    struct Misuse: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }
}

extension Answer {
    static func html(status: Int) -> Answer {
        let page =
            "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Please sign in.</p></body></html>\n"
        return Answer(status: status, headers: [HTTPField("Content-Type", "text/html")], body: Array(page.utf8))
    }

    fileprivate static func json(_ body: [UInt8], encoding: String) -> Answer {
        var answer = json(body)
        answer.headers.append(HTTPField("Content-Encoding", encoding))
        return answer
    }
}
