import Glibc
import Reactor
import TestSupport
import Testing

/// Alerts of the real program: on standard output, over sockets, through a reload, and from one run to the next.
@Suite(.limited) struct AlertTests {
    private static let high = ["--alert", "high: > 5"]

    /// An agent that is fed on its standard input.
    private static func agent(_ stage: Stage, _ options: [String] = high) async throws -> ChildProcess {
        try await stage.catwatch(["-", "-o", "ndjson", "-i", "1s"] + options) { $0.input = .pipe }
    }

    private static func feed(_ agent: ChildProcess, _ values: Int...) async throws {
        try await agent.write(Array(values.map { "{\"value\":\($0)}\n" }.joined().utf8))
    }

    private static func lines(_ program: ChildProcess) async -> [FeedLine] {
        FeedLine.lines(await program.outputBytes).compactMap { $0 }
    }

    /// The alert lines in short, with names of conditions in place of what they are about.
    private static func told(_ lines: [FeedLine]) -> [String] {
        lines.filter { $0.type == "alert" }.map {
            let reason = $0.string("reason").map { " by \($0)" } ?? ""
            return "\($0.string("state") ?? "?") \($0.string("condition") ?? "?")\(reason)"
        }
    }

    private static func alerts(_ run: Finished) throws -> [[UInt8]] {
        try run.lines().filter { $0.type == "alert" }.map(\.bytes)
    }

    private static func waitForAlerts(_ program: ChildProcess, _ count: Int) async throws {
        try await program.wait(for: "\(count) alert lines") { program in
            told(FeedLine.lines(program.outputBytes).compactMap { $0 }).count >= count ? () : nil
        }
    }

    /// Waits until somebody answers at a socket.
    private static func waitForSocket(_ stage: Stage, _ path: String) async throws {
        try await stage.wait(for: "an agent at \(path)") { access(path, F_OK) == 0 }
    }

    private static func end(_ program: ChildProcess) async throws -> Finished {
        try await program.signal(SIGTERM)
        return try await Finished(of: program)
    }

    @Test func aShortInputHasAlertsToo() async throws {
        try await Stage.run { stage in
            for run in 1...2 {
                let journal = "\(stage.folder)/j"
                let script = #"echo 7 | "$catwatch" - -o ndjson --journal "#
                let program = try await stage.bash(script + journal + " --alert 'high: > 5 until < 0'")
                let alerts = try Self.alerts(try await Finished(of: program))
                // It fires still in the second run.
                #expect(alerts.count == 2 - run, "run \(run)")
            }
        }
    }

    @Test func anAlertStandsBehindTheLineThatDecidedIt() async throws {
        try await Stage.run { stage in
            let agent = try await Self.agent(stage)
            try await Self.feed(agent, 1, 7, 8, 2, 9)
            try await Self.waitForAlerts(agent, 3)
            let run = try await Self.end(agent)
            #expect(run.ending == .exited(0), "\(run.errors)")
            let lines = try run.lines()
            #expect(Self.told(lines) == ["firing high", "resolved high by until", "firing high"])
            for (before, alert) in zip(lines, lines.dropFirst()) where alert.type == "alert" {
                #expect(before.isData && before.seq == alert.seq - 1)
                #expect(before.number("value") == alert.number("value"))
                // Another line of the agent's may have come meanwhile, with a later time.
                #expect(try #require(alert.string("at")) >= #require(before.string("time")))
                #expect(alert.raw("evidence")?.contains(#""to":\#(before.seq)"#) == true, "\(alert)")
            }
            if Installation.hasPython { try await stage.validate(run.output) }
        }
    }

