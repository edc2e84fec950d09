import Feed
import Outputs
import Reactor
import TestSupport
import Testing

@testable import HTTPServer
@testable import Web

@Suite(.limited) struct AlertsHandlerTests {
    static let hostile = "a\"b\\c\n\u{1}\u{7F}\u{202E}\u{1B}[2J</script>é🐈"

    /// An answer, taken apart.
    private struct Answer {
        let run: String?
        let alerts: [Alert]
        let lines: [String]
        let more: Double?

        init(_ bytes: [UInt8]) throws {
            let tree = JSONTree(try JSONMinifier.minify(bytes[...], .nothing, nil))
            #expect(bytes.last == 0x0A && tree.keys == ["run", "alerts", "more_alerts"])
            (run, more) = (tree.find("/run")?.text, tree.find("/more_alerts")?.number)
            lines = tree.find("/alerts")?.values.map(\.rawText) ?? []
            alerts = try lines.map { line in
                // Its number may be 0, as in a `kept` line.
                let kept = #"{"type":"kept","time":"2026-03-01T12:00:02.000000Z","run":"r","line":\#(line)}"#
                guard case .kept(let kept) = try LineDecoder.decode(Array(kept.utf8)[...]).body,
                    case .alert(let alert) = kept.line.body
                else { throw Failure(.notJSON, line) }
                return alert
            }
        }

        /// The conditions and what they are about.
        var names: [String] { alerts.map { "\($0.condition) \($0.about)" } }
    }

    private static func response(_ stage: MetricsStage) -> HTTPResponse {
        let request = HTTPRequest(method: "GET", target: "/alerts", fields: [], body: [])
        return AlertsHandler(stage.context).response(to: request, below: "")
    }

    private static func answer(_ stage: MetricsStage) throws -> Answer {
        try Answer(Scrape.Body(response(stage), room: 8_000).rest())
    }

