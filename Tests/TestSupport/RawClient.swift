internal import Glibc
import Testing

/// A client that sees what is on the wire: blocking sockets, used on a thread of its own.
package struct RawClient: Sendable {
    package let port: UInt16
    private let host: String

    /// - Parameter host: a numeric address.
    package init(host: String = "127.0.0.1", port: UInt16) {
        self.host = host
        self.port = port
    }

    /// What came back until the connection ended, or until there was enough.
    package struct Outcome: Sendable, CustomTestStringConvertible {
        package var bytes: [UInt8] = []
        package var wasReset = false
        /// Whether the connection ended, and not the reading.
        package var ended = false

        package init() {}

        package var text: String { String(decoding: bytes, as: UTF8.self) }

        /// Not all of it: there may be megabytes.
        package var testDescription: String {
            let end = wasReset ? "reset" : ended ? "ended" : "open"
            return
                "\(bytes.count) bytes, \(end): \(String(decoding: bytes.prefix(500), as: UTF8.self).debugDescription)"
        }
    }

    /// An address of this machine that is not loopback's; nil when there is none.
    package static let ownAddress: String? = {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        for entry in sequence(first: list, next: { $0?.pointee.ifa_next }) {
            guard let entry, let address = entry.pointee.ifa_addr, address.pointee.sa_family == UInt16(AF_INET),
                entry.pointee.ifa_flags & UInt32(IFF_LOOPBACK) == 0
            else { continue }
            var text = [CChar](repeating: 0, count: Int(INET_ADDRSTRLEN))
            let bytes = UnsafeRawPointer(address) + 4
            inet_ntop(AF_INET, bytes, &text, socklen_t(text.count))
            return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        return nil
    }()

    package struct Failure: Error {
        let call: String
        package let code: Int32
    }

    /// Sends a request that asks for the connection to be closed after it, and reads the answer.
    package func get(_ target: String, fields: [String] = [], atMost limit: Int = .max) throws -> WireAnswer {
        let outcome = try talk(request("GET", target, fields: ["Connection: close"] + fields), atMost: limit)
        return try WireAnswer(outcome)
    }

    package func request(_ method: String, _ target: String, fields: [String] = []) -> String {
        (["\(method) \(target) HTTP/1.1", "Host: cats.test"] + fields).map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// Sends a text as it is and reads until the connection ends or `limit` bytes came.
    package func talk(_ text: String, atMost limit: Int = .max) throws -> Outcome {
        let descriptor = try connect()
        defer { close(descriptor) }
        try send(text, to: descriptor)
        return try receive(from: descriptor, atMost: limit)
    }

    /// How long there may be nothing to receive, or no room to send, and how long something may take to come in all: a fault in
    /// the server fails a test and does not hang it.
    private static let (silence, patience) = (20, Duration.seconds(60))

    /// A connected socket.
    ///
    /// - Parameters:
    ///   - waits: whether to wait until it is connected; otherwise it may never be.
    ///   - room: how many bytes the kernel holds for it before they are read; nil for as many as the kernel likes.
    package func connect(waits: Bool = true, room: Int32? = nil) throws -> Int32 {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, "\(port)", &hints, &found) == 0, let found else {
            throw Failure(call: "getaddrinfo", code: EINVAL)
        }
        defer { freeaddrinfo(found) }
        // Closed on exec: a process that a test starts must not keep it open.
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (waits ? 0 : SOCK_NONBLOCK.rawValue))
        let descriptor = socket(found.pointee.ai_family, type, 0)
        guard descriptor >= 0 else { throw Failure(call: "socket", code: errno) }
        var silence = timeval(tv_sec: Self.silence, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &silence, socklen_t(MemoryLayout<timeval>.size))
        }
        if var room { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size)) }
        guard
            Glibc.connect(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0
                || !waits && errno == EINPROGRESS
        else {
            let failure = Failure(call: "connect", code: errno)
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// Closes a connected socket.
    package static func leave(_ descriptor: Int32) { close(descriptor) }

    package func send(_ text: String, to descriptor: Int32) throws { try send(Array(text.utf8), to: descriptor) }

    package func send(_ bytes: [UInt8], to descriptor: Int32) throws {
        var left = bytes[...]
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure(call: "send", code: errno) }
            left = left.dropFirst(count)
        }
    }

    package func receive(from descriptor: Int32, atMost limit: Int = .max) throws -> Outcome {
        try receive(from: descriptor) { $0.bytes.count >= limit }
    }

    /// Reads until a text has come, or the connection ends.
    package func receive(from descriptor: Int32, until text: String) throws -> Outcome {
        try receive(from: descriptor) { $0.text.contains(text) }
    }

    /// Reads until there is enough, or the connection ends.
    package func receive(from descriptor: Int32, until isEnough: (Outcome) -> Bool) throws -> Outcome {
        var outcome = Outcome()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let end = ContinuousClock.now + Self.patience
        while !isEnough(outcome) {
            guard ContinuousClock.now < end else { throw Failure(call: "recv", code: ETIMEDOUT) }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno != ECONNRESET { throw Failure(call: "recv", code: errno) }
            if count <= 0 {
                outcome.ended = true
                outcome.wasReset = count < 0
                return outcome
            }
            outcome.bytes += buffer[..<count]
        }
        return outcome
    }

    /// Whether there is nothing to read, not even an end of file.
    package func isSilent(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == -1 && errno == EAGAIN
    }
}

/// An HTTP answer, read from the wire.
package struct WireAnswer: Sendable {
    package let status: Int
    /// By lowercase name.
    package let fields: [String: String]
    /// As it was sent, chunks undone.
    package let body: [UInt8]
    package let outcome: RawClient.Outcome

    struct Unreadable: Error {
        let text: String
    }

    package init(_ outcome: RawClient.Outcome) throws {
        let separator = Array("\r\n\r\n".utf8)
        let bytes = outcome.bytes
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: separator) }) else {
            throw Unreadable(text: String(decoding: bytes, as: UTF8.self))
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw Unreadable(text: String(decoding: bytes, as: UTF8.self))
        }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            fields[halves[0].lowercased()] = halves.count == 2 ? String(halves[1].drop { $0 == " " }) : ""
        }
        self.status = status
        self.fields = fields
        self.outcome = outcome
        let raw = bytes[(end + separator.count)...]
        body = fields["transfer-encoding"] == "chunked" ? Self.unchunked(raw) : Array(raw)
    }

    /// What of the body is whole: its lines, or the events of a stream of events.
    package var whole: ArraySlice<UInt8> {
        let end: [UInt8] = fields["content-type"] == "text/event-stream" ? [0x0A, 0x0A] : [0x0A]
        let last = body.indices.last { body[$0...].starts(with: end) }
        return body[..<(last.map { $0 + end.count } ?? 0)]
    }

    /// The data of all chunks, the last of which may be cut off.
    private static func unchunked(_ raw: ArraySlice<UInt8>) -> [UInt8] {
        var body: [UInt8] = []
        var left = raw
        while let lineEnd = left.firstIndex(of: UInt8(ascii: "\r")),
            let size = Int(String(decoding: left[..<lineEnd], as: UTF8.self), radix: 16), size > 0
        {
            let data = left[lineEnd...].dropFirst(2).prefix(size)
            body += data
            left = left[data.endIndex...].dropFirst(2)
        }
        return body
    }
}