    /// The log has let go of the line.
    @Test func aLateReaderGetsWhatFiresAsAKeptLine() async throws {
        try await Stage.run { stage in
            let socket = "\(stage.folder)/s"
            let agent = try await stage.catwatch(
                ["-", "-o", "none", "--listen=\(socket)", "--log-bytes=1MiB"] + Self.high
            ) { $0.input = .pipe }
            try await Self.waitForSocket(stage, socket)
            let large = "{\"value\":7,\"text\":\"\(String(repeating: "cat ", count: 25_000))\"}\n"
            for _ in 0..<20 { try await agent.write(Array(large.utf8)) }
            for (value, isFiring) in [(8, true), (1, false)] {
                try await Self.feed(agent, value)
                var late: Finished?
                try await stage.wait(for: "value \(value)") {
                    let run = try await stage.finish(["--attach=\(socket)", "--once=ndjson"])
                    late = run
                    return run.outputText.contains("\"value\":\(value),\"data\"")
                }
                let run = try #require(late)
                let alerts = run.outputText.split(separator: "\n").filter { $0.contains(#""type":"alert""#) }
                #expect(alerts.count == (isFiring ? 1 : 0), "\(alerts)")
                #expect(alerts.allSatisfy { $0.hasPrefix(#"{"type":"kept""#) && $0.contains(#""state":"firing""#) })
                if Installation.hasPython { try await stage.validate(run.output, expectBye: false) }
            }
            _ = try await Self.end(agent)
        }
    }

    @Test func aFleetNamesTheAgentAndARelayChangesNothing() async throws {
        try await Stage.run { stage in
            var agents: [ChildProcess] = []
            for name in ["a", "b"] {
                let agent = try await Self.agent(stage, Self.high + ["--listen=\(stage.folder)/\(name).sock"])
                agents.append(agent)
                try await Self.waitForSocket(stage, "\(stage.folder)/\(name).sock")
                try await Self.feed(agent, 7)
                try await Self.waitForAlerts(agent, 1)
            }
            let attach = ["a", "b"].map { "--attach=\(stage.folder)/\($0).sock" }
            let relay = try await stage.catwatch([attach[0], "-o", "ndjson"])
            let fleet = try await stage.catwatch(attach + ["-o", "ndjson"])
            for program in [relay, fleet] { try await Self.waitForAlerts(program, program.id == relay.id ? 1 : 2) }
            try await Self.feed(agents[0], 1)
            try await Self.waitForAlerts(relay, 2)
            try await Self.waitForAlerts(fleet, 3)
            let (relayed, joined) = (try await Self.end(relay), try await Self.end(fleet))
            let own = try Self.alerts(await Self.end(agents[0]))
            let passedOn = try Self.alerts(relayed)
            #expect(own.count == 2 && passedOn == own)
            let passed = try Self.alerts(joined).compactMap { FeedLine($0) }.filter { $0.source == "a.stdin" }
            #expect(try Self.alerts(joined).count == 3)
            #expect(passed.count == own.count)
            for (line, bytes) in zip(passed, own) {
                let origin = try #require(FeedLine(bytes))
                #expect(line.string("agent") == "a" && line.string("id") == origin.string("id"))
                #expect(line.number("origin_seq") == origin.number("seq"))
                for key in ["state", "condition", "at", "since", "test", "evidence"] {
                    #expect(line.raw(key) == origin.raw(key), "\(key)")
                }
            }
            if Installation.hasPython {
                try await stage.validate(joined.output)
                try await stage.validate(relayed.output)
            }
            _ = try await Self.end(agents[1])
        }
    }

    @Test func aReloadTellsWhatIsNewChangedAndGone() async throws {
        try await Stage.run { stage in
            func configure(_ alerts: String...) async throws -> String {
                let source = #"{"name":"a","url":"\#(try await stage.url("/fact"))","every":"20ms"}"#
                let lines = alerts.map { "\"\($0)\"" }.joined(separator: ",")
                return try await stage.write(#"{"sources":[\#(source)],"alerts":[\#(lines)]}"#, to: "config.jsonc")
            }
            let path = try await configure("same: value > 0", "changed: value > 0", "removed: status = 200")
            let agent = try await stage.catwatch(["-c", path, "-o", "ndjson"])
            try await Self.waitForAlerts(agent, 3)
            _ = try await configure("same: value > 0", "changed: value < 0", "added: status = 200")
            try await agent.signal(SIGHUP)
            try await Self.waitForAlerts(agent, 6)
            // A wrong one changes nothing.
            _ = try await configure("same: nobody > 0")
            try await agent.signal(SIGHUP)
            try await agent.waitForError("nothing was reloaded")
            let run = try await Self.end(agent)
            let lines = try run.lines()
            let told = Self.told(lines)
            #expect(Set(told.prefix(3)) == ["firing same", "firing changed", "firing removed"])
            #expect(
                told.dropFirst(3).sorted()
                    == ["firing added", "resolved changed by changed", "resolved removed by removed"])
            let ids = Dictionary(grouping: lines.filter { $0.type == "alert" }) { $0.string("condition") ?? "" }
            #expect(ids.mapValues { Set($0.compactMap { $0.string("id") }).count }.values.allSatisfy { $0 == 1 })
            if Installation.hasPython { try await stage.validate(run.output) }
        }
    }

    @Test func whoIsKilledTellsNothingTwice() async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/x.db"
            let first = try await Self.agent(stage, Self.high + ["--journal=\(journal)"])
            try await Self.feed(first, 7)
            try await Self.waitForAlerts(first, 1)
            try await stage.wait(for: "the alert in the journal") {
                try await stage.finish(["log", journal, "--type", "alert"]).outputText.contains("high")
            }
            try await first.signal(SIGKILL)
            let killed = try await Finished(of: first)
            #expect(killed.ending == .killed(SIGKILL))
            let second = try await Self.agent(stage, Self.high + ["--journal=\(journal)"])
            try await Self.feed(second, 8, 9, 1)
            try await Self.waitForAlerts(second, 1)
            try await Self.feed(second, 7)
            try await Self.waitForAlerts(second, 2)
            let run = try await Self.end(second)
            let lines = try run.lines()
            #expect(Self.told(lines) == ["resolved high by until", "firing high"])
            let ids = (FeedLine.lines(killed.output).compactMap { $0 } + lines).filter { $0.type == "alert" }
                .compactMap { $0.string("id") }
            #expect(ids.count == 3 && ids[0] == ids[1] && ids[1] != ids[2])
            if Installation.hasPython { try await stage.validate(run.output) }
        }
    }

