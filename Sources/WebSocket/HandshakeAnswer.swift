/// Parses a server's half of the opening handshake, in pieces of any size (RFC 6455, section 4.1; RFC 9112, sections 4
/// and 5). It fails at the first byte that is not HTTP.
package struct HandshakeAnswer: Sendable {
    /// The server's answer.
    package enum Outcome: Sendable, Equatable {
        /// Frames follow.
        case accepted(subprotocol: String?)
        /// The complete head of another answer; its body may follow. `retryAfter` is the value of that field.
        case refused(status: Int, retryAfter: String?)
    }

    private let expectedAccept: String
    private let subprotocols: [String]
    private let limit: Int

    private var size = 0
    private var line: [UInt8] = []
    private var status: Int?
    private var fields: [(name: String, value: String)] = []

    private static let version = Array("HTTP/1.".utf8)

    /// - Parameters:
    ///   - key: the key of the request.
    ///   - subprotocols: the offered subprotocols.
    ///   - limit: the most bytes of the answer's head, including informational answers before it.
    package init(key: String, subprotocols: [String], limit: Int = 16 << 10) {
        expectedAccept = Handshake.accept(key: key)
        self.subprotocols = subprotocols
        self.limit = limit
    }

    /// Returns the server's answer; nil when `input` is used up before it is complete.
    ///
    /// - Parameter input: the received bytes; used ones are removed from the front.
    package mutating func next(from input: inout UnsafeRawBufferPointer) throws(HandshakeFault) -> Outcome? {
        var used = 0
        defer { input = UnsafeRawBufferPointer(rebasing: input[used...]) }
        while used < input.count {
            let byte = input[used]
            used += 1
            size += 1
            guard size <= limit else {
                throw HandshakeFault(.tooLarge, "sent more than \(limit) bytes of headers")
            }
            guard byte == UInt8(ascii: "\n") else {
                if status == nil, line.count < Self.version.count, byte != Self.version[line.count] {
                    throw Self.notHTTP
                }
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            defer { line.removeAll(keepingCapacity: true) }
            if status == nil {
                try parseStatus()
            } else if !line.isEmpty {
                try parseField()
            } else if let outcome = try end() {
                return outcome
            }
        }
        return nil
    }

    private static let notHTTP = HandshakeFault(.answer, "does not speak HTTP")

    /// `HTTP/1.1 101 Switching Protocols`
    private mutating func parseStatus() throws(HandshakeFault) {
        let start = Self.version.count
        guard line.count >= start + 5, line[..<start].elementsEqual(Self.version),
            line[start] == UInt8(ascii: "1") || line[start] == UInt8(ascii: "0"), line[start + 1] == 0x20
        else { throw Self.notHTTP }
        let digits = line[(start + 2)..<(start + 5)]
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }), line.count == start + 5 || line[start + 5] == 0x20
        else { throw Self.notHTTP }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard (100...599).contains(status) else { throw Self.notHTTP }
        if status == 101, line[start] != UInt8(ascii: "1") {
            throw HandshakeFault(.answer, "answered the handshake in HTTP/1.0")
        }
        self.status = status
    }

    private mutating func parseField() throws(HandshakeFault) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw HandshakeFault(.answer, "sent a header that is none") }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        // Other fields are not needed, and an answer may have many.
        guard name.hasPrefix("sec-websocket-") || ["upgrade", "connection", "retry-after"].contains(name) else {
            return
        }
        let value = String(decoding: line[(colon + 1)...], as: UTF8.self)
        fields.append((name, String(Handshake.trimmed(value[...]))))
    }

    /// Ends a head; returns nil after an informational one, which another head follows.
    private mutating func end() throws(HandshakeFault) -> Outcome? {
        let status = self.status ?? 0
        switch status {
        case 101: return .accepted(subprotocol: try acceptedSubprotocol())
        case 100...199:
            self.status = nil
            fields = []
            return nil
        default: return .refused(status: status, retryAfter: values(of: "retry-after").first)
        }
    }

    private func values(of name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    private func acceptedSubprotocol() throws(HandshakeFault) -> String? {
        guard values(of: "upgrade").contains(where: { Handshake.list($0, names: "websocket") }) else {
            throw HandshakeFault(.answer, "did not upgrade to a WebSocket")
        }
        guard values(of: "connection").contains(where: { Handshake.list($0, names: "upgrade") }) else {
            throw HandshakeFault(.answer, "did not upgrade the connection")
        }
        guard values(of: "sec-websocket-accept") == [expectedAccept] else {
            throw HandshakeFault(.answer, "answered with a wrong Sec-WebSocket-Accept")
        }
        guard values(of: "sec-websocket-extensions").allSatisfy(\.isEmpty) else {
            throw HandshakeFault(.answer, "chose an extension that was not offered")
        }
        let chosen = values(of: "sec-websocket-protocol")
        guard chosen.count <= 1, chosen.allSatisfy(subprotocols.contains) else {
            throw HandshakeFault(.answer, "chose a subprotocol that was not offered")
        }
        return chosen.first
    }
}
