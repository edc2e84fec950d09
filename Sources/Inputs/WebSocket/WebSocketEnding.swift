internal import Feed
internal import Glibc
internal import Reactor
internal import WebSocket

/// Why a connection ended, or never began.
struct WebSocketEnding: Error {
    var failure: Failure
    /// How long the server wants no requests.
    var retryAfter: Duration?
    /// The close code to send; nil to send none.
    var closeCode: CloseCode?
    /// Whether the peer gets a moment to close the connection itself.
    var waitsForPeer = false

    init(_ code: Failure.Code, _ message: String) { failure = Failure(code, message) }

    /// The server did not answer with an upgrade.
    init(refusedBy peer: String, _ status: Int) {
        switch status {
        case 429: self.init(.rateLimited, "\(peer) asks for fewer requests (429)")
        case 200...299:
            self.init(.status, "\(peer) answered \(status) and not 101: there is no WebSocket at this URL")
        case 300...399:
            self.init(.redirect, "\(peer) redirects the handshake (\(status)): give the URL that it leads to")
        default: self.init(.status, "\(peer) answered \(status)\(HTTPStatus.words(status))")
        }
    }

    /// The connection failed.
    init(_ error: SystemError, of peer: String) {
        self.init(
            [ECONNRESET, EPIPE].contains(error.code) ? .reset : .closed,
            "the connection to \(peer) broke: \(error.reason)")
    }

    /// A frame broke the protocol.
    init(_ fault: WebSocketFault, of peer: String) {
        let code: Failure.Code =
            switch fault.closeCode {
            case .tooBig: .tooLarge
            case .invalidData: .encoding
            default: .protocol
            }
        self.init(code, "\(peer) \(fault.message)")
        closeCode = fault.closeCode
        waitsForPeer = true
    }

    /// A close frame came.
    init(closedBy peer: String, _ code: CloseCode?, _ reason: String) {
        var message = "\(peer) closed the connection"
        if let code {
            message += " with \(code.rawValue)" + (code.name.map { " (\($0))" } ?? "")
        }
        if !reason.isEmpty { message += ": " + Sanitizer.visible(reason, limit: 123) }
        self.init(.closed, message)
        closeCode = code ?? .normal
        waitsForPeer = true
    }

    /// Nothing came after a ping.
    init(silenceOf peer: String, after limit: Duration) {
        self.init(.timeout, "nothing came from \(peer) within \(limit.shortText) after a ping")
        closeCode = .goingAway
    }
}
