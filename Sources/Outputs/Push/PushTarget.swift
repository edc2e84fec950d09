internal import Feed
internal import Reactor

/// The target of a push: `unix:PATH` or `tcp:HOST:PORT`, followed by `?resend=BYTES` and `?control=true`.
package struct PushTarget: Sendable, Equatable, CustomStringConvertible {
    package enum Address: Sendable, Equatable {
        case unix(path: String)
        case tcp(host: String, port: UInt16)
    }

    package let address: Address
    /// The number of bytes to write again after a reconnection. A Unix socket of Linux holds 312 KiB unread by default.
    package var resend = 320 << 10
    /// Whether `hello`, `stats`, `gap` and `bye` are sent as well.
    package var sendsControl = false

    /// Why a text is not a target, for a person.
    package struct Fault: Error, Sendable, Equatable {
        package let message: String
    }

    /// The most bytes that can be resent.
    package static let mostResend = 64 << 20

    /// - Throws: `Fault`.
    package init(_ text: String) throws(Fault) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let place = parts[0]
        if place.hasPrefix("unix:") {
            let path = String(place.dropFirst(5))
            guard !path.isEmpty else { throw Fault(message: "'unix:' needs a path behind it") }
            guard path.utf8.count <= StreamSocket.longestPath else {
                throw Fault(message: "a socket's path has \(StreamSocket.longestPath) bytes at the most")
            }
            address = .unix(path: path)
        } else if place.hasPrefix("tcp:") {
            address = try Self.tcp(place.dropFirst(4))
        } else {
            throw Fault(message: "write unix:PATH or tcp:HOST:PORT")
        }
        guard parts.count > 1 else { return }
        for option in parts[1].split(separator: "&") {
            let pair = option.split(separator: "=", maxSplits: 1)
            switch (pair.first, pair.count > 1 ? pair[1] : nil) {
            case ("control", "true"): sendsControl = true
            case ("control", "false"): sendsControl = false
            case ("resend", let value?):
                guard let bytes = Int(value), (0...Self.mostResend).contains(bytes) else {
                    throw Fault(message: "resend takes bytes, 0 to \(Self.mostResend)")
                }
                resend = bytes
            default:
                // Without its value, which may be a secret.
                let name = Sanitizer.visible(String(pair.first ?? ""), limit: 80)
                throw Fault(message: "'\(name)' is neither control=true nor resend=BYTES")
            }
        }
    }

    private static func tcp(_ text: Substring) throws(Fault) -> Address {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            throw Fault(message: "'tcp:' needs HOST:PORT behind it")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !host.contains("@") else { throw Fault(message: "'tcp:' needs HOST:PORT behind it") }
        return .tcp(host: String(host), port: port)
    }

    /// The target's name in `agent` lines.
    package var description: String {
        switch address {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): "tcp:\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)"
        }
    }
}
