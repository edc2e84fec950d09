internal import Glibc
package import Reactor

/// The address of this machine and the port at which the page is served.
package struct HTTPAddress: Sendable, Equatable, CustomStringConvertible {
    /// The default port: C-A-T-S on a telephone.
    package static let usualPort: UInt16 = 2287
    package static let usual = HTTPAddress(host: "127.0.0.1", port: usualPort)

    /// Numeric; an IPv6 address has no brackets.
    package let host: String
    /// 0 lets the system choose a port.
    package let port: UInt16

    private init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `HOST:PORT`, or `PORT` on loopback; an empty text is the default address.
    ///
    /// - Throws: `UsageError`.
    init(_ text: String) throws(UsageError) {
        guard !text.isEmpty else {
            self = .usual
            return
        }
        func fault(_ what: String) -> UsageError { UsageError("\(FeedURL.redact(text)) \(what)") }
        let colon = text.lastIndex(of: ":")
        let digits = colon.map { text[text.index(after: $0)...] } ?? text[...]
        guard digits.utf8.allSatisfy(\.isDecimalDigit), let port = UInt16(digits) else {
            throw fault("has no port from 0 to 65535; write HOST:PORT, such as \(Self.usual)")
        }
        var host = colon.map { text[..<$0] } ?? Self.usual.host[...]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw fault("is no address; one of IPv6 stands in brackets: [::1]:\(Self.usualPort)")
        }
        if host.lowercased() == "localhost" { host = Self.usual.host[...] }
        self.init(host: String(host), port: port)
        do throws(SystemError) {
            // 127.1 is 127.0.0.1, and a request's `Host` is compared with the latter as text.
            if let usual = try address().host { self.init(host: usual, port: port) }
        } catch {
            throw fault("has no address of this machine; write one, such as \(Self.usual), or 0.0.0.0 for all")
        }
    }

    /// The address for a socket.
    ///
    /// - Throws: `SystemError` when it does not resolve after all.
    package func address() throws(SystemError) -> SocketAddress {
        let addresses = try SocketAddress.resolve(host: host, port: port, isNumeric: true)
        guard let address = addresses.first else { throw SystemError(code: EADDRNOTAVAIL, call: "bind") }
        return address
    }

    /// Whether only this machine can reach the address.
    var isLoopback: Bool { (try? address())?.isLoopback ?? false }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
