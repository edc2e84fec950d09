import Conditions
import Feed
import Glibc
import Inputs
import TestSupport
import Testing

@testable import Settings

/// Alerts of the configuration and the command line.
@Suite(.limited) struct AlertSettingsTests {
    private static let rooms =
        #""sources":[{"name":"rooms","url":"http://h/x","items":"","key":"/n"},{"name":"fact","url":"http://h/f"}]"#

    /// What is wrong with these alerts, which begin in column 1 of line 2.
    private static func faults(_ alerts: String) -> [String] {
        ConfigFixture.faults("{\"alerts\": [\n\(alerts)\n]}")
    }

    private static func plan(
        _ alerts: String, _ arguments: [String] = [], sources: String = rooms, environment: [String: String] = [:]
    ) throws -> WatchPlan {
        try ConfigFixture.plan(
            "{\(sources),\n\"alerts\": [\n\(alerts)\n]}", arguments, environment: environment)
    }

    /// What is wrong with a plan: the lines of a configuration's faults, or the message with its option.
    private static func refusals(
        _ alerts: String, _ arguments: [String] = [], sources: String = rooms
    ) -> [String] {
        do {
            _ = try plan(alerts, arguments, sources: sources)
            return []
        } catch let error as UsageError {
            guard error.lines.isEmpty else { return error.lines.map { String($0.dropFirst("test.jsonc:".count)) } }
            return ["\(error.option ?? "none"): \(error.message)"]
        } catch {
            return ["\(error)"]
        }
    }

    // MARK: Reading

