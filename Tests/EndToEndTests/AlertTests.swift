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

    @Test func anAlertNamesTheLineThatDecidedIt() async throws {
        try await Stage.run { stage in
            let agent = try await Self.agent(stage)
            try await Self.feed(agent, 1, 7, 8, 2, 9)
            try await Self.waitForAlerts(agent, 3)
            let run = try await Self.end(agent)
            #expect(run.ending == .exited(0), "\(run.errors)")
            let lines = try run.lines()
            #expect(Self.told(lines) == ["firing high", "resolved high by until", "firing high"])
            for alert in lines where alert.type == "alert" {
                let decisive = try #require(
                    lines.first { alert.raw("evidence")?.contains(#""to":\#($0.seq)}"#) == true })
                #expect(decisive.isData && decisive.seq < alert.seq)
                #expect(decisive.number("value") == alert.number("value"))
                #expect(try #require(alert.string("at")) >= #require(decisive.string("time")))
            }
            if Installation.hasPython { try await stage.validate(run.output) }
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
                    == ["firing added", "resolved changed by until", "resolved removed by removed"])
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

    // MARK: The past

    private static func past(_ stage: Stage, _ arguments: [String], input: [UInt8]? = nil) async throws -> Finished {
        let program = try await stage.catwatch(arguments) { if input != nil { $0.input = .pipe } }
        if let input {
            try await program.write(input)
            await program.closeInput()
        }
        return try await Finished(of: program)
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
            #expect(records.map(\.count) == [16, 16, 16])
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
                    stage, ["check", "--against", "-", "--alert", "on: a/x > 1", "--format=\(format)"],
                    input: Array(feed.utf8))
                #expect(check.ending == .exited(0))
                #expect(check.errors.contains("2 lines are no lines of a feed"))
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
