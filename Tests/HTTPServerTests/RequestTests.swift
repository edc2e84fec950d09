import Glibc
import HTTPServer
import Reactor
import TestSupport
import Testing

/// What of a request on a real socket reaches the handler.
@Suite(.limited) struct RequestTests {
    @Test func aRequestComesWhole() async throws {
        try await ServerBench.run { bench in
            let answer = try await bench.get("/a%20b/c?d=e?f&g=%20", fields: ["X-Cat: purr", "x-cat: meow", "Empty:"])
            #expect(answer.status == 200 && answer.body == Array("GET /a%20b/c?d=e?f&g=%20 0".utf8))
            let request = bench.requests[0]
            #expect(request.method == "GET" && request.path == "/a%20b/c" && request.query == "d=e?f&g=%20")
            #expect(request["X-CAT"] == "purr, meow" && request["empty"] == "" && request["X-Dog"] == nil)
            #expect(request["host"] == "cats.test" && request.body.isEmpty)
            #expect(request.fields.prefix(2) == [HTTPField("Host", "cats.test"), HTTPField("Connection", "close")])
        }
    }

    @Test func bodiesComeByLengthAndInChunks() async throws {
        try await ServerBench.run { bench in
            let body = String(repeating: "purr ", count: 10_000)
            let chunks = "4\r\npurr\r\nC350;x=y\r\n\(body)\r\n0\r\nTrailer: x\r\n\r\n"
            let text = try await bench.talk { client in
                try client.talk(
                    client.request("POST", "/1", fields: ["Content-Length: 50000"]) + body
                        + client.request("PUT", "/2", fields: ["Transfer-Encoding: chunked"]) + chunks
                        + client.request("DELETE", "/3", fields: ["Connection: close"]))
            }.text
            #expect(text.contains("POST /1 50000") && text.contains("PUT /2 50004") && text.contains("DELETE /3 0"))
            #expect(bench.requests.map(\.body) == [Array(body.utf8), Array("purr\(body)".utf8), []])
        }
    }