    @Test func areLinesAndObjects() throws {
        let plan = try Self.plan(
            #"""
            "hot: rooms/kitchen > 1000 for 2m", "rooms > 5",
            {"name": "down", "when": "rooms fails"},
            {"name": "slow", "when": ["rooms p95 over 1m > 1s", "fact ms > 2s"], "severity": "critical",
             "note": "call Ann", "remind": "90m"},
            {"name": "often", "when": "rooms fails", "severity": "info", "remind": 60},
            {"name": "never", "when": "rooms fails", "severity": "warning", "remind": false},
            """#)
        let alerts = plan.alerts
        #expect(alerts.map(\.name) == ["hot", "rooms > 5", "down", "slow", "often", "never"])
        #expect(
            alerts.map { $0.conditions.map(\.text) } == [
                ["hot: rooms/kitchen > 1000 for 2m"], ["rooms > 5"], ["rooms fails"],
                ["rooms p95 over 1m > 1s", "fact ms > 2s"], ["rooms fails"], ["rooms fails"],
            ])
        #expect(alerts.map(\.severity) == [nil, nil, nil, .critical, .info, .warning])
        #expect(alerts.map(\.note) == [nil, nil, nil, "call Ann", nil, nil])
        let day = Duration.seconds(86_400)
        #expect(alerts.map(\.reminder) == [day, day, day, .seconds(5_400), .seconds(60), nil])
        #expect(try ConfigFixture.plan("{\(Self.rooms)}").alerts.isEmpty)
        #expect(try !ConfigFixture.plan(#"{"alerts":["> 5"]}"#).alerts.isEmpty)
    }

    private static let long = String(repeating: "x", count: 4_097)
    private static let note = String(repeating: "ä", count: 501)
    private static let many = (0...100).map { "\"s\($0) > 1\"" }.joined(separator: ",")

    private static let refused: [(String, [String])] = [
        // The column of the file, where the string has no escapes in front of it.
        (
            #" "> 5 foobar""#,
            ["2:7: alerts[0]: nothing more was expected here, but and, for or until\n  > 5 foobar\n      ^"]
        ),
        (#""""#, ["2:2: alerts[0]: a test is missing, such as > 100 or status = 200\n  \n  ^"]),
        (
            #""ä/ü > 5 or""#,
            ["2:10: alerts[0]: there is no 'or'; write two conditions\n  ä/ü > 5 or\n          ^"]
        ),
        (
            #""a = \"x\" or""#,
            ["2:1: alerts[0]: there is no 'or'; write two conditions\n  a = \"x\" or\n          ^"]
        ),
        (
            #""a or \"x\"""#,
            ["2:4: alerts[0]: a test begins"]
        ),
        (#""\u0061 or""#, ["2:1: alerts[0]: "]), (#""ää\u0061 or""#, ["2:1: alerts[0]: "]),
        // A hidden character is shown by more columns than it has.
        ("\"\u{202e} = 5 or whatever else there is\"", ["2:1: alerts[0]: there is no 'or'"]),
        (#""> 5 \u0066oobar""#, ["2:6: alerts[0]: nothing"]),
        (#""a =""#, ["2:5: alerts[0]: a value is missing to compare with\n  a =\n     ^"]),
        ("\"\(long)\"", ["2:2: alerts[0]: a condition has at most 4096 bytes\n"]),
        ("5", ["2:1: alerts[0]: is a number where a condition or an object should be"]),
        (#"["> 5"]"#, ["2:1: alerts[0]: is an array where a condition or an object should be"]),
        ("null", ["2:1: alerts[0]: is null where a condition or an object should be"]),
        ("{}", ["2:1: alerts[0]: needs name", "2:1: alerts[0]: needs when"]),
        (#"{"name": "a"}"#, ["2:1: alerts[0]: needs when"]),
        (#"{"when": "> 5"}"#, ["2:1: alerts[0]: needs name"]),
        (
            #"{"nam": "a", "when": "> 5"}"#,
            ["2:1: alerts[0]: needs name", "2:2: alerts[0].nam: is no known key; did you mean 'name'?"]
        ),
        (#"{"name": "a", "when": "> 5", "for": "2m"}"#, ["2:30: alerts[0].for: is no known key"]),
        (#"{"name": "a", "name": "b", "when": "> 5"}"#, ["2:15: alerts[0].name: is given twice; leave one out"]),
        (#"{"name": "", "when": "> 5"}"#, ["2:10: alerts[0].name: is empty"]),
        (#"{"name": 5, "when": "> 5"}"#, ["2:10: alerts[0].name: is a number where a string should be"]),
        (#"{"name": "a\nb", "when": "> 5"}"#, ["2:10: alerts[0].name: holds a control character"]),
        ("{\"name\": \"\(long)\", \"when\": \"> 5\"}", ["2:10: alerts[0].name: is longer than 4096 characters"]),
        (
            "{\"name\": \"ä\(long.dropFirst(2))\", \"when\": \"> 5\"}",
            ["2:10: alerts[0].name: is longer than 4096 bytes"]
        ),
        (#"{"name": "a", "when": []}"#, ["2:23: alerts[0].when: is empty; write a condition"]),
        (
            #"{"name": "a", "when": 5}"#,
            ["2:23: alerts[0].when: is a number where a condition or an array of conditions should be"]
        ),
        (#"{"name": "a", "when": [5]}"#, ["2:24: alerts[0].when[0]: is a number where a condition should be"]),
        ("{\"name\": \"a\", \"when\": [\(many)]}", ["2:23: alerts[0].when: has 101 elements; 100 is the most"]),
        (
            #"{"name": "a", "when": "b: > 5"}"#,
            [
                "2:23: alerts[0].when: begins with a name of its own, 'b'; leave it out, as the object has the name"
            ]
        ),
        (
            #"{"name": "a", "when": ["a: > 5", "> 5 foo"]}"#,
            ["2:24: alerts[0].when[0]: begins with a name of its own, 'a';", "2:39: alerts[0].when[1]: nothing"]
        ),
        (
            #"{"name": "a", "when": "> 5", "severity": "bad"}"#,
            ["2:42: alerts[0].severity: 'bad' is not known; write info, warning or critical"]
        ),
        (#"{"name": "a", "when": "> 5", "note": ""}"#, ["2:38: alerts[0].note: is empty"]),
        (
            "{\"name\": \"a\", \"when\": \"> 5\", \"note\": \"\(note)\"}",
            ["2:38: alerts[0].note: is longer than 1000 bytes"]
        ),
        (
            #"{"name": "a", "when": "> 5", "remind": "59s"}"#,
            ["2:40: alerts[0].remind: '59s' is out of range; write 1m to 365d"]
        ),
        (#"{"name": "a", "when": "> 5", "remind": 59.9}"#, ["2:40: alerts[0].remind: '59.9' is out of range"]),
        (
            #"{"name": "a", "when": "> 5", "remind": "soon"}"#,
            ["2:40: alerts[0].remind: 'soon' is not a duration"]
        ),
        (
            #"{"name": "a", "when": "> 5", "remind": true}"#,
            ["2:40: alerts[0].remind: is true; write how often, or false for never"]
        ),
        (
            #"{"name": "a", "when": "> 5", "remind": null}"#,
            ["2:40: alerts[0].remind: is null where a duration should be"]
        ),
        (
            #""a: > 5", {"name": "a", "when": "> 6"}"#,
            ["2:11: alerts[1]: 'a' is the name of another alert already: 'a: > 5' from test.jsonc:2:1"]
        ),
        (#""> 5", "> 5""#, ["2:8: alerts[1]: '> 5' is the name of another alert already: '> 5' from test.jsonc:2:1"]),
        (
            #""a: > 5", "a: > 6", "a: > 7""#,
            [
                "2:11: alerts[1]: 'a' is the name of another alert already: 'a: > 5' from test.jsonc:2:1",
                "2:21: alerts[2]: 'a' is the name of another alert already: 'a: > 5' from test.jsonc:2:1",
            ]
        ),
        // A fault hides no later one.
        (
            #""a: > 5 foo", 5, {"when": "> 5"}, "a: > 5", "a: > 6""#,
            [
                "2:9: alerts[0]: nothing", "2:15: alerts[1]: is a number", "2:18: alerts[2]: needs name",
                "2:45: alerts[4]: 'a' is the name of another alert already: 'a: > 5' from test.jsonc:2:35",
            ]
        ),
    ]

    @Test(arguments: refused)
    func whatIsNoAlertIsRefused(alerts: String, expected: [String]) {
        let faults = Self.faults(alerts)
        #expect(faults.count == expected.count, "\(faults)")
        for (fault, begin) in zip(faults, expected) { #expect(fault.hasPrefix(begin), "\(fault)") }
    }

    @Test func thereAreAtMostSoManyConditions() throws {
        func object(_ name: Int, _ count: Int) -> String {
            let lines = (0..<count).map { _ in "\"> 1\"" }.joined(separator: ",")
            return "{\"name\":\"\(name)\",\"when\":[\(lines)]}"
        }
        let full = (0..<100).map { object($0, 100) }.joined(separator: ",")
        #expect(Self.faults(full) == [])
        #expect(
            Self.faults("\(full),\n\"> 5\",\"> 6\"")
                == ["3:1: alerts[100]: 10000 conditions are the most of all alerts"])
        #expect(
            Self.refusals(full, ["--alert", "> 5"], sources: #""every":1"#)
                == ["--alert: '> 5': 10000 conditions are the most of all alerts"])
        let lines = (0...10_000).map { "\"a\($0): > 1\"" }.joined(separator: ",")
        #expect(
            ConfigFixture.faults("{\"alerts\": [\(lines)]}") == ["1:12: alerts: has 10001 elements; 10000 is the most"])
    }

    // MARK: Command line

    @Test func theCommandLineAddsToTheConfiguration() throws {
        let plan = try Self.plan(
            #""hot: rooms > 5""#, ["--alert", "cold: rooms < 1", "--alert", "fact fails"])
        #expect(plan.alerts.map(\.name) == ["hot", "cold", "fact fails"])
        #expect(plan.alerts.allSatisfy { $0.reminder == .seconds(86_400) })
        let alone = try ConfigFixture.plan(nil, ["check", "http://h/x", "--alert", "> 5"])
        #expect(alone.alerts.map(\.name) == ["> 5"])
    }

    @Test func aNameIsGivenOnce() {
        #expect(
            Self.refusals(#""hot: rooms > 5""#, ["--alert", "hot: rooms > 6"]) == [
                "--alert: 'hot: rooms > 6': 'hot' is the name of another alert already: 'hot: rooms > 5' from test.jsonc:3:1"
            ])
        #expect(
            Self.refusals("", ["--alert", "hot: rooms > 5", "--alert", "hot: fact > 5"]) == [
                "--alert: 'hot: fact > 5': 'hot' is the name of another alert already: 'hot: rooms > 5' from --alert"
            ])
    }

    @Test func areComputedWhereTheSourcesAre() throws {
        let line = ["--alert", "> 5"]
        let other =
            "--alert: alerts are computed where the sources are, and this is another agent's feed; catwatch wait asks of it"
        let recording =
            "--alert: alerts are computed where the sources are, and this is a recording; catwatch wait asks of it"
        #expect(Self.refusals("", ["--attach=/x"] + line) == [other])
        #expect(Self.refusals("", ["--attach=http://h:1"] + line) == [other])
        #expect(Self.refusals("", ["--replay=-"] + line) == [recording])
        // Of a fleet they are.
        #expect(try Self.plan("", ["--attach=/x", "--attach=/y"] + line).alerts.count == 1)
        #expect(try Self.plan("", ["--attach=/x", "http://h/x"] + line).alerts.count == 1)
        #expect(try Self.plan("", ["--attach=nats://h"] + line).alerts.count == 1)
        // The file contradicts itself, or a nearer layer decides.
        #expect(
            Self.refusals(#""> 5", "> 6""#, sources: #""attach":"/x""#) == [
                "3:1: alerts[0]: alerts are computed where the sources are, and this is another agent's feed; catwatch wait asks of it"
            ])
        #expect(try Self.plan(#""> 5""#, ["--attach=/x"], sources: #""every":1"#).alerts.isEmpty)
        #expect(try Self.plan(#""> 5""#, ["--replay=-"], sources: #""every":1"#).alerts.isEmpty)
    }

    // MARK: Subjects

    @Test func theirSubjectsAreThere() {
        #expect(
            Self.refusals(
                #"""
                "room > 5", "> 5", "rooms > 5", "catwatch count > 1", "*/a > 1", "\"latency:none\" > 5",
                {"name": "a", "when": ["rooms/x > 5", "fct fails", "agent x fails"]},
                "nothing/like/that > 5"
                """#, ["--alert", "x > 5"]) == [
                    "3:1: alerts[0]: there is no source 'room'; did you mean 'rooms'?",
                    "3:13: alerts[1]: there are 2 sources; write one of them in front, or *: 'rooms' or 'fact'",
                    "4:39: alerts[6].when[1]: there is no source 'fct'; did you mean 'fact'?",
                    "4:52: alerts[6].when[2]: there are no agents here; attach to several, or write a source",
                    "5:1: alerts[7]: there is no source 'nothing'",
                ])
        #expect(
            Self.refusals("", ["--alert", "room > 5", "--alert", "x > 5"])
                == ["--alert: 'room > 5': there is no source 'room'; did you mean 'rooms'?"])
        #expect(Self.refusals(#""> 5""#, sources: #""url":"http://h/x""#) == [])
        // Which sources agents have their lines say.
        #expect(Self.refusals(#""> 5","x > 5","agent x fails""#, sources: #""attach":["/x","/y"]"#) == [])
    }

    @Test func aFaultyReloadChangesNothing() throws {
        let folder = try TemporaryFolder()
        func write(_ alerts: String) throws { try folder.write("{\(Self.rooms),\"alerts\":[\(alerts)]}", to: "c") }
        try write(#""rooms > 5""#)
        let arguments = ["-c", folder.path("c"), "--alert", "fact > 5"]
        let command = try Command.parse(arguments) { path throws(UsageError) in
            try ConfigFile.find(named: path, environment: [:])
        }
        guard case .watch(let options) = command else { throw UsageError("no watch") }
        let plan = try WatchPlan(options, environment: [:], arguments: arguments)
        try write(#""rooms > 6""#)
        #expect(try plan.reload().alerts.map(\.name) == ["rooms > 6", "fact > 5"])
        #expect(try plan.reload().restartKeys(comparedTo: plan) == [])
        for wrong in [#""room > 6""#, #""rooms > ""#, #""fact > 5""#] {
            try write(wrong)
            #expect(throws: UsageError.self) { try plan.reload() }
        }
        #expect(plan.alerts.map(\.name) == ["rooms > 5", "fact > 5"])
    }

    // MARK: What is printed

    @Test func whatIsPrintedIsAConfigurationWithTheSameAlerts() throws {
        let plan = try Self.plan(
            #"""
            "hot: rooms/kitchen > 1000 for 2m", "rooms /s = \"a b\"", "\"a b\": rooms text contains \"\\n\"",
            {"name": "down", "when": "rooms fails"}, {"name": "rooms > 7", "when": ["rooms > 7"]},
            {"name": "two", "when": ["rooms fails", "fact fails"], "severity": "warning", "note": "ä\"", "remind": 90},
            {"name": "never", "when": "rooms fails", "remind": false},
            {"name": "day", "when": "rooms fails", "remind": "24h"},
            """#, ["--alert", "x\u{1}: \t fact > 5"])
        let text = plan.effectiveText()
        #expect(ConfigFixture.faults(text) == [])
        #expect(try ConfigFixture.plan(text).alerts == plan.alerts && plan.alerts.count == 9)
        #expect(try ConfigFixture.plan(text).effectiveText() == text)
        for line in [
            #"    "hot: rooms/kitchen > 1000 for 2m","#, #"    {"name": "down", "when": "rooms fails"},"#,
            #"    "rooms > 7","#, #"    {"name": "never", "when": "rooms fails", "remind": false},"#,
            #"    {"name": "day", "when": "rooms fails"},"#,
        ] { #expect(text.contains("\(line)\n"), "\(text)") }
        #expect(try !ConfigFixture.plan("{\(Self.rooms)}").effectiveText().contains("alerts"))
    }
}
