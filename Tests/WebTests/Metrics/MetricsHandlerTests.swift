import Conditions
import Feed
import Glibc
import Reactor
import TestSupport
import Testing

@testable import HTTPServer
@testable import Web

@Suite(.limited) struct MetricsHandlerTests {
    // MARK: Each family

    @Test func tellsOfTheAgentItself() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop) { $0.history = .seconds(60) }
            let agent = await stage.store.agentSource
            let source = await stage.register("fact")
            let memory = MemorySample(resident: 30_000_000, peak: 40_000_000, privateBytes: 20_000_001)
            await stage.publish(.memory(memory), from: agent)
            await stage.publish(.agent(AgentSample(loopLag: 1.25, cpu: 41.5)), from: agent)
            await stage.publish(1, from: source)
            await stage.publish(2, from: source, at: stage.wall.now + .seconds(60))
            await stage.publish(2, from: source, at: stage.wall.now - .seconds(600))
            await stage.publish(3, from: source, at: stage.wall.now + .seconds(5))
            _ = await stage.store.register(SourceDescription(name: "slow", rhythm: .every(.seconds(600))))
            let (reader, _) = await stage.store.open("stdout")
            let scrape = try stage.scrape()
            await stage.store.close(reader)
            #expect(scrape["catwatch_build_info{version=\"1.2\"}"] == "1")
            for (name, value) in [
                ("start_time_seconds", "1700000000"), ("window_seconds", "10"), ("history_seconds", "60"),
                ("process_resident_memory_bytes", "30000000"), ("process_peak_memory_bytes", "40000000"),
                ("process_private_memory_bytes", "20000001"), ("process_cpu_seconds_total", "0.0415"),
                ("loop_lag_seconds", "0.00125"), ("lines_total", "6"), ("events_total", "4"), ("readers", "1"),
                ("reader_gaps_total", "0"), ("stalled_readers_total", "0"), ("late_values_total", "1"),
                ("future_values_total", "1"), ("series", "2"), ("refused_series_total", "0"),
                ("refused_endpoints_total", "0"), ("refused_agents_total", "0"),
            ] {
                #expect(scrape["catwatch_\(name)"] == value, "\(name)")
            }
            #expect(scrape["catwatch_window_seconds{source=\"fact\"}"] == "10")
            #expect(scrape["catwatch_window_seconds{source=\"slow\"}"] == "600")
            // A value from ahead is not younger than new.
            #expect(scrape["catwatch_window_age_seconds{source=\"fact\",series=\"fact\"}"] == "0")
            #expect(scrape.family("catwatch_attached").isEmpty && scrape.faults.isEmpty)
        }
    }

    @Test func countsAnswersAndErrorsBySourceAndCode() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let fact = await stage.register("fact")
            let dogs = await stage.register("dogs")
            for status in [200, 500, 200, 304] { await stage.publish(ms: 1, status: status, from: fact) }
            for code in [Failure.Code.status, .timeout, .timeout] {
                await stage.publish(.error(Failure(code, "no")), from: fact)
            }
            await stage.publish(.error(Failure(.dns, "no")), from: dogs)
            let scrape = try stage.scrape()
            #expect(
                scrape.family("catwatch_polls_total") == [
                    "{source=\"fact\",code=\"200\"} 2", "{source=\"fact\",code=\"500\"} 1",
                    "{source=\"fact\",code=\"304\"} 1",
                ])
            #expect(
                scrape.family("catwatch_errors_total") == [
                    "{source=\"fact\",code=\"status\"} 1", "{source=\"fact\",code=\"timeout\"} 2",
                    "{source=\"dogs\",code=\"dns\"} 1",
                ])
            #expect(scrape.family("catwatch_source_up") == ["{source=\"fact\"} 0", "{source=\"dogs\"} 0"])
        }
    }

    @Test func aHistogramCountsWhatIsAtMostItsBounds() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let fact = await stage.register("fact")
            for ms in [1, 1.001, 100, 100, 100.001, 64_000, 64_001] { await stage.publish(ms: ms, from: fact) }
            await stage.publish(.error(Failure(.timeout, "no", endpoint: "GET http://h/x")), from: fact)
            let scrape = try stage.scrape()
            let labels = #"source="fact",endpoint="GET http://h/x""#
            let counts = scrape.samples.filter { $0.name.hasPrefix("catwatch_request_duration_seconds_bucket") }
            let bounds = ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5"]
            #expect(
                counts.map(\.name)
                    == (bounds + ["1.0", "2.0", "4.0", "8.0", "16.0", "32.0", "64.0", "+Inf"]).map {
                        "catwatch_request_duration_seconds_bucket{\(labels),le=\"\($0)\"}"
                    })
            #expect(
                counts.map(\.value)
                    == ["1", "2", "2", "2", "2", "2", "4", "5", "5", "5", "5", "5", "5", "5", "5", "6", "7"])
            #expect(scrape["catwatch_request_duration_seconds_count{\(labels)}"] == "7")
            let sum = scrape["catwatch_request_duration_seconds_sum{\(labels)}"].flatMap { Double($0) } ?? 0
            #expect((sum - 128.303_002).magnitude < 1e-9)
            #expect(scrape["catwatch_newest_request_duration_seconds{source=\"fact\"}"] == "64.001")
        }
    }

    @Test func tellsTheNewestValueOfASeriesHoweverOld() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let fact = await stage.register("fact")
            let aqi = await stage.register("aqi")
            await stage.publish(5, from: fact)
            await stage.publish(7, key: Array("Delhi".utf8), from: aqi)
            try await loop.sleep(for: .seconds(30))
            await stage.publish(-1.5, key: Array("Delhi".utf8), from: aqi, at: stage.wall.now - .seconds(20))
            let scrape = try stage.scrape()
            #expect(
                scrape.family("catwatch_series_value") == [
                    "{source=\"fact\",series=\"fact\"} 5", "{source=\"aqi\",series=\"aqi/Delhi\"} -1.5",
                ])
            #expect(
                scrape.family("catwatch_window_age_seconds") == [
                    "{source=\"fact\",series=\"fact\"} 30", "{source=\"aqi\",series=\"aqi/Delhi\"} 20",
                ])
            try await stage.store.whileRunning { try await loop.sleep(for: .seconds(600)) }
            #expect(try stage.scrape().family("catwatch_series_value") == scrape.family("catwatch_series_value"))
            #expect(
                try stage.scrape().family("catwatch_window_age_seconds") == [
                    "{source=\"fact\",series=\"fact\"} 630", "{source=\"aqi\",series=\"aqi/Delhi\"} 620",
                ])
            // A source without complete answers may have stopped to have this series.
            try await loop.sleep(for: .seconds(86_400 - 630))
            #expect(
                try stage.scrape().family("catwatch_window_age_seconds") == [
                    "{source=\"aqi\",series=\"aqi/Delhi\"} 86390"
                ])
            // A complete answer without it is the end of it.
            await stage.store.answer([], of: aqi)
            #expect(try stage.scrape().family("catwatch_window_age_seconds").isEmpty)
            await stage.store.answer([], of: aqi, items: 0)
            #expect(try stage.scrape().family("catwatch_series_value") == ["{source=\"aqi\",series=\"count:aqi\"} 0"])
            await stage.publish(1, key: Array("Delhi".utf8), from: aqi)
            #expect(try stage.scrape().family("catwatch_series_value").count == 2)
        }
    }

    // MARK: Names

    @Test func ofNamesThatBecomeEqualOneIsToldAndTheOthersAreCounted() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let aqi = await stage.register("aqi")
            let long = Array(repeating: UInt8(ascii: "x"), count: 124)
            for key in [long, long + [0x79], long + [0x7A], [0x01], [0x02], Array("\u{FFFD}".utf8), [0x61]] {
                await stage.publish(1, key: key, from: aqi)
            }
            let scrape = try stage.scrape()
            #expect(scrape.faults.isEmpty)
            #expect(
                scrape.family("catwatch_series_value").count == 3
                    && scrape.family("catwatch_window_age_seconds").count == 3)
            #expect(scrape["catwatch_metrics_left_out{of=\"series\"}"] == "4")

            let name = String(repeating: "s", count: 200)
            for end in ["a", "b"] {
                let source = await stage.register(name + end)
                await stage.publish(1, from: source)
                await stage.publish(ms: 1, from: source)
            }
            let more = try stage.scrape()
            #expect(more.faults.isEmpty)
            #expect(more["catwatch_metrics_left_out{of=\"sources\"}"] == "1")
            #expect(more["catwatch_metrics_left_out{of=\"endpoints\"}"] == "1")
            #expect(more["catwatch_metrics_left_out{of=\"series\"}"] == "5")
        }
    }

    @Test func tellsTheWordsThatValuesStandFor() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let status = await stage.register("status")
            func publish(_ word: String?, key: String? = nil) async {
                let datum = Datum(key: key.map { Bytes($0.utf8) }, value: 2, word: word.map { Bytes($0.utf8) })
                await stage.publish(.data(datum), from: status)
            }
            await publish("up")
            await publish("down")
            await publish("a \"b\\\u{1b}\n", key: "web\"1")
            await publish(nil, key: "number")
            await publish(String(repeating: "\"", count: 64), key: String(repeating: "\"", count: 500))
            await publish("gone", key: "gone")
            await publish(nil, key: "gone")
            let scrape = try stage.scrape()
            #expect(scrape.faults.isEmpty)
            let long = String(repeating: #"\""#, count: 128 - 7)
            #expect(
                scrape.family("catwatch_series_state") == [
                    #"{source="status",series="status",state="down"} 1"#,
                    #"{source="status",series="status/web\"1",state="a \"b\\\#u{FFFD}\n"} 1"#,
                    "{source=\"status\",series=\"status/\(long)\",state=\"\(String(repeating: #"\""#, count: 64))\"} 1",
                ])
            stage.context.settings.metricsSeries = 2
            #expect(try stage.scrape().family("catwatch_series_state").count == 2)
            stage.context.settings.metricsSeries = 1
            #expect(try stage.scrape()["catwatch_metrics_left_out{of=\"series\"}"] == "4")
        }
    }

    @Test func tellsNoMoreThanItMay() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            for index in 0..<12 {
                let source = await stage.register("s\(index)")
                await stage.publish(1, from: source)
                await stage.publish(ms: 1, from: source)
                await stage.publish(.error(Failure(.dns, "no")), from: source)
            }
            // Of which there is nothing but that they are there.
            for index in 12..<15 { _ = await stage.register("s\(index)") }
            stage.context.settings.metricsSeries = 10
            let scrape = try stage.scrape()
            for name in [
                "series_value", "window_age_seconds", "request_duration_seconds_count", "source_up", "source_ready",
                "polls_total", "errors_total", "newest_request_duration_seconds",
            ] {
                #expect(scrape.family("catwatch_\(name)").count == 10, "\(name)")
            }
            for (many, count) in [("sources", "5"), ("endpoints", "2"), ("series", "2")] {
                #expect(scrape["catwatch_metrics_left_out{of=\"\(many)\"}"] == count, "\(many)")
            }
            stage.context.settings.metricsSeries = 0
            let least = try stage.scrape()
            #expect(least["catwatch_metrics_left_out{of=\"series\"}"] == "12" && !least.text.contains("s1"))
            #expect(least.faults.isEmpty && least["catwatch_lines_total"] == "36")
        }
    }

    // MARK: Alerts

    @Test func tellsForHowManySeriesEachConditionFiresAndSinceWhen() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let rooms = await stage.register("rooms")
            let before = try stage.scrape()
            #expect(before.family("catwatch_alerts") == [] && before["catwatch_metrics_left_out{of=\"alerts\"}"] == "0")
            let rules = try ["hot: rooms/* > 5", #""a \"b\"": rooms/* < -5"#, "idle: rooms silent 30d"].map { line in
                let condition = try Condition(line)
                return AlertRule(name: condition.name, conditions: [condition], severity: nil, note: nil, reminder: nil)
            }
            let moment = await stage.store.moment
            await stage.store.setObserver(AlertEngine(rules, run: "r1", window: .seconds(10), at: moment))
            func conditions() throws -> [String] {
                try stage.scrape().family("catwatch_alerts").filter { $0.contains("firing") }
                    .map { $0.replacing(",state=\"firing\"", with: "") }
            }
            let names = [#"{condition="hot"}"#, #"{condition="a \"b\""}"#, #"{condition="idle"}"#]
            #expect(try conditions() == names.map { "\($0) 0" })
            for (key, value) in [("b", 7.0), ("a", 8), ("c", -7)] {
                await stage.publish(value, key: Array(key.utf8), from: rooms)
            }
            #expect(try conditions() == ["\(names[0]) 2", "\(names[1]) 1", "\(names[2]) 0"])
            let scrape = try stage.scrape()
            #expect(scrape.faults.isEmpty)
            #expect(
                scrape.family("catwatch_alert_start_time_seconds") == [
                    #"{condition="hot",series="rooms/b"} 1700000000"#,
                    #"{condition="hot",series="rooms/a"} 1700000000"#,
                    #"{condition="a \"b\"",series="rooms/c"} 1700000000"#,
                ])
            await stage.publish(1, key: Array("b".utf8), from: rooms)
            #expect(try conditions() == ["\(names[0]) 1", "\(names[1]) 1", "\(names[2]) 0"])
            #expect(try stage.scrape().family("catwatch_alert_start_time_seconds").count == 2)

            // A reload removes one that fired.
            var next = AlertEngine(Array(rules[1...]), run: "r1", window: .seconds(10), at: moment)
            next.replace(try #require(await stage.store.takeObserver() as? AlertEngine), at: moment)
            await stage.store.setObserver(next)
            #expect(try conditions() == ["\(names[1]) 1", "\(names[2]) 0"])
        }
    }

    // MARK: Formats and pieces

    @Test func openMetricsSaysTheSameWithUnitsAndAnEnd() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            await stage.publish(1, from: await stage.register("fact"))
            let (old, new) = (try stage.scrape(), try stage.scrape("application/openmetrics-text"))
            #expect(new.samples.map(\.name) == old.samples.map(\.name))
            #expect(new.text.hasSuffix("\n# EOF\n") && !old.text.contains("EOF") && !old.text.contains("# UNIT"))
            #expect(new.text.contains("\n# TYPE catwatch_lines counter\n"))
            #expect(old.text.contains("\n# TYPE catwatch_lines_total counter\n"))
            #expect(new.text.hasPrefix("# HELP catwatch_build ") && new.text.contains("# TYPE catwatch_build info\n"))
            #expect(old.text.contains("# TYPE catwatch_build_info gauge\n"))
            #expect(new.text.contains("\n# UNIT catwatch_window_seconds seconds\n"))
            #expect(new.faults.isEmpty && old.faults.isEmpty)
        }
    }

    @Test func soManyAreAnsweredAtOnceAndNoMore() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let handler = MetricsHandler(stage.context)
            var bodies = try (0..<MetricsHandler.mostAtOnce).map { _ in
                try Scrape.Body(handler.response(accept: nil), room: 100)
            }
            let refused = handler.response(accept: nil)
            #expect(refused.status == 503 && refused.fields.contains(HTTPField("Retry-After", "1")))
            bodies[1].leave()
            #expect(try Scrape(handler.response(accept: nil)).faults.isEmpty)
            _ = try bodies.removeLast().rest()
            for _ in 0..<2 { bodies.append(try Scrape.Body(handler.response(accept: nil), room: 100)) }
            #expect(handler.response(accept: nil).status == 503)
        }
    }

    @Test func whoTakesTooLongIsCutOff() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            var body = try Scrape.Body(MetricsHandler(stage.context).response(accept: nil), room: 10)
            try await loop.sleep(for: .milliseconds(59_999))
            body.take()
            #expect(body.isWhole == nil && body.bytes.count == 10)
            try await loop.sleep(for: .milliseconds(1))
            body.take()
            #expect(body.isWhole == false && body.bytes.count == 10)
        }
    }

    @Test func everyFamilyIsDocumented() throws {
        var path = #filePath[...]
        for _ in 0..<4 { path = path[..<(path.lastIndex(of: "/") ?? path.startIndex)] }
        let bytes = try Descriptor.open("\(path)/docs/metrics.md", flags: O_RDONLY).bytes(limit: 1 << 20)
        let text = String(decoding: try #require(bytes), as: UTF8.self)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| `catwatch_") }
        for family in MetricFamily.all {
            let end = family.kind == .counter ? "_total" : family.kind == .info ? "_info" : ""
            let row = rows.filter { $0.hasPrefix("| `\(family.name)\(end)`") }
            #expect(row.count == 1 && row.first?.contains("| \(family.kind.rawValue) |") == true, "\(family.name)")
        }
        #expect(rows.count == MetricFamily.all.count)
    }

    // MARK: A fleet

    @Test func whatIsAnAgentsHasItsName() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let id = await stage.store.member("web1")
            _ = await stage.store.member("web2")
            await stage.store.setLink(.open, of: id)
            let time = #""time":"2023-11-14T22:13:20.000000Z""#
            let lines = [
                #"{"type":"hello",\#(time),"format":1,"run":"r1","first_seq":1,"next_seq":1}"#,
                #"{"seq":1,\#(time),"type":"fact","source":"fact","series":"fact/a","value":5}"#,
                #"{"seq":2,\#(time),"type":"latency","source":"fact","endpoint":"GET http://h/","status":200,"ms":4}"#,
                #"{"seq":6,\#(time),"type":"error","source":"fact","code":"dns","message":"no"}"#,
            ]
            _ = await stage.store.receive(
                try lines.map { .success(try LineDecoder.decode(Array($0.utf8)[...])) }, from: id)
            let repeated = try lines.suffix(2).map {
                Result<Line, LineFault>.success(try LineDecoder.decode(Array($0.utf8)[...]))
            }
            _ = await stage.store.receive(repeated, from: id)
            let own = await stage.register("web1x.fact")
            await stage.publish(1, from: own)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await stage.store.run() }
                try await loop.sleep(for: .seconds(1))
                group.cancelAll()
            }
            let scrape = try stage.scrape()
            #expect(
                scrape.family("catwatch_agent_repeated_lines_total") == [
                    "{agent=\"web1\"} 2", "{agent=\"web2\"} 0",
                ])
            #expect(scrape.family("catwatch_agent_up") == ["{agent=\"web1\"} 1", "{agent=\"web2\"} 0"])
            #expect(scrape.family("catwatch_agent_age_seconds") == ["{agent=\"web1\"} 1"])
            #expect(scrape.family("catwatch_agent_lost_lines_total") == ["{agent=\"web1\"} 3", "{agent=\"web2\"} 0"])
            let names = "agent=\"web1\",source=\"web1.fact\""
            #expect(
                scrape.family("catwatch_series_value") == [
                    "{\(names),series=\"web1.fact/a\"} 5", "{source=\"web1x.fact\",series=\"web1x.fact\"} 1",
                ])
            #expect(scrape.family("catwatch_errors_total") == ["{\(names),code=\"dns\"} 1"])
            #expect(scrape.family("catwatch_newest_request_duration_seconds") == ["{\(names)} 0.004"])
        }
    }
}
