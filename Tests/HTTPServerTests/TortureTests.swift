import Glibc
import Reactor
import TestSupport
import Testing

@testable import HTTPServer

/// What nobody asks for who means well, on real sockets: it is answered or ends, the server goes on, and what may be read in
/// two ways is not read at all.
@Suite(.limited) struct TortureTests {
    private static func limits(_ change: (inout HTTPServer.Limits) -> Void) -> HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        change(&limits)
        return limits
    }

    // MARK: Heads

    @Test(arguments: [
        // The length of a body, said twice or in no way that all agree on; what follows is nobody's request.
        ("Content-Length: 4\r\nContent-Length: 4", 400), ("Content-Length: 4\r\nContent-Length: 5", 400),
        ("content-length: 4\r\nContent-LENGTH: 0", 400), ("Content-Length: 4, 4", 400),
        ("Content-Length: 4\r\nTransfer-Encoding: chunked", 400),
        ("Transfer-Encoding: chunked\r\nContent-Length: 4", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", 501),
        ("Transfer-Encoding: gzip, chunked", 501), ("Transfer-Encoding: chunked, identity", 501),
        ("Transfer-Encoding: identity", 501), ("Transfer-Encoding: xchunked", 501),
        ("Transfer-Encoding: \u{B}chunked", 501),
        ("Transfer-Encoding:", 501),
        ("Content-Length : 4", 400), ("Content-Length\t: 4", 400), ("Transfer-Encoding : chunked", 400),
        (" Content-Length: 4", 400), ("X Y: 4", 400),
        ("Content-Length: +4", 400), ("Content-Length: 0x4", 400), ("Content-Length: 4x", 400),
        ("Content-Length: -4", 400), ("Content-Length:", 400), ("Content-Length: 1 2", 400),
        ("Content-Length: 18446744073709551616", 413), ("Content-Length: 99999999999999999999999", 413),
        ("Host: x", 400), ("host: y", 400),
    ])
    func aHeadThatMayBeReadInTwoWaysIsRefusedWithWhatFollows(fields: String, status: Int) async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk { client in
                try client.talk(
                    client.request("POST", "/", fields: fields.split(separator: "\r\n").map(String.init))
                        + "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
            }
            // libmicrohttpd says the head of a refusal of its own twice.
            #expect(
                !outcome.statuses.isEmpty && outcome.statuses.allSatisfy { $0 == status }, "\(fields): \(outcome.text)")
            #expect(outcome.ended && bench.requests.isEmpty, "\(outcome.text)")
        }
    }

    @Test(arguments: [
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npurr\r\n0\r\n\r\n", "GET /\r\n\r\n", "GET\r\n\r\n",
        "GET / HTTP/1.1 x\r\nHost: x\r\n\r\n", "GET /\tHTTP/1.1\r\nHost: x\r\n\r\n", "/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET x HTTP/1.1\r\nHost: x\r\n\r\n", "GET * HTTP/1.1\r\nHost: x\r\n\r\n", "GET ? HTTP/1.1\r\nHost: x\r\n\r\n",
        "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://me@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET http:/x HTTP/1.1\r\nHost: x\r\n\r\n", "GET /\u{7F} HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / http/1.1\r\nHost: x\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{FC}\u{3}\u{3}", "\0\0\0\0\r\n\r\n", "\r\n\r\n\r\n\r\n\0",
    ])
    func aRequestLineThatIsNoneReachesNobody(text: String) async throws {
        try await ServerBench.run(limits: Self.limits { $0.head = .milliseconds(50) }) { bench in
            let outcome = try await bench.talk(text)
            #expect(outcome.ended && bench.requests.isEmpty, "\(outcome.text)")
            #expect(outcome.statuses.allSatisfy { 400..<600 ~= $0 } && outcome.statuses.count <= 1, "\(outcome.text)")
        }
    }

    @Test(arguments: [
        "/../../etc/passwd", "/%2e%2e/%2E%2E%2fetc%2Fpasswd", "/a%2fb%5C..%00", "//x//", "/\\..\\", "/%zz%", "/./..;/",
        "/?..?/",
        "/é/%C3%A9\u{80}", "/#part",
    ])
    func aPathReachesTheHandlerAsItWasSent(target: String) async throws {
        try await ServerBench.run { bench in
            let answer = try await bench.get(target)
            #expect(answer.status == 200 && bench.requests.map(\.target) == [target])
        }
    }

    @Test(arguments: [
        ("GET", "http://cats.example:81/a%2f?b=c", "/a%2f?b=c", "cats.example:81"),
        ("GET", "HTTPS://cats.example", "/", "cats.example"), ("GET", "http://[::1]:80?x", "/?x", "[::1]:80"),
        ("OPTIONS", "*", "*", "cats.test"), ("OPTIONS", "/x", "/x", "cats.test"),
        ("GET", "/http://x/", "/http://x/", "cats.test"),
    ])
    func aTargetThatIsAnAddressIsItsPathAndItsHost(
        method: String, target: String, path: String, host: String
    ) async throws {
        try await ServerBench.run { bench in
            let answer = try await bench.talk { client in
                try WireAnswer(client.talk(client.request(method, target, fields: ["Connection: close"])))
            }
            #expect(answer.status == 200)
            #expect(bench.requests.map(\.target) == [path] && bench.requests.map { $0["Host"] } == [host])
        }
    }

    /// What libmicrohttpd reads as a part of the name never is the field that it began as, and none that counts here.
    @Test(arguments: ["Host: x\r\n y", "Host: x\r\n : y", "Content-Length: 4\r\n 0", "Content-Length: 4\r\n\tX: y"])
    func aLineThatGoesOnInTheNextOneIsNeverALength(fields: String) async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk("POST / HTTP/1.1\r\nX: y\r\n\(fields)\r\nConnection: close\r\n\r\npurr")
            #expect(outcome.ended && outcome.statuses.allSatisfy { $0 == 400 } && bench.requests.isEmpty)
        }
    }

    @Test func behindANulNothingOfALineCounts() async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk(
                "GET /a\0b HTTP/1.1\r\nHost: x\0y\r\nX: p\0urr\r\nConnection: close\r\n\r\n")
            #expect(outcome.ended && outcome.statuses.count <= 1)
            for request in bench.requests {
                #expect(request.target == "/a" && request["Host"] == "x" && request["X"] == "p")
            }
        }
    }

    @Test(arguments: [1_000_000, 20_000])
    func aMillionFieldsAreTooMany(count: Int) async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk { client in
                let descriptor = try client.connect()
                defer { close(descriptor) }
                // It is not read to its end, so that sending may fail.
                try? client.send(
                    "GET / HTTP/1.1\r\nHost: x\r\n" + String(repeating: "X: y\r\n", count: count) + "\r\n",
                    to: descriptor)
                return try client.receive(from: descriptor)
            }
            #expect(outcome.ended && bench.requests.isEmpty && (outcome.wasReset || outcome.statuses == [431]))
            #expect(try await bench.get("/").status == 200)
        }
    }

    @Test func aBadRequestBehindGoodOnesEndsTheConnection() async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk { client in
                try client.talk(
                    client.request("GET", "/1") + client.request("GET", "/2") + "rubbish\r\n\r\n"
                        + client.request("GET", "/3"))
            }
            #expect(outcome.statuses.prefix(2) == [200, 200] && outcome.statuses.dropFirst(2).allSatisfy { $0 == 400 })
            #expect(outcome.ended && bench.requests.count == 2)
        }
    }

    // MARK: Random

    @Test func whateverARequestIsTurnedIntoItIsAnsweredOrEnds() async throws {
        let seed = UInt64.random(in: 0...(.max))
        let limits = Self.limits {
            $0.memory = 8 << 10
            $0.head = .milliseconds(250)
            $0.patience = .milliseconds(250)
        }
        try await ServerBench.run(limits: limits) { bench in
            var random = SeededGenerator(seed: seed)
            let each = 100
            for round in 0..<LongRun.rounds(short: 5, long: 300) {
                let texts = (0..<each).map { _ in Self.mutated(&random) }
                let outcomes = try await bench.talk { client in
                    let open = try texts.map { text in
                        let descriptor = try client.connect()
                        try? client.send(text, to: descriptor)
                        if text.count % 5 == 0 { shutdown(descriptor, Int32(SHUT_WR)) }
                        return descriptor
                    }
                    // Gives up after 20 s of silence, which is an error here.
                    defer { for descriptor in open { close(descriptor) } }
                    return try open.map { try client.receive(from: $0) }
                }
                for (text, outcome) in zip(texts, outcomes) {
                    let isFine =
                        outcome.ended && outcome.statuses.allSatisfy { 100..<600 ~= $0 }
                        && (outcome.bytes.isEmpty || outcome.text.hasPrefix("HTTP/1.1 "))
                    #expect(isFine, "seed \(seed), round \(round): \(text)\n\(outcome.text)")
                }
            }
            #expect(bench.requests.count > 20)
            for request in bench.requests {
                #expect(request.target.hasPrefix("/") || request.target == "*", "seed \(seed): \(request)")
                #expect(
                    request.fields.allSatisfy { !$0.name.isEmpty && !$0.name.contains(" ") }, "seed \(seed): \(request)"
                )
            }
            try await bench.until { bench.server.connectionCount == 0 }
            #expect(try await bench.get("/").status == 200)
        }
    }

    private static let seeds = [
        "GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\npurr purrGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        "PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\npurr\r\n0\r\nTrailer: x\r\n\r\n",
        "GET http://x/a HTTP/1.0\r\nExpect: 100-continue\r\nRange: bytes=0-\r\nX: a\r\n b\r\n\r\n",
    ]
    private static let pieces = [
        "\r\n", "\n", "\r", "\0", " ", "\t", ":", "/", "0", "FFFFFFFFFFFFFFFF", "-1", ";", "chunked", "%00", "é",
    ]

    private static func mutated(_ random: inout SeededGenerator) -> [UInt8] {
        var bytes = Array(seeds[Int.random(in: 0..<seeds.count, using: &random)].utf8)
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            let end = min(bytes.count, place + Int.random(in: 0...8, using: &random))
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes.removeSubrange(place..<end)
            case 1: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 2: bytes.insert(contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &random)].utf8, at: place)
            case 3: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
            case 4: bytes.removeSubrange(place...)
            default: bytes.insert(contentsOf: repeatElement(0x41, count: 10_000), at: place)
            }
        }
        return bytes
    }

    // MARK: Masses

    @Test(.disabled(if: ThreadSanitizer.isOn)) func tenThousandConnectionsTakeNoMoreThanTheirPlaces() async {
        await #expect(processExitsWith: .success) {
            DescriptorLimit.raise(for: 11_000)
            let limits = TortureTests.limits {
                $0.connections = 200
                $0.memory = 8 << 10
            }
            try await ServerBench.run(limits: limits) { bench in
                #expect(try await bench.get("/").status == 200)
                let before = try MemoryTests.residentBytes()
                let most = limits.connections + HTTPServer.surplus
                let open = try await bench.talk { client in
                    // As many as this machine lets a process have; each says a part of a request.
                    var open: [Int32] = []
                    while open.count < LongRun.rounds(short: 2_000, long: 10_000),
                        let descriptor = try? client.connect(waits: false)
                    {
                        try? client.send("GET / HTTP/1.1\r\nX: ", to: descriptor)
                        open.append(descriptor)
                    }
                    return open
                }
                #expect(open.count > 3 * most)
                // Those that came first give way to those that come later.
                try await bench.until { bench.server.connectionCount == limits.connections }
                let grown = try MemoryTests.residentBytes() - before
                print("\(open.count) connections: \(grown) bytes")
                #expect(bench.server.connectionCount <= most && grown < 16 << 20)
                #expect(try await bench.get("/").status == 200)
                for descriptor in open {
                    var now = linger(l_onoff: 1, l_linger: 0)
                    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
                    close(descriptor)
                }
                try await bench.until { bench.server.connectionCount < limits.connections / 2 }
                #expect(try await bench.get("/").status == 200)
            }
        }
    }

    /// A process that cannot open another descriptor.
    @Test func withoutADescriptorLeftItWaitsUntilThereIsOneAndDoesNotSpin() async {
        await #expect(processExitsWith: .success) {
            try await ServerBench.run { bench in
                let client = bench.thread.client
                let open = try await bench.talk { _ in
                    try (0..<50).map { _ in try client.connect() }
                }
                for descriptor in open { close(descriptor) }
                try await bench.until { bench.server.connectionCount == 0 }
                // Sockets that are there before the limit is, connected after it: the kernel lets them in, and nobody takes them.
                let sockets = (0..<5).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
                let free = dup(0)
                close(free)
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
                var limit = rlimit()
                getrlimit(resource, &limit)
                let usual = limit.rlim_cur
                limit.rlim_cur = rlim_t(free)
                setrlimit(resource, &limit)
                for number in sockets {
                    var address = sockaddr_in()
                    address.sin_family = sa_family_t(AF_INET)
                    address.sin_port = client.port.bigEndian
                    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
                    let status = withUnsafePointer(to: &address) {
                        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(number, $0, length) }
                    }
                    #expect(status == 0)
                    try client.send(client.request("GET", "/", fields: ["Connection: close"]), to: number)
                }
                // It has a turn in each of the loop's, unless it pauses.
                let before = bench.server.turns
                for _ in 0..<1_000 { try await bench.loop.sleep(for: .zero) }
                #expect(bench.server.connectionCount == 0)
                #expect((1..<100) ~= bench.server.turns - before, "\(bench.server.turns - before) turns")
                limit.rlim_cur = usual
                setrlimit(resource, &limit)
                for number in sockets {
                    #expect(try await bench.talk { try $0.receive(from: number) }.statuses == [200])
                    close(number)
                }
            }
        }
    }
}