    @Test(arguments: ["X", "-1", "5000000000000000000000"])
    func aChunkOfNoSizeIsABadRequest(size: String) async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk { client in
                try client.talk(
                    client.request("POST", "/", fields: ["Transfer-Encoding: chunked"]) + "\(size)\r\nabc\r\n")
            }
            #expect(outcome.statuses.allSatisfy { $0 == 400 || $0 == 413 } && outcome.ended)
            #expect(bench.requests.isEmpty)
        }
    }

    @Test func everySplitOfARequestIsTheSameRequest() async throws {
        try await ServerBench.run { bench in
            let text = bench.thread.client.request("POST", "/x", fields: ["Content-Length: 9", "Connection: close"])
            let whole = text + "purr purr"
            for length in 1..<whole.utf8.count {
                let descriptor = try await bench.open(String(whole.prefix(length)))
                defer { close(descriptor) }
                let outcome = try await bench.talk { client in
                    try client.send(String(whole.dropFirst(length)), to: descriptor)
                    return try client.receive(from: descriptor)
                }
                #expect(outcome.text.hasSuffix("POST /x 9"), "split at \(length)")
            }
        }
    }

    @Test func halfARequestKeepsNobodyWaiting() async throws {
        try await ServerBench.run { bench in
            var open: [Int32] = []
            for text in [
                "G", "GET /", "GET / HTTP/1.1\r\nHost", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\npur",
            ] {
                open.append(try await bench.open(text))
                let answer = try await bench.get("/")
                #expect(answer.status == 200)
            }
            for descriptor in open { close(descriptor) }
            try await bench.until { bench.server.connectionCount == 0 }
            #expect(bench.requests.count == 4)
        }
    }

    @Test func requestsInARowAreAnsweredInTheirOrderAlsoWhenOneHasToWait() async throws {
        try await ServerBench.run { bench in
            let client = bench.thread.client
            let descriptor = try await bench.open(
                client.request("GET", "/1") + client.request("GET", "/later")
                    + client.request("GET", "/3", fields: ["Connection: close"]))
            defer { close(descriptor) }
            try await bench.until { bench.promises.count == 1 }
            try await bench.loop.sleep(for: .milliseconds(20))
            #expect(bench.requests.map(\.target) == ["/1", "/later"])
            bench.promises[0].answer(.now(.text("LATER /2")))
            let text = try await bench.talk { try $0.receive(from: descriptor) }.text
            let bodies = text.split(separator: "HTTP/1.1 200 OK").map { String($0.suffix(8)) }
            #expect(bodies == ["GET /1 0", "LATER /2", "GET /3 0"])
            #expect(bench.requests.map(\.target) == ["/1", "/later", "/3"])
        }
    }

    @Test func headHasTheFieldsButNotTheBody() async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk { try $0.talk($0.request("HEAD", "/12", fields: ["Connection: close"])) }
            #expect(outcome.text.hasSuffix("\r\n\r\n") && outcome.text.contains("Content-Length: 10\r\n"))
            #expect(bench.requests[0].method == "HEAD")
            let stream = try await bench.talk { try $0.talk($0.request("HEAD", "/stream") + "GET / HTTP/1.1\r\n") }
            #expect(stream.statuses == [200] && stream.ended && stream.text.contains("Connection: close\r\n"))
            #expect(stream.text.firstRange(of: "\r\n\r\n")?.upperBound == stream.text.endIndex, "\(stream.text)")
            #expect(bench.feeds[0].asked == 0 && bench.feeds[0].isComplete == true)
        }
    }

    @Test func whoeverExpectsToBeToldToGoOnIs() async throws {
        try await ServerBench.run { bench in
            let fields = ["Content-Length: 4", "Expect: 100-continue", "Connection: close"]
            let outcome = try await bench.talk { client in
                let descriptor = try client.connect()
                defer { close(descriptor) }
                try client.send(client.request("POST", "/", fields: fields), to: descriptor)
                let first = try client.receive(from: descriptor, until: "\r\n\r\n")
                try client.send("purr", to: descriptor)
                return (first, try client.receive(from: descriptor))
            }
            #expect(outcome.0.statuses == [100] && outcome.1.text.hasSuffix("POST / 4"))
        }
    }

    @Test(arguments: [
        "Host: x\r\nX: y  \r\n", "Host: x\r\nX:\r\nY:  \r\n", "Host: x\nX: y\n", "X: \u{1}ä\u{80}\r\nHost:x\r\n",
    ]) func blanksAroundValuesAreNone(fields: String) async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk("GET / HTTP/1.1\r\n\(fields)Connection: close\r\n\r\n")
            #expect(outcome.statuses == [200], "\(outcome.text)")
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", [400]), ("GET / HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n", [400]),
        ("GET / HTTP/9.9\r\n\r\n", [505]), ("GET / HTTP/1.1\r\nHost: x\r\nrubbish\r\n\r\n", [400]),
        ("GET / x HTTP/1.1\r\nHost: x\r\n\r\n", [400]), ("GET / x HTTP/1.0\r\n\r\n", [400]),
        ("\u{1}\u{2}\r\n\r\n", []), ("GET / HTTP/1.1\r\nHost: x\u{0}y\r\n\r\n", [400]),
        ("GET / HTTP/1.1\r\nHost: x\u{0}\u{0}y\r\nX: y\r\n\r\n", [400]),
        ("GET / HTTP/1.1\r\nHost: x\r\nX: y\u{0}Z: y\r\nX: y\r\n\r\n", [400]),
        ("GET / HTTP/1.1\r\nHost: x\nX:\u{0}y\n\n", [400]), ("GET /\u{0}x HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        ("GET /x\u{0} HTTP/1.1\r\nHost: x\r\n\r\n", [400]), ("GET /?a\u{0}b HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        ("GET\u{0}X / HTTP/1.1\r\nHost: x\r\n\r\n", [400]), ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
        ("GET /\u{1}x HTTP/1.1\r\nHost: x\r\n\r\n", [400]), ("GET /\u{7F} HTTP/1.1\r\nHost: x\r\n\r\n", [400]),
    ])
    func aHeadThatIsNoneIsRefused(head: String, statuses: [Int]) async throws {
        try await ServerBench.run { bench in
            let outcome = try await bench.talk(head)
            #expect(outcome.statuses == statuses)
            #expect(outcome.ended && bench.requests.isEmpty)
        }
    }
}
