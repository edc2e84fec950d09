import Feed
import Glibc
import HTTPServer
import Outputs
import Reactor
import TestSupport
import Testing
import Web

@Suite(.limited) struct WebServerTests {
    @Test(arguments: [
        "/nothing", "/index.html/", "//", "/../main.mjs", "/%6dain.mjs", "/main.mjs/..", "/..%2f..%2fetc/passwd",
        "/./main.mjs", "/events/", "/Main.mjs",
    ]) func anotherPathIsNothing(target: String) async throws {
        try await WebStage.run { stage in
            let answer = try await stage.ask("GET", target)
            #expect(answer.status == 404, "\(target)")
        }
    }

    @Test func aWholeAddressIsItsPathUnderItsOwnName() async throws {
        try await WebStage.run { stage in
            let file = try await stage.ask("GET", "/main.mjs")
            let whole = try await stage.ask("GET", "http://localhost/main.mjs", ["Host: evil.test"])
            #expect(whole.status == 200 && whole.body == file.body)
            for (target, status) in [("http://evil.test/main.mjs", 421), ("main.mjs", 400), ("*", 400)] {
                #expect(try await stage.ask("GET", target).status == status, "\(target)")
            }
        }
    }

    /// As much as settings can ask for, beside a head that is as long as it may be.
    @Test func thereIsRoomForEveryOrigin() async throws {
        var settings = WebSettings()
        settings.frames = [String(repeating: "f", count: 2_047)]
        settings.pictures = [String(repeating: "p", count: 2_047)]
        try await WebStage.run(settings) { (stage) async throws -> Void in
            for length in [0, 4_000, 8_000] {
                let padding = "X-Padding: \(String(repeating: "x", count: length))"
                for (path, status) in [("/", 200), ("/main.mjs", 200), ("/snapshot", 200), ("/nothing", 404)] {
                    #expect(try await stage.ask("GET", path, [padding]).status == status, "\(path), \(length)")
                }
            }
        }
    }

    @Test(.enabled(if: RawClient.ownAddress != nil, "this machine has no address but loopback's"))
    func oneAddressDoesNotTakeEveryConnection() async throws {
        let host = try #require(RawClient.ownAddress)
        var limits = WebServer.limits
        limits.connectionsPerAddress = 2
        try await WebStage.run(at: host, limits: limits) { stage in
            let (first, open) = try await stage.talk { client in
                // Each is known to be open once it is answered.
                let request = "GET /config HTTP/1.1\r\nHost: localhost\r\n\r\n"
                let open = try [client.connect(), client.connect()]
                for descriptor in open {
                    try client.send(request, to: descriptor)
                    _ = try client.receive(from: descriptor, until: "attached")
                }
                return (try? client.get("/config").status, open)
            }
            #expect(first == nil)
            for descriptor in open { RawClient.leave(descriptor) }
            try await stage.wait(for: "a place") { (try? await stage.ask("GET", "/").status) == 200 }
        }
    }

