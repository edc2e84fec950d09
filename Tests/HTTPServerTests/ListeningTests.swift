import Glibc
import Reactor
import TestSupport
import Testing

@testable import HTTPServer

/// Where a server listens, how it starts and ends, and connections that leave HTTP.
@Suite(.limited) struct ListeningTests {
    @Test(arguments: ["127.0.0.1", "127.11.12.13", "::1"])
    func itListensAtAnyAddress(host: String) async throws {
        try await ServerBench.run(host: host) { bench in
            #expect(bench.server.port != 0)
            let answer = try await bench.get("/here")
            #expect(answer.body == Array("GET /here 0".utf8))
        }
    }

    @Test func itTakesASocketThatSomebodyElseHasOpened() async throws {
        try await withLoop { loop in
            let opened = try StreamSocket.listening(at: SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
            let kept = try opened.duplicate()
            // As from a service manager: blocking, and somebody connects before the server is there.
            let flags = fcntl(opened.number, F_GETFL)
            _ = fcntl(opened.number, F_SETFL, flags & ~O_NONBLOCK)
            for _ in 0..<2 {
                let server = try HTTPServer(on: loop, listeningAt: kept.duplicate()) { _ in .now(.text("inherited")) }
                let thread = try ClientThread(RawClient(port: server.port), besides: loop)
                let answer = try await thread.get("/")
                #expect(answer.body == Array("inherited".utf8))
                server.stop()
                thread.stop()
            }
        }
    }

    @Test func itListensOnAUnixSocketAsWell() async throws {
        try await withLoop { loop in
            let path = "/tmp/http-server-test-\(getpid())-\(UInt32.random(in: 0...(.max)))"
            defer { unlink(path) }
            let socket = try StreamSocket.bound(to: path)
            try StreamSocket.listen(socket)
            var limits = HTTPServer.Limits()
            limits.connectionsPerAddress = 1
            let server = try HTTPServer(on: loop, listeningAt: socket, limits: limits) { _ in .now(.text("local")) }
            #expect(server.port == 0)
            // Who comes by a Unix socket has no address.
            let stream = try DescriptorStream(owning: StreamSocket.connected(to: path), on: loop)
            let another = try DescriptorStream(owning: StreamSocket.connected(to: path), on: loop)
            for stream in [stream, another] {
                try await stream.write(all: Array("GET / HTTP/1.0\r\n\r\n".utf8))
                let text = try await Self.readAll(stream)
                #expect(text.hasSuffix("local"))
                stream.close()
            }
            server.stop()
        }
    }

    @Test func aSocketThatDoesNotListenIsAnError() async throws {
        try await withLoop { loop in
            let ends = try socketPair()
            defer { close(ends.1) }
            let error = #expect(throws: SystemError.self) {
                _ = try HTTPServer(on: loop, listeningAt: Descriptor(owning: ends.0)) { _ in .closed(byReset: false) }
            }
            #expect(error?.code == EINVAL)
        }
    }

    @Test func aTakenPortIsAnError() async throws {
        try await ServerBench.run { bench in
            let addresses = try SocketAddress.resolve(host: "127.0.0.1", port: bench.server.port)
            let error = #expect(throws: SystemError.self) { _ = try StreamSocket.listening(at: addresses[0]) }
            #expect(error?.code == EADDRINUSE)
        }
    }

