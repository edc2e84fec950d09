import Glibc
import Reactor
import TestSupport
import Testing

@testable import Nats

/// The library, with a server that says what it likes.
@Suite(.limited) struct NatsConnectionTests {
    /// A server for one connection: it answers the handshake and the first request, and then sends a message of `size`
    /// bytes to the request's subscription; without a size it only sends its greeting.
    private final class Server: Sendable {
        let port: UInt16
        private let listener: Int32
        private let size: Int?
        /// Readable when all of the message has been sent.
        private let end: (read: Int32, write: Int32)

        init(size: Int?) throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
                    bind(listener, raw, length) == 0 && listen(listener, 1) == 0
                        && getsockname(listener, raw, &length) == 0
                }
            }
            var ends: [Int32] = [0, 0]
            try #require(isBound && pipe(&ends) == 0)
            (self.size, self.listener, port, end) = (size, listener, address.sin_port.byteSwapped, (ends[0], ends[1]))
        }

        deinit { for each in [listener, end.read, end.write] { close(each) } }

        /// Waits until all of the message has been sent.
        func waitForEnd() {
            var byte: UInt8 = 0
            _ = read(end.read, &byte, 1)
        }

        func serve() {
            let client = accept(listener, nil, nil)
            defer { close(client) }
            func send(_ text: String) { _ = Glibc.send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL)) }
            send(
                #"INFO {"server_id":"x","version":"2.9.0","max_payload":1048576,"headers":true,"jetstream":true}"#
                    + "\r\n")
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 4_096)
            guard let size else {
                while recv(client, &buffer, buffer.count, 0) > 0 {}
                return
            }
            while !text.contains("$JS.API") {
                let count = recv(client, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                let new = String(decoding: buffer[..<count], as: UTF8.self)
                text += new
                if new.contains("PING\r\n") { send("PONG\r\n") }
            }
            // SUB <inbox>.* <sid>, and PUB $JS.API… <inbox>.<token> 0
            let words = text.split(whereSeparator: \.isWhitespace)
            guard let sub = words.firstIndex(of: "SUB"), let pub = words.firstIndex(where: { $0.hasPrefix("$JS.API") })
            else { return }
            send("MSG \(words[pub + 1]) \(words[sub + 2]) 2\r\n{}\r\n")
            send("MSG \(words[pub + 1]) \(words[sub + 2]) \(size)\r\n")
            let block = [UInt8](repeating: UInt8(ascii: "z"), count: 1 << 20)
            for _ in 0..<size >> 20 {
                var left = block[...]
                while !left.isEmpty {
                    let count = left.withUnsafeBytes {
                        Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    guard count > 0 else { break }
                    left = left.dropFirst(count)
                }
            }
            send("\r\n")
            _ = write(end.write, "x", 1)
            // Until the client has gone.
            while recv(client, &buffer, buffer.count, 0) > 0 {}
        }
    }

    /// Closes connections while a message comes, or after it.
    ///
    /// - Parameters:
    ///   - size: the message's, in bytes.
    ///   - pauses: for each connection, from the end of the message to its close, in microseconds.
    private func closeConnections(size: Int, pauses: [UInt32]) async throws {
        let threads = try (server: LoopThread(name: "server"), client: LoopThread(name: "client"))
        defer {
            threads.server.stop()
            threads.client.stop()
        }
        for pause in pauses {
            let server = try Server(size: size)
            let serving = Task(executorPreference: threads.server.loop) { server.serve() }
            let closing = Task(executorPreference: threads.client.loop) {
                let address = NatsAddress(host: "127.0.0.1", port: server.port)
                let connection = NatsConnection(to: NatsServers([address]), name: "test", inbox: "_INBOX_test")
                try connection.connect()
                #expect(throws: NatsFault.self) { _ = try connection.stream("S") }
                server.waitForEnd()
                usleep(pause)
                connection.close()
            }
            try await closing.value
            await serving.value
        }
    }

    /// nats.c copies a message that has come whole; a connection that is closed meanwhile must not free what it is for.
    @Test func closingWhileALongMessageComesIsSafe() async throws {
        try await closeConnections(
            size: 48 << 20, pauses: (0..<UInt32(LongRun.rounds(short: 3, long: 12))).map { $0 * 2_000 })
    }

    /// nats.c would wait for ever, in a loop that takes memory.
    @Test func aServerThatOnlySendsItsGreetingIsGivenUp() async throws {
        let server = try Server(size: nil)
        let threads = try (server: LoopThread(name: "server"), client: LoopThread(name: "client"))
        defer {
            threads.server.stop()
            threads.client.stop()
        }
        let serving = Task(executorPreference: threads.server.loop) { server.serve() }
        let connecting = Task(executorPreference: threads.client.loop) {
            let address = NatsAddress(host: "127.0.0.1", port: server.port)
            let connection = NatsConnection(
                to: NatsServers([address]), name: "test", inbox: "_INBOX_test", patience: 250)
            let fault = #expect(throws: NatsFault.self) { try connection.connect() }
            #expect(fault?.reason == "the server has sent its greeting, and no answer")
        }
        await connecting.value
        await serving.value
    }

    /// To close any descriptor of a file ends all locks that the process has on it, such as SQLite's on a journal.
    @Test func closingLeavesTheLocksOfFilesAlone() async throws {
        let folder = try TemporaryFolder()
        let locked = open(folder.path("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        try #require(locked >= 0 && fcntl(locked, F_SETLK, &lock) == 0)
        try await closeConnections(size: 1 << 20, pauses: [0])
        // An open file's own locks meet those of any process.
        let other = open(folder.path("file"), O_RDWR | O_CLOEXEC)
        let openFileLock: Int32 = 36  // F_OFD_GETLK
        lock.l_pid = 0
        #expect(fcntl(other, openFileLock, &lock) == 0 && lock.l_type == F_WRLCK && lock.l_pid == getpid())
        close(other)
        close(locked)
    }
}