    /// Answers that are longer than what lies in the kernel for a client.
    @Test(arguments: ["/snapshot", "/metrics"])
    func aClientThatTakesNothingIsCutOff(path: String) async throws {
        var settings = WebSettings()
        settings.metricsSeries = 10_000
        var limits = WebServer.limits
        limits.patience = .milliseconds(300)
        try await WebStage.run(settings, limits: limits) { stage in
            let text = Array(String(repeating: "<", count: 300).utf8)[...]
            let events = (0..<9_000).map { number in
                let key = Array("\(number) \(String(repeating: "\"", count: 110))".utf8)[...]
                let datum = Datum(key: key, value: 1, text: text)
                return Event(time: stage.store.wallTime, source: stage.source, body: .data(datum))
            }
            await stage.store.publish(events)
            let (wasReset, outcome) = try await stage.talk { client in
                let descriptor = try client.connect(room: 4_096)
                defer { RawClient.leave(descriptor) }
                try client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                // It says so when the connection is reset, and of nothing else.
                var entry = pollfd(fd: descriptor, events: 0, revents: 0)
                return (poll(&entry, 1, 120_000) == 1, try client.receive(from: descriptor))
            }
            #expect(wasReset && outcome.ended)
            // And its place is free.
            #expect(try await stage.ask("HEAD", path).status == 200)
        }
    }

    @Test func aMethodThatAPathDoesNotTakeIsRefused() async throws {
        try await WebStage.run { stage in
            for path in ["/", "/main.mjs", "/events", "/feed"] {
                for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
                    let answer = try await stage.ask(method, path)
                    #expect(answer.status == 405 && answer.fields["allow"] == "GET, HEAD", "\(method) \(path)")
                }
                let head = try await stage.ask("HEAD", path)
                #expect(head.status == 200 && head.body.isEmpty, "\(path)")
            }
            #expect(await stage.server.readerCount == 0)
        }
    }

    /// Refusals of the server's own among them.
    @Test func everyAnswerHasTheFieldsThatProtectIt() async throws {
        try await WebStage.run { stage in
            await stage.publish()
            let answers = [
                try await stage.ask("GET", "/"), try await stage.ask("GET", "/nothing"),
                try await stage.ask("POST", "/"), try await stage.ask("GET", "/", ["Host: evil.test"]),
                try await stage.ask("GET", "/feed?x"),
                try await stage.stream("/events", until: "\"seq\":1"),
                try await stage.stream("/feed", until: "\"seq\":1"),
                try await stage.ask("POST", "/", ["Content-Length: 100000"]),
            ]
            #expect(answers.map(\.status) == [200, 404, 405, 421, 400, 200, 200, 413])
            for answer in answers {
                let policy = answer.fields["content-security-policy"] ?? ""
                #expect(policy.hasPrefix("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
                #expect(policy.contains("require-trusted-types-for 'script'; trusted-types 'none'"))
                #expect(answer.fields["x-content-type-options"] == "nosniff")
                #expect(answer.fields["referrer-policy"] == "no-referrer")
                #expect(answer.fields["cross-origin-resource-policy"] == "same-origin")
                #expect(!answer.fields.keys.contains { $0.hasPrefix("access-control") })
                #expect(answer.fields["date"]?.hasSuffix("GMT") == true)
            }
        }
    }

    @Test func aNameThatIsNotItsOwnIsRefusedEverywhere() async throws {
        var settings = WebSettings()
        settings.hosts = ["cats.test"]
        try await WebStage.run(settings) { stage in
            for path in ["/", "/events", "/feed", "/nothing"] {
                #expect(try await stage.ask("GET", path, ["Host: evil.test"]).status == 421)
            }
            let known = try await stage.ask("GET", "/", ["Host: Cats.test:80"])
            #expect(known.status == 200)
            await stage.server.change(to: WebSettings(), readers: ReaderLimits())
            #expect(try await stage.ask("GET", "/", ["Host: cats.test"]).status == 421)
        }
    }

    @Test func withoutTheTokenThereIsNothing() async throws {
        var settings = WebSettings()
        settings.token = WebToken("0123456789abcdef")
        try await WebStage.run(settings) { stage in
            await stage.publish()
            for path in ["/", "/main.mjs", "/events", "/feed", "/nothing"] {
                let answer = try await stage.ask("GET", path)
                #expect(answer.status == 401, "\(path)")
                #expect(
                    String(decoding: answer.outcome.bytes, as: UTF8.self).contains(
                        "WWW-Authenticate: Basic realm=\"catwatch\", charset=\"UTF-8\"\r\n"))
                #expect(answer.outcome.text.contains("WWW-Authenticate: Bearer realm=\"catwatch\""))
            }
            #expect(try await stage.ask("GET", "/", ["Authorization: Bearer 0123456789abcdeF"]).status == 401)
            let known = "Authorization: Bearer 0123456789abcdef"
            #expect(try await stage.ask("GET", "/", [known]).status == 200)
            #expect(try await stage.stream("/feed", [known], until: "\"seq\":1").status == 200)
            #expect(try await stage.ask("GET", "/", [known, known]).status == 401)
            // Whose name is wrong is not asked for a password.
            #expect(try await stage.ask("GET", "/", ["Host: evil.test", known]).status == 421)
            await stage.server.change(to: WebSettings(), readers: ReaderLimits())
            #expect(try await stage.ask("GET", "/").status == 200)
        }
    }

    @Test func onlyHowItGoesIsToldWithoutTheToken() async throws {
        var settings = WebSettings()
        settings.token = WebToken("0123456789abcdef")
        try await WebStage.run(settings) { (stage) async throws -> Void in
            #expect(try await stage.ask("GET", "/healthz").status == 200)
            #expect(try await stage.ask("GET", "/readyz").status == 503)
            // Not to another site's page under a name that leads here.
            for path in ["/healthz", "/readyz"] {
                #expect(try await stage.ask("GET", path, ["Host: evil.test"]).status == 421, "\(path)")
            }
            #expect(try await stage.ask("GET", "/metrics").status == 401)
            let known = "Authorization: Bearer 0123456789abcdef"
            #expect(try await stage.ask("GET", "/metrics", [known]).status == 200)
        }
    }

    @Test func streamsTakeNoPlaceOfRequests() async throws {
        var limits = WebServer.limits
        limits.connections = 1
        var readers = ReaderLimits()
        readers.readers = 3
        try await WebStage.run(readers: readers, limits: limits) { stage in
            let open = try await stage.talk { client in
                try (0..<3).map { _ in
                    let descriptor = try client.connect()
                    try client.send("GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                    _ = try client.receive(from: descriptor, until: "stats")
                    return descriptor
                }
            }
            #expect(try await stage.ask("GET", "/").status == 200)
            for descriptor in open { RawClient.leave(descriptor) }
        }
    }

    @Test func whoWasLetInWithoutTheTokenOfNowHasToLeave() async throws {
        try await WebStage.run { stage in
            var settings = WebSettings()
            await stage.publish()
            var known = ""
            // The first token, another one, the same one: whoever reads stays with the same one, and without any.
            for (token, stays) in [
                ("0123456789abcdef", false), ("0123456789abcdeF", false), ("0123456789abcdeF", true),
            ] {
                let fields = [known]
                let descriptor = try await stage.talk { client in
                    let descriptor = try client.connect()
                    let lines = ["GET /feed HTTP/1.1", "Host: localhost"] + fields.filter { !$0.isEmpty }
                    try client.send(lines.map { "\($0)\r\n" }.joined() + "\r\n", to: descriptor)
                    _ = try client.receive(from: descriptor, until: "\"seq\":1,")
                    return descriptor
                }
                settings.token = WebToken(token)
                await stage.server.change(to: settings, readers: ReaderLimits())
                let readers = await stage.server.readerCount
                #expect(readers == (stays ? 1 : 0))
                if !stays {
                    let rest = try await stage.talk { try $0.receive(from: descriptor) }
                    #expect(rest.ended && !rest.wasReset && (rest.bytes.isEmpty || rest.bytes.last == 0x0A))
                }
                RawClient.leave(descriptor)
                known = "Authorization: Bearer \(token)"
                try await stage.wait(for: "its end") { await stage.server.readerCount == 0 }
            }
        }
    }

    @Test func readersThatAreTooManyTakeNobodysPlace() async throws {
        var limits = WebServer.limits
        limits.connections = 2
        var readers = ReaderLimits()
        readers.readers = 1
        try await WebStage.run(readers: readers, limits: limits) { [readers] stage in
            await stage.publish()
            let stream = "GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n"
            var more = readers
            more.readers = 50
            let first = try await stage.talk { client in
                let descriptor = try client.connect()
                try client.send(stream, to: descriptor)
                _ = try client.receive(from: descriptor, until: "\"seq\":1,")
                return descriptor
            }
            // None of these goes by itself.
            for number in 0..<4 {
                // Nor does a seat more make a place more.
                if number == 2 { await stage.server.change(to: WebSettings(), readers: more) }
                let refused = try await stage.talk { client in
                    let descriptor = try client.connect()
                    defer { RawClient.leave(descriptor) }
                    try client.send(stream, to: descriptor)
                    return try WireAnswer(client.receive(from: descriptor))
                }
                #expect(refused.status == 503 && refused.outcome.ended && refused.fields["connection"] == "close")
            }
            #expect(try await stage.ask("GET", "/healthz").status == 200)
            RawClient.leave(first)
        }
    }

    @Test func aPageOfAnotherSiteChangesNothing() async throws {
        try await WebStage.run { stage in
            let other = try await stage.ask("POST", "/", ["Origin: http://evil.test"])
            #expect(other.status == 403)
            #expect(try await stage.ask("POST", "/", ["Sec-Fetch-Site: cross-site"]).status == 403)
            #expect(try await stage.ask("GET", "/", ["Sec-Fetch-Site: cross-site"]).status == 200)
        }
    }
}