    /// At an address of its own, as a port of 127.0.0.1 that was given back can be another test's by now, and in a process of
    /// its own: one that another test starts has all sockets of this one until it runs its program.
    @Test func stoppingGivesThePortBack() async {
        await #expect(processExitsWith: .success) {
            try await ServerBench.run(host: "127.21.22.23") { bench in
                let answer = try await bench.get("/")
                #expect(answer.status == 200)
                bench.server.stop()
                let error = await #expect(throws: RawClient.Failure.self) { _ = try await bench.get("/") }
                #expect(error?.code == ECONNREFUSED)
                let addresses = try SocketAddress.resolve(host: "127.21.22.23", port: bench.server.port)
                _ = try StreamSocket.listening(at: addresses[0])
            }
        }
    }

    /// As many as there may be: one turn more reads the requests of the last ones.
    @Test func connectionsInTheQueueCanBeAnsweredBeforeTheEnd() async throws {
        var limits = HTTPServer.Limits()
        limits.connections = 5
        try await ServerBench.run(limits: limits) { bench in
            // The loop does nothing else meanwhile.
            let client = bench.thread.client
            let waiting = try (0..<5).map { _ in
                let descriptor = try client.connect()
                try client.send(client.request("GET", "/"), to: descriptor)
                return descriptor
            }
            #expect(bench.server.connectionCount == 0)
            bench.server.answerWhoWaits()
            bench.server.stop()
            for descriptor in waiting {
                let outcome = try await bench.talk { try $0.receive(from: descriptor) }
                #expect(outcome.statuses == [200] && outcome.ended)
                close(descriptor)
            }
        }
    }

    /// In a process of its own, as descriptors are the process's.
    @Test func nothingStaysOpen() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                func descriptors() -> Int { (0..<256).count { fcntl(Int32($0), F_GETFD) != -1 } }
                var before = 0
                for round in 0..<20 {
                    // The first one leaves what the process needs once.
                    if round == 1 { before = descriptors() }
                    try await ServerBench.run(on: loop) { bench in
                        for target in ["/", "/stream", "/later", "/upgrade"] {
                            let descriptor = try await bench.open(bench.thread.client.request("GET", target))
                            defer { close(descriptor) }
                            try await bench.until { bench.requests.last?.target == target }
                        }
                    }
                }
                // One a round would be twenty; what runs the test may open one of its own meanwhile.
                #expect(descriptors() < before + 10)
                #expect(loop.timerCount == 0)
            }
        }
    }

    // MARK: Other protocols

    @Test func anUpgradedConnectionIsAStreamThatBeginsWithWhatCameBehindTheRequest() async throws {
        try await ServerBench.run { bench in
            let head = bench.thread.client.request("GET", "/upgrade", fields: ["Connection: Upgrade", "Upgrade: echo"])
            let descriptor = try await bench.open(head + "first")
            defer { close(descriptor) }
            let answer = try await bench.talk { try $0.receive(from: descriptor, until: "\r\n\r\n") }
            #expect(answer.statuses == [101])
            try await bench.until { bench.upgraded.count == 1 }
            let stream = bench.upgraded[0]
            let first = try await Self.read(stream, 5)
            #expect(first == "first")
            try await bench.talk { try $0.send("second", to: descriptor) }
            let second = try await Self.read(stream, 6)
            #expect(second == "second")
            try await stream.write(all: Array("third".utf8))
            let third = try await bench.talk { try $0.receive(from: descriptor, until: "third") }
            #expect(third.text == "third")
            #expect(bench.server.connectionCount == 1)
            stream.close()
            stream.close()
            let outcome = try await bench.talk { try $0.receive(from: descriptor) }
            #expect(outcome.ended)
            try await bench.until { bench.server.connectionCount == 0 }
            #expect(throws: SystemError.self) { try stream.write(UnsafeRawBufferPointer(start: nil, count: 0)) }
        }
    }

    @Test func anUpgradedConnectionOutlivesPatienceAndEndsWithTheServer() async throws {
        var limits = HTTPServer.Limits()
        limits.patience = .milliseconds(100)
        try await ServerBench.run(limits: limits) { bench in
            let client = bench.thread.client
            let descriptor = try await bench.open(client.request("GET", "/upgrade", fields: ["Connection: Upgrade"]))
            defer { close(descriptor) }
            try await bench.until { bench.upgraded.count == 1 }
            try await bench.loop.sleep(for: .milliseconds(300))
            try await bench.upgraded[0].write(all: Array("still there".utf8))
            let text = try await bench.talk { try $0.receive(from: descriptor, until: "there") }.text
            #expect(text.hasSuffix("still there"))
            bench.server.stop()
            let outcome = try await bench.talk { try $0.receive(from: descriptor) }
            #expect(outcome.ended)
        }
    }

    private static func read(_ stream: any ByteStream, _ count: Int) async throws -> String {
        let buffer = ReadBuffer()
        var bytes: [UInt8] = []
        while bytes.count < count {
            guard let read = try stream.read(into: buffer.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            if read == 0 { break }
            bytes += buffer.memory[..<read]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func readAll(_ stream: any ByteStream) async throws -> String { try await read(stream, .max) }
}