    /// One that fell silent before the restart still counts, and so does the time before.
    @Test func aSetKnowsTheSeriesOfTheRunBefore() async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/x.db"
            let options = ["--journal=\(journal)", "--key=/k", "--value=/v", "--alert=any: any stdin/* > 5"]
            func feed(_ agent: ChildProcess, _ key: String, _ value: Int) async throws {
                try await agent.write(Array("{\"k\":\"\(key)\",\"v\":\(value)}\n".utf8))
            }
            let first = try await Self.agent(stage, options + ["--alert=held: stdin/y > 5 for 1s"])
            try await feed(first, "x", 1)
            try await feed(first, "y", 7)
            try await Self.waitForAlerts(first, 2)
            _ = try await Self.end(first)
            // Reads less of the past by itself.
            let second = try await Self.agent(stage, options)
            try await Self.waitForAlerts(second, 1)
            try await feed(second, "x", 1)
            try await second.wait(for: "a window") { second in
                let lines = FeedLine.lines(second.outputBytes).compactMap { $0 }
                return lines.contains { $0.type == "window" && $0.string("series") == "stdin/x" } ? () : nil
            }
            try await feed(second, "y", 1)
            try await Self.waitForAlerts(second, 2)
            let lines = try await Self.end(second).lines()
            #expect(Self.told(lines) == ["resolved held by removed", "resolved any by until"])
            let last = try #require(lines.last { $0.string("series") == "stdin/y" && $0.isData })
            let resolved = try #require(lines.last { $0.type == "alert" })
            #expect(resolved.raw("evidence")?.contains(#""to":\#(last.seq)"#) == true, "\(resolved)")
        }
    }

    @Test func aRecordingsAlertsComeOutAgainAndNoOthers() async throws {
        try await Stage.run { stage in
            let agent = try await Self.agent(stage)
            try await Self.feed(agent, 7, 1, 8)
            try await Self.waitForAlerts(agent, 3)
            let recorded = try await Self.end(agent)
            let path = try await stage.write(recorded.outputText, to: "rec.ndjson")
            // The alerts of a configuration are not those of a recording.
            let configuration = try await stage.write(
                #"{"sources":[{"name":"stdin","url":"http://127.0.0.1:1/"}],"alerts":["low: < 5"]}"#, to: "c.jsonc")
            let run = try await stage.finish(
                ["-c", configuration, "--replay", path, "--speed=max", "-o", "ndjson"])
            #expect(run.ending == .exited(0), "\(run.errors)")
            func numbered(_ run: Finished) throws -> [[UInt8]] { try run.lines().filter { $0.seq > 0 }.map(\.bytes) }
            #expect(try numbered(run) == numbered(recorded))
            #expect(try Self.told(run.lines()).count == 3)
            if Installation.hasPython { try await stage.validate(run.output) }
            let refused = try await stage.finish(["--replay", path, "--speed=max"] + Self.high)
            #expect(refused.ending == .exited(2) && refused.errors.contains("this is a recording"), "\(refused.errors)")
        }
    }

    @Test(arguments: ["noise", "cut", "removed"]) func withoutItsJournalAnAgentBeginsAnew(_ what: String) async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/x.db"
            for round in 1...2 {
                let agent = try await Self.agent(stage, Self.high + ["--journal=\(journal)"])
                try await Self.feed(agent, 7)
                try await Self.waitForAlerts(agent, 1)
                if round == 2, what != "removed" { try await agent.waitForError("and a new journal begun") }
                let run = try await Self.end(agent)
                #expect(run.ending == .exited(0))
                #expect(try Self.told(run.lines()) == ["firing high"], "round \(round)")
                if Installation.hasPython { try await stage.validate(run.output) }
                guard round == 1 else {
                    #expect(run.errors.contains("corrupt-") == (what != "removed"), "\(run.errors)")
                    let restart = try #require(try run.lines().first { $0.type == "restart" })
                    #expect(restart.string("last_run") == nil)
                    break
                }
                switch what {
                case "noise": _ = try await stage.write(String(repeating: "meow", count: 5_000), to: "x.db")
                case "cut": try systemCall("truncate") { truncate(journal, 5_000) }
                // An agent that readers were at leaves them beside it.
                default: for suffix in ["", "-wal", "-shm"] { unlink(journal + suffix) }
                }
            }
        }
    }

    @Test func programsAskWhatFires() async throws {
        try await Stage.run { stage in
            let (socket, token) = ("\(stage.folder)/s", "0123456789abcdef")
            let secret = try await stage.write(token, to: "token")
            let agent = try await stage.catwatch(
                ["-", "-o", "none", "--listen=\(socket)", "--http=127.0.0.1:0", "--http-token-file", secret] + Self.high
            ) { $0.input = .pipe }
            var url = ""
            try await stage.wait(for: "the page's address") {
                let line = await agent.errorText.split(separator: "\n").first { $0.contains("the page is at") }
                url = line.map { String($0.split(separator: " ").last ?? "") } ?? ""
                return !url.isEmpty
            }
            let path = "\(url)alerts"
            @Sendable func ask(_ options: String) async throws -> String {
                try await Finished(of: stage.bash("curl -s -w '%{http_code}' \(options) '\(path)'")).outputText
            }
            for (value, isFiring) in [(7, true), (1, false)] {
                try await Self.feed(agent, value)
                var answer = ""
                try await stage.wait(for: "value \(value)") {
                    answer = try await ask("-H 'Authorization: Bearer \(token)'")
                    return answer.contains(#""condition":"high""#) == isFiring
                }
                #expect(
                    answer.hasSuffix(#"],"more_alerts":0}"# + "\n200") && answer.hasPrefix(#"{"run":""#), "\(answer)")
                for form in ["text", "ndjson", "html"] {
                    let once = try await stage.finish(["--attach=\(socket)", "--once=\(form)"])
                    #expect(once.ending == .exited(isFiring ? 3 : 0), "\(form): \(once.errors)")
                    guard form == "text" else { continue }
                    #expect(once.outputText.contains("\nalert high: stdin is 7 (> 5), since 20") == isFiring)
                }
            }
            #expect(try await ask("-H 'Authorization: Bearer x'").hasSuffix("401"))
            #expect(try await ask("-X POST -u x:\(token)").hasSuffix("405"))
            _ = try await Self.end(agent)
        }
    }

    @Test func oneRoundOfAnswersEndsWithThree() async throws {
        try await Stage.run { stage in
            let fact = try await stage.url("/fact")
            for (alert, status) in [
                ("length >= 0", Int32(2)), ("/length >= 0", 3), ("/length < 0", 0), ("/length >= 0 for 1h", 0),
            ] {
                for command in [["--once"], ["check", "--online"]] {
                    let run = try await stage.finish(command + ["-u", fact, "--alert", "long: \(alert)"])
                    #expect(run.ending == .exited(status), "\(command) \(alert): \(run.errors)")
                }
            }
            let port = try await stage.closedPort()
            let gone = ["-u", fact, "-u", "http://127.0.0.1:\(port)/gone", "--alert", "fact /length >= 0"]
            #expect(try await stage.finish(["check", "--online"] + gone).ending == .exited(1))
            #expect(try await stage.finish(["--once"] + gone).ending == .exited(3))
        }
    }

    /// Killed again and again, by Tests/python/alert_trials.py: it says what that is.
    @Test(.enabled(if: Installation.hasPython)) func noAlertIsLostOrToldTwice() async throws {
        try await Stage.run { try await $0.passTrial("alert_trials.py", ["kill"]) }
    }

    /// Of random runs between which, and in which, the clock is set, by Tests/python/same_trials.py.
    @Test(.enabled(if: Installation.hasPython)) func theLinesOfRealRunsGiveTheSameAlertsAgain() async throws {
        try await Stage.run { try await $0.passTrial("same_trials.py", []) }
    }

    // MARK: The past

    private static func past(_ stage: Stage, _ arguments: [String], input: [UInt8]? = nil) async throws -> Finished {
        let program = try await stage.catwatch(arguments) { if input != nil { $0.input = .pipe } }
        if let input {
            try await program.write(input)
            await program.closeInput()
        }
        return try await Finished(of: program)
    }

    /// Two runs, the second after a kill.
    @Test func aJournalComesToTheAlertsThatItHas() async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/j"
            let rules = ["--alert", "high: > 5 until < 3", "--alert", "long: > 5 for 100ms"]
            let first = try await Self.agent(stage, rules + ["--journal", journal])
            try await Self.feed(first, 1, 7, 4, 2, 9)
            try await Self.waitForAlerts(first, 4)
            _ = try await Self.end(first)
            let second = try await Self.agent(stage, rules + ["--journal", journal])
            try await Self.feed(second, 12, 1)
            try await Self.waitForAlerts(second, 2)
            _ = try await Self.end(second)

            let same = try await Self.past(stage, ["check", "--against", journal, "--same"] + rules)
            #expect(same.ending == .exited(0), "\(same.errors)")
            #expect(same.errors.hasSuffix("recorded and computed alerts are the same: 6\n"))
            let log = try await Self.past(stage, ["log", journal, "--alerts"])
            #expect(log.outputText.split(separator: "\n").count == 4)
            // The same table, and a sentence for each.
            #expect(same.outputText.hasPrefix(log.outputText))
            let sentences = same.outputText.dropFirst(log.outputText.count).split(separator: "\n")
            #expect(sentences.count == 2)
            #expect(sentences.first?.hasPrefix("high: would have fired 2 times, for ") ?? false)
            #expect(sentences.last?.hasPrefix("long: would have fired 1 time, for ") ?? false)
            let objects = try await Self.past(stage, ["log", journal, "--alerts", "--format=ndjson"])
            #expect(objects.outputText.split(separator: "\n").count == 3)
            #expect(objects.outputText.contains(#""worst_value":12,"test":"> 5 until < 3""#))

            let other = try await Self.past(
                stage, ["check", "--against", journal, "--same", "--alert", "high: > 8 until < 3"])
            #expect(other.ending == .exited(1))
            #expect(other.errors.contains("high (stdin) firing: is not computed"))
            let none = try await Self.past(stage, ["check", "--against", journal, "--same", "--alert", "typo: > 99"])
            #expect(none.ending == .exited(1))
            #expect(none.errors.contains("6 recorded alerts are of other conditions"))
        }
    }

    /// A recording of one series.
    ///
    /// - Parameter step: the seconds between two lines.
    private static func recording(_ values: some Sequence<Double>, step: Int = 1) -> String {
        let start = time(0)
        var text = #"{"type":"hello","time":"\#(start)","format":1,"run":"r","interval_s":10,"history_s":120,"#
        text += #""first_seq":1,"next_seq":1,"app":{"started":"\#(start)"}}"# + "\n"
        for (index, value) in values.enumerated() {
            text += #"{"seq":\#(index + 1),"time":"\#(time(index * step))","type":"a","source":"a","series":"a/x","#
            text += #""value":\#(value)}"# + "\n"
        }
        return text
    }

    /// The seconds since the beginning of a month.
    private static func time(_ second: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (day, rest) = (second / 86_400, second % 86_400)
        let clock = "\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
        return "2026-11-\(two(day + 1))T\(clock).000000Z"
    }

    @Test func aHundredThousandEpisodesAreToldOneAfterTheOther() async throws {
        try await Stage.run { stage in
            let file = try await stage.write(
                Self.recording((0..<200_001).lazy.map { Double($0 % 2) }), to: "feed.ndjson")
            let check = try await Self.past(
                stage,
                ["check", "--against", file, "--alert", "on: a/x >= 1", "--alert", "off: a < 0", "--alert", "b > 1"])
            #expect(check.ending == .exited(0), "\(check.errors)")
            let rows = check.outputText.split(separator: "\n")
            #expect(rows.count == 1 + 100_000 + 3)
            #expect(
                rows.suffix(3).map(String.init) == [
                    "on: would have fired 100000 times, for 1 d 3 h, at most 1 s at a time",
                    "off: would not have fired",
                    "b > 1: is about nothing in it",
                ])
        }
    }

    /// What fired before is left out, unless it still fires then; what conditions look back at counts.
    @Test func onlyAlertsSinceATimeAreTold() async throws {
        try await Stage.run { stage in
            // Above from the seconds 10 to 19, 30 to 49, and 60 on.
            let values = (0..<70).map { 10...19 ~= $0 || 30...49 ~= $0 || $0 >= 60 ? 9.0 : 1 }
            let file = try await stage.write(Self.recording(values), to: "feed.ndjson")
            let options =
                ["check", "--against", file, "--alert", "on: a/x > 5 for 8s", "--alert", "m: a/x > 99 for 15s"] + [
                    "--format=csv", "--since",
                ]
            func began(_ since: Int) async throws -> [String] {
                let check = try await Self.past(stage, options + [Self.time(since)])
                #expect(check.ending == .exited(0), "\(check.errors)")
                let records = check.outputText.utf8.split(separator: 0x0A).dropFirst()
                return records.map { String(Substring($0).split(separator: ",", omittingEmptySubsequences: false)[7]) }
            }
            let (all, later, last) = (try await began(0), try await began(25), try await began(55))
            #expect(all == [18, 38, 68].map(Self.time))
            #expect(later == [38, 68].map(Self.time))
            #expect(last == [68].map(Self.time))
        }
    }

    @Test func theLogHasAlertsOfASourceAsRecords() async throws {
        try await Stage.run { stage in
            let journal = "\(stage.folder)/j"
            let agent = try await Self.agent(stage, Self.high + ["--journal", journal])
            try await Self.feed(agent, 7, 1, 9)
            try await Self.waitForAlerts(agent, 3)
            _ = try await Self.end(agent)
            let log = try await Self.past(stage, ["log", journal, "--alerts", "--format=csv", "--source=stdin"])
            let records = log.outputText.split(separator: "\r\n").map {
                $0.split(separator: ",", omittingEmptySubsequences: false)
            }
            #expect(records.map(\.count) == [17, 17, 17])
            #expect(records.first?.first == "condition")
            #expect(records.dropFirst().map { $0[11] } == ["7", "9"])
            #expect(records.dropFirst().map { $0[8].isEmpty } == [false, true])
            let none = try await Self.past(stage, ["log", journal, "--alerts", "--source=other"])
            #expect(none.ending == .exited(1))
            #expect(none.output.isEmpty)
        }
    }

    /// What people write into files that are read as recordings.
    @Test func forgedAndTornLinesAreCountedAndHarmNothing() async throws {
        try await Stage.run { stage in
            let lines = [
                #"{"seq":9,"time":"2026-11-20T01:00:00.000000Z","type":"alert","source":"a","about":"a\u001b[2J","condition":"on","state":"resolved","id":"x","at":"2026-11-20T01:00:00.000000Z","since":"9999-12-31T23:59:59.999999Z","test":"> 1","down_s":1e9,"reason":"until","evidence":{"run":"r","from":0,"to":0}}"#,
                #"{"seq":10,"time":"2026-11-20T01:00:01.000000Z","type":"alert","source":"a","about":"a","condition":"on","state":"firing","id":"y","at":"0000-01-01T00:00:00.000000Z","since":"0000-01-01T00:00:00.000000Z","worst_value":1e308,"test":"> 1","evidence":{"run":"r","from":9223372036854775807,"to":1}}"#,
                #"{"seq":11,"time":"2026-11-20T01:00:02.000000Z","type":"alert","source":"a","about":7}"#,
                #"{"seq":12,"time":"2026-11-20T01:00:03.000000Z","type":"alert","sour"#,
            ]
            let feed = Self.recording([0, 2, 0]) + lines.joined(separator: "\n")
            for format in ["text", "ndjson", "csv"] {
                let check = try await Self.past(
                    stage, ["check", "--against", "-", "--same", "--alert", "on: a/x > 1", "--format=\(format)"],
                    input: Array(feed.utf8))
                #expect(check.ending == .exited(1))
                #expect(check.errors.contains("2 lines are no lines of a feed"))
                #expect(check.errors.contains("\u{241B}[2J) resolved: is not computed"), "\(check.errors)")
                #expect(check.output.split(separator: 0x0A).count == ["text": 3, "ndjson": 1, "csv": 2][format])
            }
        }
    }

    @Test func whatCannotBeReadIsSaidInASentence() async throws {
        try await Stage.run { stage in
            let alert = ["--alert", "> 1"]
            func errors(_ arguments: [String], _ status: Int32, input: [UInt8]? = nil) async throws -> String {
                let check = try await Self.past(stage, ["check", "--against"] + arguments, input: input)
                #expect(check.ending == .exited(status), "\(check.errors)")
                #expect(check.output.isEmpty)
                return check.errors
            }
            #expect(
                try await errors(["\(stage.folder)/none"] + alert, 2).hasSuffix("none: No such file or directory\n"))
            #expect(try await errors([stage.folder] + alert, 2).contains("Is a directory"))
            #expect(try await errors(["-"] + alert, 1, input: []).hasSuffix("standard input: there is no line in it\n"))
            let gzip = try await errors(["-"] + alert, 2, input: [0x1F, 0x8B, 0x08, 0x0A])
            #expect(gzip.contains("zcat FILE | catwatch check --against -"))
            #expect(
                try await errors(["-"], 2, input: []).hasPrefix("catwatch: --against: says nothing without an alert"))
            #expect(try await errors(["-", "--suggest=x"], 1, input: []).hasSuffix("no line has a value of 'x'\n"))
            let both = try await errors(["-", "--suggest=x", "--same"], 2, input: [])
            #expect(both.contains("--same: does not go with --suggest"))
        }
    }

    @Test func aThresholdIsSuggested() async throws {
        try await Stage.run { stage in
            // Two weeks, a value an hour: each day a little peak, four times a larger one.
            let values = (0..<336).map { hour -> Double in
                if hour % 24 != 12 { return Double(hour % 5) }
                return hour / 24 % 4 == 0 ? 90 : 50
            }
            let feed = Self.recording(values, step: 3_600)
            func suggested(_ options: [String]) async throws -> [String] {
                let check = try await Self.past(
                    stage, ["check", "--against", "-", "--suggest", "a/x"] + options,
                    input: Array(feed.utf8))
                #expect(check.ending == .exited(0), "\(check.errors)")
                return check.outputText.split(separator: "\n").suffix(2).map(String.init)
            }
            let (few, many, one) = (
                try await suggested(["--per-week=3"]), try await suggested(["--per-week=10"]), try await suggested([])
            )
            #expect(few.first == "a/x >= 70: would have fired 4 times")
            #expect(many.first == "a/x >= 30: would have fired 14 times")
            #expect(
                one == [
                    "a/x > 90: would not have fired; a lower limit fires more than 2 times, or for more than half of the values",
                    "a/x < 0: would not have fired; a higher limit fires more than 2 times, or for more than half of the values",
                ])
        }
    }
}