    @Test func tellsWhatFiresInItsOrder() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let rooms = await stage.register("rooms")
            #expect(try Self.answer(stage).names == [] && Self.answer(stage).run == "r1")
            for (state, condition, about) in [
                (Alert.State.firing, "hot", "rooms/b"), (.firing, "hot", "rooms/a"), (.firing, "cold", "rooms/c"),
                (.resolved, "cold", "rooms/never"), (.reminder, "hot", "rooms/b"), (.resolved, "hot", "rooms/a"),
            ] {
                await stage.alert(state, condition, about, from: rooms)
            }
            let answer = try Self.answer(stage)
            #expect(answer.names == ["hot rooms/b", "cold rooms/c"] && answer.more == 0)
            #expect(answer.alerts.map(\.state) == [.reminder, .firing])
            // The bytes are those of the feed.
            let lines = await stage.store.newest(bytes: 1 << 20)?.compactMap(\.piece).map { piece in
                switch piece {
                case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
                case .span(let span): span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                }
            }
            #expect(answer.lines.allSatisfy { line in lines?.contains { $0.contains("\(line)\n") } == true })
            await stage.alert(.firing, "hot", "rooms/a", from: rooms)
            #expect(try Self.answer(stage).names == ["hot rooms/b", "cold rooms/c", "hot rooms/a"])
        }
    }

    @Test func textsStayJSON() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            await stage.alert(.firing, Self.hostile, Self.hostile, from: await stage.register("rooms"))
            let answer = try Self.answer(stage)
            #expect(answer.names == ["\(Self.hostile) \(Self.hostile)"])
            #expect(!answer.lines[0].unicodeScalars.contains { $0.value < 0x20 })
        }
    }

    // MARK: Over the wire

    @Test func isServedAsTheOtherPathsAre() async throws {
        var settings = WebSettings()
        settings.token = WebToken("0123456789abcdef")
        try await WebStage.run(settings) { stage in
            let alert = MetricsStage.alert(.firing, "hot", "fact/\(Self.hostile)")
            await stage.store.publish([Event(time: stage.store.wallTime, source: stage.source, body: .alert(alert))])
            let token = "Authorization: Bearer 0123456789abcdef"
            let answer = try await stage.ask("GET", "/alerts?x", [token])
            #expect(answer.status == 200 && answer.fields["content-type"] == "application/json")
            #expect(
                answer.fields["cache-control"] == "no-store" && answer.fields["x-content-type-options"] == "nosniff")
            #expect(try Answer(answer.body).names == ["hot fact/\(Self.hostile)"])
            let head = try await stage.ask("HEAD", "/alerts", [token])
            #expect(head.status == 200 && head.body.isEmpty && head.fields["content-type"] == "application/json")
            for fields in [[], ["Authorization: Bearer 0123456789abcdeg"], ["Authorization: Basic MDE6MDE="]] {
                let refused = try await stage.ask("GET", "/alerts", fields)
                #expect(refused.status == 401 && !refused.text.contains("hot"), "\(fields)")
            }
            #expect(try await stage.ask("GET", "/alerts", [token, "Host: evil.test"]).status == 421)
            for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
                let refused = try await stage.ask(method, "/alerts", [token])
                #expect(refused.status == 405 && refused.fields["allow"] == "GET, HEAD", "\(method)")
            }
            #expect(try await stage.ask("GET", "/alerts/", [token]).status == 404)
            // It changes too often to be known.
            let again = try await stage.ask("GET", "/alerts", [token, "If-None-Match: *"])
            #expect(again.status == 200 && again.fields["etag"] == nil)
        }
    }

    // MARK: Of others

    static let hello =
        #"{"type":"hello","time":"2026-03-01T12:00:00.000000Z","format":1,"run":"r9","filtered":false,"interval_s":5,"#
        + #""history_s":60,"first_seq":1,"next_seq":1,"host":{},"app":{"name":"catwatch","version":"9.9","#
        + #""started":"2026-03-01T11:00:00.000000Z"}}"#

    /// An alert line as anybody may write one.
    ///
    /// - Parameter condition: as it stands in JSON.
    static func forged(
        _ sequence: Int, _ condition: String, about: String, state: String = "firing", source: String = "q",
        more: String = ""
    ) -> String {
        #"{"seq":\#(sequence),"time":"2026-03-01T12:00:01.000000Z","type":"alert","source":"\#(source)","about":"\#(about)","#
            + #""condition":"\#(condition)","state":"\#(state)","id":"1","at":"2026-03-01T12:00:01.000000Z","#
            + #""since":"2026-03-01T11:59:59.250000Z","test":"> 5","evidence":{"run":"r9","from":1,"to":1}\#(more)}"#
    }

    private static func firing(_ scrape: Scrape) -> [String] {
        scrape.family("catwatch_alerts").filter { $0.contains("firing") }
    }

    @Test func ofAnAttachedAgentAnythingMayCome() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop, isRelay: true)
            let early = Self.response(stage)
            #expect(early.status == 503 && early.fields.contains(HTTPField("Retry-After", "1")))
            try await stage.relay(Self.hello)
            let deep = String(repeating: "[", count: 29) + String(repeating: "]", count: 29)
            try await stage.relay(
                Self.forged(1, #"a\"},{\"b\n\u001b[2J\u0000"#, about: #"q\u202e</script>"#),
                Self.forged(2, "never", about: "q", state: "resolved"),
                Self.forged(3, "later", about: "q", state: "muted"),
                Self.forged(4, "deep", about: "q", more: #","data":\#(deep)"#),
                Self.forged(5, "twice", about: "q", more: #", "state" : "resolved""#),
                Self.forged(6, "same", about: "q"), Self.forged(7, "same", about: "q", source: "other"))
            let answer = try Self.answer(stage)
            #expect(answer.run == "r9" && answer.more == 0 && !answer.lines[1].contains("data"))
            #expect(
                answer.names == [
                    "a\"},{\"b\n\u{1B}[2J\0 q\u{202E}</script>", "deep q", "twice q", "same q", "same q",
                ])
            let scrape = try stage.scrape()
            #expect(scrape.faults.isEmpty)
            #expect(
                Self.firing(scrape).map { $0.replacing(",state=\"firing\"", with: "") } == [
                    #"{condition="a\"},{\"b\n\#u{FFFD}[2J\#u{FFFD}"} 1"#, #"{condition="deep"} 1"#,
                    #"{condition="twice"} 1"#, #"{condition="same"} 2"#,
                ])
            // Of two sources that are about the same, one is told.
            #expect(
                scrape.family("catwatch_alert_start_time_seconds").suffix(2) == [
                    #"{condition="twice",series="q"} 1772366399.25"#, #"{condition="same",series="q"} 1772366399.25"#,
                ])
            #expect(scrape["catwatch_metrics_left_out{of=\"alerts\"}"] == "1")
            try await stage.relay(Self.hello.replacing("r9", with: "r10"))
            #expect(try Self.answer(stage).names == [] && stage.scrape().family("catwatch_alerts") == [])
        }
    }

    @Test func manyForgedOnesFitTheBounds() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop, isRelay: true)
            try await stage.relay(Self.hello)
            let long = String(repeating: "x", count: 300)
            for number in 1...600 {
                let end = number % 2 == 0 ? "\(number)" : ""
                try await stage.relay(Self.forged(number, "\(long)\(number)", about: "\(long)\(end)"))
            }
            let answer = try Self.answer(stage)
            #expect(answer.alerts.count + Int(answer.more ?? 0) == 600 && answer.alerts.count > 300)
            let scrape = try stage.scrape()
            #expect(scrape.faults.isEmpty)
            // All names begin with the same 128 bytes.
            #expect(Self.firing(scrape).count == 1)
            #expect(scrape.family("catwatch_alert_start_time_seconds").count == 1)
            #expect(scrape["catwatch_metrics_left_out{of=\"alerts\"}"] == "599")
        }
    }

    @Test func anAgentsAlertsAreItsOwn() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let id = await stage.store.member("web1")
            let lines = [
                Self.hello, Self.forged(1, #"hot\""#, about: "q/a"), Self.forged(2, "hot", about: "q/b"),
                Self.forged(3, "cold", about: "q/b"), Self.forged(4, "cold", about: "q/b", state: "resolved"),
            ]
            _ = await stage.store.receive(
                try lines.map { .success(try LineDecoder.decode(Array($0.utf8)[...])) }, from: id)
            await stage.alert(.firing, "hot", "web1.q/b", from: await stage.register("mine"))
            let answer = try Self.answer(stage)
            #expect(answer.names == ["hot\" q/a", "hot q/b", "hot web1.q/b"])
            #expect(answer.lines[0].contains(#""agent":"web1""#) && !answer.lines[2].contains("agent"))
            let scrape = try stage.scrape()
            #expect(
                Self.firing(scrape) == [
                    #"{agent="web1",condition="hot\"",state="firing"} 1"#,
                    #"{agent="web1",condition="hot",state="firing"} 1"#,
                    #"{agent="web1",condition="cold",state="firing"} 0"#,
                ])
            #expect(
                scrape.family("catwatch_alert_start_time_seconds").map { String($0.prefix { $0 != " " }) } == [
                    #"{agent="web1",condition="hot\"",series="q/a"}"#, #"{agent="web1",condition="hot",series="q/b"}"#,
                    #"{condition="hot",series="web1.q/b"}"#,
                ])
        }
    }
}
