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

    @Test func aReloadKeepsCountsAndARemovedSourceIsForgottenAfterTheHistory() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let fact = await stage.register("fact")
            await stage.publish(ms: 3, from: fact)
            await stage.publish(.error(Failure(.timeout, "no")), from: fact)
            // Another description of the same source.
            _ = await stage.register("fact", .every(.seconds(9)))
            #expect(try stage.scrape().family("catwatch_polls_total") == ["{source=\"fact\",code=\"200\"} 1"])
            #expect(try stage.scrape().family("catwatch_errors_total") == ["{source=\"fact\",code=\"timeout\"} 1"])

            await stage.store.release(named: "fact")
            let gone = try stage.scrape()
            #expect(gone.family("catwatch_source_up").isEmpty && gone.family("catwatch_source_ready").isEmpty)
            #expect(gone.family("catwatch_polls_total").count == 1)
            #expect(gone["catwatch_request_duration_seconds_count{source=\"fact\",endpoint=\"GET http://h/x\"}"] == "1")
            try await loop.sleep(for: .seconds(200))
            await stage.publish(1, from: await stage.register("other"))
            let forgotten = try stage.scrape()
            #expect(!forgotten.text.contains("\"fact\"") && forgotten.text.contains("\"other\""))
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

    /// Or it could not tell exactly how many durations are at most so long.
    @Test func everyBoundIsThatOfABucket() {
        for bound in MetricsScrape.bounds {
            var histogram = LatencyHistogram()
            for value in [bound.nextDown, bound, bound.nextUp] { histogram.record(value) }
            histogram.count(atMost: [bound]) { #expect($0 == 2, "\(bound) ms") }
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
            let book = AlertBook(rules, run: "r1", interval: .seconds(10), from: MetricsStage.start)
            await stage.store.setWatcher(book, from: 1)
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
            var next = AlertBook(Array(rules[1...]), run: "r1", interval: .seconds(10), from: nil)
            let old = try #require(await stage.store.takeWatcher() as? AlertBook)
            next.replace(old, await stage.store.sourceStates, kept: [], at: stage.store.wallTime)
            await stage.store.setWatcher(next, from: await stage.store.nextSequence)
            #expect(try conditions() == ["\(names[1]) 1", "\(names[2]) 0"])
        }
    }

    @Test func tellsForHowManySeriesEachConditionIsPending() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let rooms = await stage.register("rooms")
            let (hot, any) = (try Condition("hot: rooms/* > 5 for 1m"), try Condition("some: any rooms/* > 5 for 1m"))
            let (left, right) = (try Condition("rooms/* > 7 for 1m"), try Condition("rooms/* < 6 for 1m"))
            let rules = [("hot", [hot]), ("some", [any]), ("odd", [left, right])].map { name, conditions in
                AlertRule(name: name, conditions: conditions, severity: nil, note: nil, reminder: nil)
            }
            await stage.store.setWatcher(
                AlertBook(rules, run: "r1", interval: .seconds(10), from: MetricsStage.start), from: 1)
            /// Of each condition, how many fire and how many are pending.
            func counts() throws -> [String: [String]] {
                let samples = try stage.scrape().family("catwatch_alerts")
                return Dictionary(
                    grouping: samples.map { $0.split(separator: "\"").map(String.init) }, by: { $0[1] }
                ).mapValues { samples in samples.map { "\($0[3])\($0[4].dropFirst())" } }
            }
            for (key, value) in [("a", 7.0), ("b", 8), ("c", 1)] {
                await stage.publish(value, key: Array(key.utf8), from: rooms)
            }
            try await loop.sleep(for: .seconds(2))
            #expect(
                try counts() == [
                    "hot": ["firing 0", "pending 2"], "some": ["firing 0", "pending 1"],
                    "odd": ["firing 0", "pending 2"],
                ])
            await stage.publish(1, key: Array("a".utf8), from: rooms)
            #expect(try counts()["hot"] == ["firing 0", "pending 1"] && counts()["odd"] == ["firing 0", "pending 3"])
            try await loop.sleep(for: .seconds(70))
            await stage.publish(8, key: Array("b".utf8), from: rooms)
            #expect(
                try counts() == [
                    "hot": ["firing 1", "pending 0"], "some": ["firing 1", "pending 0"],
                    "odd": ["firing 3", "pending 0"],
                ])
        }
    }

    @Test func tellsNoMoreAlertsThanItMay() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let rooms = await stage.register("rooms")
            for number in 0..<12 { await stage.alert(.firing, "c\(number % 3)", "rooms/\(number)", from: rooms) }
            #expect(
                try stage.scrape().family("catwatch_alert_start_time_seconds").first
                    == #"{condition="c0",series="rooms/0"} 1699999999.75"#)
            // Those of others are counted while they are known.
            let relay = MetricsStage(on: loop, isRelay: true)
            try await relay.relay(AlertsHandlerTests.hello)
            for number in 1...12 {
                try await relay.relay(AlertsHandlerTests.forged(number, "c\(number % 3)", about: "q/\(number)"))
            }
            try await relay.relay(AlertsHandlerTests.forged(13, "c0", about: "q/12", state: "resolved"))
            #expect(
                try relay.scrape().family("catwatch_alerts") == [
                    #"{condition="c1",state="firing"} 4"#, #"{condition="c2",state="firing"} 4"#,
                    #"{condition="c0",state="firing"} 3"#,
                ])
            for (limit, conditions, alerts) in [(10, 3, 10), (2, 2, 2), (0, 0, 0)] {
                relay.context.settings.metricsSeries = limit
                let scrape = try relay.scrape()
                #expect(scrape.family("catwatch_alerts").count == conditions && scrape.faults.isEmpty)
                #expect(scrape.family("catwatch_alert_start_time_seconds").count == alerts)
                #expect(scrape["catwatch_metrics_left_out{of=\"alerts\"}"] == "\(11 - alerts)")
            }
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

    @Test(arguments: [1, 7, 100, 20_000, 1 << 20])
    func anyRoomGivesTheSameBytes(_ room: Int) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let aqi = await stage.register("aqi")
            for index in 0..<300 { await stage.publish(Double(index), key: Array("Köln \(index)".utf8), from: aqi) }
            let (one, other) = (try stage.scrape(room: room), try stage.scrape())
            #expect(one.text == other.text)
        }
    }

    /// A piece is full at some of these lengths when all has been told.
    @Test(arguments: [nil, "application/openmetrics-text"] as [String?])
    func anyLengthComesToItsEnd(_ format: String?) async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let aqi = await stage.register("aqi")
            for index in 0..<160 {
                await stage.publish(Double(index), key: Array("\(index)".utf8), from: aqi)
                let scrape = try stage.scrape(format)
                #expect(scrape.faults.isEmpty)
            }
        }
    }

    /// Whatever comes and goes between two pieces, nothing is there twice.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func whatChangesMeanwhileIsToldOnceAtMost(_ seed: UInt64) async throws {
        try await withLoop(virtual: true) { loop in
            var random = SeededGenerator(seed: seed)
            let stage = MetricsStage(on: loop) {
                $0.series = 400
                $0.endpoints = 60
                $0.released = 4
            }
            func add(_ name: String) async {
                let source = await stage.register(name)
                for key in 0..<20 { await stage.publish(1, key: Array("k\(key)".utf8), from: source) }
                for path in 0..<3 { await stage.publish(ms: 1, endpoint: "GET http://h/\(path)", from: source) }
            }
            let staying = await stage.register("staying")
            await stage.publish(1, from: staying)
            for index in 0..<15 { await add("s\(index)") }
            for _ in 0..<LongRun.rounds(short: 12, long: 400) {
                var body = try Scrape.Body(MetricsHandler(stage.context).response(accept: nil), room: 500)
                while body.isWhole == nil {
                    body.take()
                    guard Int.random(in: 0..<6, using: &random) == 0 else { continue }
                    let name = "s\(Int.random(in: 0..<15, using: &random))"
                    await stage.store.release(named: name)
                    if Bool.random(using: &random) { await add(name) }
                }
                let scrape = try Scrape(body.bytes)
                #expect(body.isWhole == true && scrape.faults.isEmpty, "seed \(seed): \(scrape.faults)")
                #expect(scrape.family("catwatch_series_value").contains("{source=\"staying\",series=\"staying\"} 1"))
                #expect(scrape.text.contains("catwatch_metrics_left_out{of=\"series\"}"))
            }
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
            bodies[3].leave()
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

    // MARK: Attached

    private static let hello =
        #"{"type":"hello","time":"2026-03-01T12:00:00.000000Z","format":1,"run":"r9","filtered":false,"interval_s":5,"#
        + #""history_s":60,"first_seq":1,"next_seq":1,"host":{},"app":{"name":"catwatch","version":"9.9","#
        + #""started":"2026-03-01T11:00:00.000000Z"}}"#
    private static let stats =
        #"{"type":"stats","time":"2026-03-01T12:00:00.000000Z","as_of":0,"endpoints":[{"endpoint":"GET http://h/x","#
        + #""source":"aqi","count":2,"errors":0,"last_ms":1,"mean_ms":1,"min_ms":1,"p50_ms":1,"p90_ms":1,"p95_ms":1,"#
        + #""p99_ms":1,"max_ms":1}],"sources":[{"source":"aqi","state":"ok","since":"2026-03-01T11:00:00.000000Z","#
        + #""every_s":10}],"more_endpoints":0}"#
    private static let data =
        #"{"seq":1,"time":"2026-03-01T12:00:01.000000Z","type":"aqi","source":"aqi","series":"aqi/Delhi","value":42}"#
    private static let latency =
        #"{"seq":2,"time":"2026-03-01T12:00:01.000000Z","type":"latency","source":"aqi","endpoint":"GET http://h/x","#
        + #""status":200,"ms":2.5,"dns_ms":0,"connect_ms":0,"tls_ms":0,"wait_ms":0,"receive_ms":0,"bytes":1,"#
        + #""reused":false,"late_ms":0}"#
    private static let memory =
        #"{"seq":3,"time":"2026-03-01T12:00:02.000000Z","type":"memory","source":"catwatch","rss_bytes":5,"#
        + #""peak_bytes":6,"private_bytes":4}"#
    private static let agent =
        #"{"seq":4,"time":"2026-03-01T12:00:02.000000Z","type":"agent","source":"catwatch","events":90,"readers":2,"#
        + #""gaps":1,"late":3,"series":7,"refused_series":4,"refused_endpoints":5,"loop_lag_ms":0.5,"cpu_ms":41,"#
        + #""outputs":[]}"#

    @Test func overAnAttachedFeedOnlyWhatIsKnownThereIsTold() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop, isRelay: true)
            let before = try stage.scrape()
            #expect(before.faults.isEmpty && before.family("catwatch_attached") == [" 0"])
            #expect(before["catwatch_start_time_seconds"] == nil && before["catwatch_lines_total"] == nil)

            await stage.store.setConnected(true)
            try await stage.relay(Self.hello, Self.stats, Self.data, Self.latency, Self.memory, Self.agent)
            try await loop.sleep(for: .seconds(3))
            let scrape = try stage.scrape()
            for (name, value) in [
                ("build_info{version=\"9.9\"}", "1"), ("start_time_seconds", "1772362800"), ("window_seconds", "5"),
                ("history_seconds", "60"), ("process_resident_memory_bytes", "5"),
                ("process_cpu_seconds_total", "0.041"),
                ("loop_lag_seconds", "0.0005"), ("lines_total", "4"), ("events_total", "90"), ("readers", "2"),
                ("reader_gaps_total", "1"), ("late_values_total", "3"), ("series", "7"), ("refused_series_total", "4"),
                ("refused_endpoints_total", "5"), ("attached", "1"), ("attached_silence_seconds", "3"),
                ("source_up{source=\"aqi\"}", "1"), ("source_ready{source=\"aqi\"}", "1"),
                ("newest_request_duration_seconds{source=\"aqi\"}", "0.0025"),
                ("series_value{source=\"aqi\",series=\"aqi/Delhi\"}", "42"),
                // By the agent's clock, which is months away from ours.
                ("window_age_seconds{source=\"aqi\",series=\"aqi/Delhi\"}", "4"),
            ] {
                #expect(scrape["catwatch_\(name)"] == value, "\(name)")
            }
            for name in [
                "request_duration_seconds", "polls", "errors", "stalled_readers", "future_values",
                "refused_agents",
            ] {
                #expect(!scrape.text.contains("catwatch_\(name)"), "\(name)")
            }
            #expect(scrape.faults.isEmpty)
            try await loop.sleep(for: .seconds(3_600))
            #expect(try stage.scrape().family("catwatch_series_value").count == 1)
        }
    }

    @Test func anAnswerOfWhichTheRunIsOverBreaksOff() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop, isRelay: true)
            try await stage.relay(Self.hello, Self.stats, Self.data)
            var body = try Scrape.Body(MetricsHandler(stage.context).response(accept: nil), room: 64 << 10)
            try await stage.relay(Self.hello.replacing("r9", with: "r10"))
            body.take()
            #expect(body.isWhole == false)
            #expect(try stage.scrape().faults.isEmpty)
        }
    }
}
