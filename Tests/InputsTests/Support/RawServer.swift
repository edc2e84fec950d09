import Glibc
import Reactor

/// A server of a few lines that records the requests it gets and says what it was given to say.
actor RawServer {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    nonisolated let port: UInt16
    private let socket: Int32
    private let answer: @Sendable (_ request: String) -> Answer
    /// All requests, with their bodies.
    private(set) var requests: [String] = []
    /// Whether a client has stopped reading an endless answer.
    private(set) var isHeldUp = false
    /// How many clients have left a held answer.
    private(set) var left = 0

    enum Answer: Sendable {
        /// These bytes, and then the end of the connection.
        case text(String)
        /// The same after a while.
        case late(Duration, String)
        /// These bytes again and again, for as long as they are taken.
        case endless(head: String, again: String)
        /// These bytes, and nothing more until the client leaves.
        case held(String)
    }

    /// Listens on a port of the system's choosing; serves while `run` runs.
    init(on loop: EventLoop, answer: @escaping @Sendable (String) -> Answer) throws {
        self.loop = loop
        self.answer = answer
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = try systemCall("socket") { Glibc.socket(AF_INET, type, 0) }
        self.socket = socket
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try systemCall("bind") { bind(socket, address, size) }
                _ = try systemCall("listen") { listen(socket, 16) }
                _ = try systemCall("getsockname") { getsockname(socket, address, &size) }
            }
        }
        port = UInt16(bigEndian: address.sin_port)
    }

    nonisolated var origin: String { "http://127.0.0.1:\(port)" }

    /// Serves one connection after the other until the task is cancelled; one that is not read from holds up the rest.
    func run() async {
        guard let listener = try? SocketListener(owning: Descriptor(owning: socket), on: loop) else { return }
        defer { listener.close() }
        while let stream = try? await listener.accept() {
            try? await serve(stream)
            stream.close()
        }
    }

    private func serve(_ stream: any ByteStream) async throws {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var end: Int?
        while bytes.count < end ?? .max {
            guard let read = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) else {
                try await stream.waitUntilReadable()
                continue
            }
            if read == 0 { return }
            let searched = max(0, bytes.count - 3)
            bytes += buffer[..<read]
            if end == nil { end = Self.end(of: bytes, from: searched) }
        }
        let request = String(decoding: bytes, as: UTF8.self)
        requests.append(request)
        switch answer(request) {
        case .text(let text): try await write(text, to: stream)
        case .late(let pause, let text):
            try await loop.sleep(for: pause)
            try await write(text, to: stream)
        case .endless(let head, let again):
            try await write(head, to: stream)
            while true { try await write(again, to: stream) }
        case .held(let text):
            defer { left += 1 }
            try await write(text, to: stream)
            while try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) != 0 {
                try await stream.waitUntilReadable()
            }
        }
    }

    /// The length of a request with its body; nil until its head has come.
    ///
    /// - Parameter searched: the number of bytes of which it is known that the head does not end there.
    private static func end(of request: [UInt8], from searched: Int) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        var head = searched + mark.count
        while head <= request.count, request[head - 1] != mark[3] || request[(head - 4)..<head] != mark[...] {
            head += 1
        }
        guard head <= request.count else { return nil }
        let text = String(decoding: request[..<head], as: UTF8.self)
        let length = text.firstRange(of: "Content-Length: ").flatMap {
            Int(text[$0.upperBound...].prefix { $0.isNumber })
        }
        return head + (length ?? 0)
    }

    private func write(_ text: String, to stream: any ByteStream) async throws {
        let bytes = Array(text.utf8)
        var written = 0
        while written < bytes.count {
            let count = try bytes.withUnsafeBytes { bytes throws(SystemError) in
                try stream.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
            written += count
            guard count == 0 else { continue }
            isHeldUp = true
            try await stream.waitUntilWritable()
        }
    }
}
