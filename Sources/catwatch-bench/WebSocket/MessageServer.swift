internal import Feed
internal import Glibc
internal import Reactor
internal import WebSocket

/// A server in its own process that sends small messages at a steady rate, with our codec and one thread, so that its
/// cost is not measured. Scenarios start it; `catwatch-bench list` does not name it.
enum MessageServer {
    /// The messages to send.
    struct Order {
        /// Messages per second.
        var rate = 50_000
        /// The number of messages before it closes the connection.
        var count = 500_000

        var arguments: [String] { ["messages", "\(rate)", "\(count)"] }

        init(rate: Int, count: Int) {
            self.rate = rate
            self.count = count
        }

        /// - Throws: `BenchError` that says what is wrong with the arguments.
        init(_ words: ArraySlice<String>) throws(BenchError) {
            let numbers = words.compactMap { Int($0) }
            guard numbers.count == 2, words.count == 2, numbers.allSatisfy({ $0 > 0 }) else {
                throw BenchError("messages takes a rate and a count")
            }
            (rate, count) = (numbers[0], numbers[1])
        }
    }

    /// The number of cities, which take turns.
    static let cities = 100
    /// The longest pause between two writes.
    private static let pause = Duration.milliseconds(1)

    /// Listens, prints the port on stdout, and serves one client.
    static func run(_ order: Order) throws {
        let listener = try listen()
        Text.write("\(try port(of: listener))\n", to: 1)
        let client = Descriptor(owning: try systemCall("accept") { accept(listener, nil, nil) })
        var one: Int32 = 1
        setsockopt(client.number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        try shakeHands(client.number)
        try send(order, to: client.number)
    }

    private static func listen() throws -> Int32 {
        let number = try systemCall("socket") { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try systemCall("bind") { bind(number, address, socklen_t(MemoryLayout<sockaddr_in>.size)) }
            }
        }
        _ = try systemCall("listen") { Glibc.listen(number, 1) }
        return number
    }

    private static func port(of socket: Int32) throws -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = try systemCall("getsockname") { getsockname(socket, address, &size) }
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    /// The monotonic clock in microseconds, which all processes share.
    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    }

    private static func shakeHands(_ socket: Int32) throws {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard try systemCall("read", { read(socket, &byte, 1) }) == 1 else { throw BenchError("no handshake") }
            head.append(byte)
        }
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let name = "Sec-WebSocket-Key: "
        guard let line = lines.first(where: { $0.hasPrefix(name) }) else { throw BenchError("no key") }
        let accept = Handshake.accept(key: String(line.dropFirst(name.count)))
        let answer = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(accept)", "", "",
        ]
        try write(Array(answer.joined(separator: "\r\n").utf8), to: socket)
    }

    /// Sends at absolute times: delays are made up for. A message holds the time when it is written.
    private static func send(_ order: Order, to socket: Int32) throws {
        let start = now
        var sent = 0
        var bytes: [UInt8] = []
        while sent < order.count {
            let time = now
            let due = min(order.count, (time - start) * order.rate / 1_000_000)
            if sent == due {
                usleep(UInt32(pause / .microseconds(1)))
                continue
            }
            bytes.removeAll(keepingCapacity: true)
            for number in sent..<due {
                let message =
                    "{\"city\":\"city-\(number % cities)\",\"aqi\":\(number % 500),\"sent\":\(time),\"n\":\(number)}"
                FrameEncoder.append(.text, message.utf8, key: nil, to: &bytes)
            }
            sent = due
            try write(bytes, to: socket)
        }
        bytes.removeAll()
        FrameEncoder.appendClose(.normal, key: nil, to: &bytes)
        try write(bytes, to: socket)
        var byte: UInt8 = 0
        while read(socket, &byte, 1) > 0 {}  // until the client has everything and leaves
    }

    private static func write(_ bytes: [UInt8], to socket: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try systemCall("send") {
                rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
            rest = rest.dropFirst(count)
        }
    }
}
