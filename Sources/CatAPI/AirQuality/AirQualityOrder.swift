internal import HTTPServer
internal import WebSocket

/// A client's request for `/aqi`: a WebSocket that sends the air quality of cities as JSON texts.
///
/// | parameter | default | effect |
/// | --- | --- | --- |
/// | `rate` | 1 | messages a second, up to 10,000; above one a second, the client has a walk of its own |
/// | `single=1` | | one object of one city a message, the cities in turn, instead of an array of all |
///
/// Messages from the client are ignored, except pings and closes. The first subprotocol that it offers is chosen.
package struct AirQualityOrder: Sendable, Hashable {
    /// The fault to produce, for tests.
    ///
    /// | `/fault/…` | parameters (default) | what happens |
    /// | --- | --- | --- |
    /// | `ws-refused` | those of `/fault/status`, `code` (403) | the handshake is answered with that status |
    /// | `ws-accept` | | a `Sec-WebSocket-Accept` that is wrong |
    /// | `ws-extension` | | an extension that nobody has offered |
    /// | `ws-subprotocol` | | a subprotocol that nobody has offered |
    /// | `ws-large` | `bytes` (2^62) | a message that announces so many bytes, and the first 1,000 of them |
    /// | `ws-fragmented` | `size` (7) | messages in fragments of so many bytes, with a ping between all of them |
    /// | `ws-utf8` | | a text that is not UTF-8 |
    /// | `ws-text` | | texts that are not JSON, each followed by one that is |
    /// | `ws-masked` | | a masked frame |
    /// | `ws-garbage` | | bytes that are no frames |
    /// | `ws-close` | `code` (1001), `reason`, `after` (0) | a close frame after so many messages |
    /// | `ws-drop` | `after` (0) | the end of the connection after so many messages |
    /// | `ws-silence` | `after` (0) | nothing after so many messages, and no answer to anything |
    package enum Fault: Sendable, Hashable {
        case accept, `extension`, subprotocol
        case large(bytes: Int)
        case fragmented(size: Int)
        case utf8, text, masked, garbage
        case close(code: UInt16, reason: String, after: Int)
        case drop(after: Int)
        case silence(after: Int)
    }

    static let path = "/aqi"

    /// Messages a second, from 1.
    package var rate = 1
    package var isSingle = false
    package var fault: Fault?

    /// The reply to a request for a WebSocket (RFC 6455, section 4.2.2), or a refusal with its reason.
    static func reply(to request: Request, _ fault: Fault? = nil) -> Reply {
        guard request.method == "GET", let upgrade = request.upgrade else {
            var answer = Answer.refusal(426, "This is a WebSocket")
            answer.headers += [HTTPField("Upgrade", "websocket"), HTTPField("Connection", "Upgrade")]
            return Reply(answer)
        }
        guard upgrade.version == "13" else {
            var answer = Answer.refusal(426, "Only version 13 of the WebSocket protocol is spoken here")
            answer.headers.append(HTTPField("Sec-WebSocket-Version", "13"))
            return Reply(answer)
        }
        guard Handshake.isKey(upgrade.key) else { return Reply(.refusal(400, "The key is not one of 16 bytes")) }
        var order = AirQualityOrder()
        order.rate = request.query["rate"] == nil ? 1 : request.query.integer("rate") ?? 0
        guard (1...10_000).contains(order.rate) else {
            return Reply(.refusal(400, "rate is a number from 1 to 10000"))
        }
        order.isSingle = request.query["single"] == "1"
        order.fault = fault
        return Reply(order.answer(to: upgrade), delivery: .webSocket(order))
    }

    private func answer(to upgrade: UpgradeRequest) -> Answer {
        // libmicrohttpd adds `Connection` itself.
        var answer = Answer(status: 101, headers: [HTTPField("Upgrade", "websocket")])
        let key = fault == .accept ? "AAAAAAAAAAAAAAAAAAAAAA==" : upgrade.key
        answer.headers.append(HTTPField("Sec-WebSocket-Accept", Handshake.accept(key: key)))
        let offered = upgrade.subprotocols.split(separator: ",").first.map { $0.filter { $0 != " " } }
        if fault == .subprotocol {
            answer.headers.append(HTTPField("Sec-WebSocket-Protocol", "something-else"))
        } else if let offered {
            answer.headers.append(HTTPField("Sec-WebSocket-Protocol", offered))
        }
        if fault == .extension {
            answer.headers.append(HTTPField("Sec-WebSocket-Extensions", "permessage-deflate"))
        }
        return answer
    }
}

extension AirQualityOrder.Fault {
    /// - Returns: nil when there is no such fault.
    init?(_ order: FaultOrder) throws(FaultRouter.Misuse) {
        switch order.kind {
        case "ws-accept": self = .accept
        case "ws-extension": self = .extension
        case "ws-subprotocol": self = .subprotocol
        case "ws-large": self = .large(bytes: try order.number("bytes", in: 1...Int.max, default: 1 << 62))
        case "ws-fragmented": self = .fragmented(size: try order.number("size", in: 1...65_536, default: 7))
        case "ws-utf8": self = .utf8
        case "ws-text": self = .text
        case "ws-masked": self = .masked
        case "ws-garbage": self = .garbage
        case "ws-close":
            let code = try order.number("code", in: 0...65_535, default: 1_001)
            let after = try order.number("after", in: 0...Int.max, default: 0)
            self = .close(code: UInt16(code), reason: order.request.query["reason"] ?? "", after: after)
        case "ws-drop": self = .drop(after: try order.number("after", in: 0...Int.max, default: 0))
        case "ws-silence": self = .silence(after: try order.number("after", in: 0...Int.max, default: 0))
        default: return nil
        }
    }
}
