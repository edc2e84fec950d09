import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// `catwatch wait` in virtual time.
@Suite(.limited) struct WaitTests {
    /// How one ended.
    private struct Ending: Sendable {
        var status: Int32
        var output: [String]
        var errors: [String]
        var took: Duration
    }

    /// Waits for a server whose answers have this status and body, by their number.
    private static func wait(
        _ arguments: [String], answer: @escaping @Sendable (Int) -> (status: Int, body: String),
        meanwhile: @escaping @Sendable (SimulatedProcess, EventLoop) async throws -> Void = { _, _ in }
    ) async throws -> Ending {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { number, _ in
                let answer = answer(number)
                return HTTPAnswer(status: answer.status, body: Array(answer.body.utf8))
            }
            let process = SimulatedProcess(on: machine, seed: 3)
            let begun = loop.clock.now
            async let status = process.run(["wait"] + arguments)
            try await meanwhile(process, loop)
            return try await Ending(
                status: status, output: process.output, errors: process.errors,
                took: begun.duration(to: loop.clock.now))
        }
    }

    private static let job = "http://cats.test/job"

    private static func state(_ number: Int, doneFrom: Int) -> (status: Int, body: String) {
        (200, #"{"state":"\#(number < doneFrom ? "Running" : "Done")","n":\#(number)}"#)
    }

    @Test func endsWithTheLineThatDecides() async throws {
        let ending = try await Self.wait([Self.job, "--for", #"/state = "Done""#, "-e", "1s"]) {
            Self.state($0, doneFrom: 4)
        }
        #expect(ending.status == 0)
        #expect(ending.output.count == 1 && ending.output[0].holds(#""data":{"state":"Done","n":4}"#))
        #expect(ending.errors == ["catwatch: met after 2.2 s: job /state is \"Done\" (line 9)"], "\(ending.errors)")
    }

    @Test func waitsUntilItHeldForItsTime() async throws {
        let ending = try await Self.wait([Self.job, "--for", "status = 200 for 10s", "-e", "1s"]) { number in
            (number == 5 ? 503 : 200, "{}")
        }
        #expect(ending.status == 0)
        // The fifth answer comes after 4 s, and the failure makes the next one come a little later.
        #expect(ending.took > .seconds(14) && ending.took < .seconds(18), "\(ending.took)")
    }

    @Test func givesUpEarlyWhenItFailed() async throws {
        let arguments = [Self.job, "--for", #"/state = "Done""#, "--fail", #"/state = "Lost""#]
        let ending = try await Self.wait(arguments) { _ in (200, #"{"state":"Lost"}"#) }
        #expect(ending.status == 3)
        #expect(ending.output.count == 1)
        #expect(ending.errors == ["catwatch: failed after 40 ms: job /state is \"Lost\" (line 3)"], "\(ending.errors)")
    }

    /// Who waits for what holds already must not deploy when something else says no.
    @Test func fails_ratherThanIsMetByTheSameLine() async throws {
        let ending = try await Self.wait([Self.job, "--for", "/n > 0", "--fail", "/n = 1"]) {
            Self.state($0, doneFrom: 1)
        }
        #expect(ending.status == 3)
    }

    @Test func saysWhatItKnowsWhenTheTimeIsUp() async throws {
        let ending = try await Self.wait([Self.job, "--for", #"/state = "Done""#, "--within", "5s"]) { number in
            number == 2 ? (500, "") : Self.state(number, doneFrom: 100)
        }
        #expect(ending.status == 124 && ending.output.isEmpty)
        #expect(ending.took < .seconds(6))
        let sentence = #"catwatch: not met in 5s: job /state is "Running", "#
        #expect(ending.errors.count == 1 && ending.errors[0].hasPrefix(sentence), "\(ending.errors)")
        #expect(ending.errors[0].hasSuffix(" answers, 1 error"))
    }

    @Test func needsAllAtOnceOrAny() async throws {
        // The first is true of odd answers, the second of even ones, both of the seventh.
        @Sendable func body(_ number: Int) -> (status: Int, body: String) {
            (200, #"{"a":\#(number % 2),"b":\#(number == 7 ? 1 : 1 - number % 2)}"#)
        }
        let both = ["--for", "/a = 1", "--for", "/b = 1"]
        let all = try await Self.wait([Self.job] + both, answer: body)
        #expect(all.status == 0 && all.output[0].holds(#""data":{"a":1,"b":1}"#))
        let any = try await Self.wait([Self.job, "--any"] + both, answer: body)
        #expect(any.output[0].holds(#""data":{"a":1,"b":0}"#))
    }

    @Test func countsAStateThatLastsForOneLine() async throws {
        let ending = try await Self.wait(["-", "--for", "value = 7"]) { _ in
            (200, "")
        } meanwhile: { process, _ in
            for number in 0..<5_000 { try await process.write(number == 2_500 ? "7" : "1") }
        }
        #expect(ending.status == 0)
        #expect(ending.output.count == 1 && ending.output[0].holds(#""value":7"#))
    }

    @Test(arguments: [(#"/a = 2"#, Int32(0)), (#"/a = 3"#, 1)])
    func endsWithItsInput(_ line: String, _ status: Int32) async throws {
        let ending = try await Self.wait(["-", "--for", line]) { _ in
            (200, "")
        } meanwhile: { process, _ in
            try await process.write(#"{"a":1}"#)
            try await process.write(#"{"a":2}"#)
            process.closeInput()
        }
        #expect(ending.status == status)
        guard status == 1 else { return }
        #expect(ending.errors[0].hasPrefix("catwatch: ended after "), "\(ending.errors)")
        #expect(ending.errors[0].holds("and not met: stdin /a is 2, ") && ending.errors[0].hasSuffix("2 events"))
    }

    /// `wait … && deploy` must not deploy.
    @Test(arguments: [(SIGINT, Int32(130), "SIGINT"), (SIGTERM, 143, "SIGTERM"), (SIGHUP, 129, "SIGHUP")])
    func saysWhichSignalEndedIt(_ signal: Int32, _ status: Int32, _ name: String) async throws {
        let ending = try await Self.wait([Self.job, "--for", "/n > 100"]) {
            Self.state($0, doneFrom: 1)
        } meanwhile: { process, loop in
            try await loop.sleep(for: .milliseconds(2_500))
            process.signal(signal)
        }
        #expect(ending.status == status && ending.output.isEmpty)
        #expect(
            ending.errors == ["catwatch: \(name) after 2.5 s: job /n is 2, 1.3 s ago; 2 answers"], "\(ending.errors)")
    }

    /// Two moments of a recording between two lines: the first one decides.
    @Test(arguments: [["--for", "a > 5 for 10s"], ["--for", "a > 5 for 10s", "--fail", "a > 5 for 20s"]])
    func looksAtEachMomentOfARecording(_ arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        var lines = [
            #"{"type":"hello","time":"2026-01-01T00:00:00.000000Z","format":1,"run":"r","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":1,"host":{},"app":{}}"#,
            #"{"type":"stats","time":"2026-01-01T00:00:00.000000Z","as_of":0,"endpoints":[],"sources":[]}"#,
        ]
        for (number, value) in [6, 3].enumerated() {
            lines.append(
                #"{"seq":\#(number + 1),"time":"2026-01-01T00:0\#(number):00.000000Z","type":"x","source":"a","series":"a","value":\#(value)}"#
            )
        }
        try folder.write(lines.joined(separator: "\n") + "\n", to: "rec.ndjson")
        let ending = try await Self.wait(["--replay", folder.path("rec.ndjson")] + arguments) { _ in (200, "") }
        #expect(ending.status == 0, "\(ending.errors)")
    }

    @Test func exitsAtOnceWithTheSameStatus() async throws {
        let ending = try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 200, body: []) }
            let process = SimulatedProcess(on: machine, seed: 3)
            async let status = process.run(["wait", Self.job, "--for", "/n > 0"])
            try await loop.sleep(for: .seconds(1))
            process.signal(SIGINT)
            process.signal(SIGINT)
            return try await (status, process.exited)
        }
        #expect(ending.0 == 130 && ending.1 == 130)
    }

    @Test func isQuietIfAsked() async throws {
        let ending = try await Self.wait([Self.job, "--for", "/n > 1", "-q"]) { Self.state($0, doneFrom: 1) }
        #expect(ending.status == 0 && ending.output.count == 1 && ending.errors.isEmpty)
    }

    /// The lines that are left are not looked at: nobody who presses Ctrl-C wants to go on.
    @Test func isNotMetBehindASignal() async throws {
        let ending = try await Self.wait(["-", "--for", "value = 5000"]) { _ in
            (200, "")
        } meanwhile: { process, loop in
            for number in 1...5_000 { try await process.write("\(number)") }
            process.signal(SIGINT)
        }
        #expect(ending.status == 130 || ending.output.count == 1 && ending.status == 0)
    }

    // MARK: Attached

    /// Waits for an agent that has read these lines a second apart, and reads others, a second apart, afterwards.
    private static func attached(
        _ before: [String], _ arguments: [String], _ after: [String] = [], stops: Bool = false
    ) async throws -> Ending {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 500, body: []) }
            let agent = SimulatedProcess(on: machine, seed: 5)
            async let agentStatus = agent.run(["-", "--listen=/feed.sock"])
            for line in before {
                try await loop.sleep(for: .seconds(1))
                try await agent.write(line)
            }
            try await loop.sleep(for: .seconds(1))
            let process = SimulatedProcess(on: machine, seed: 6)
            let begun = loop.clock.now
            async let status = process.run(["wait", "--attach=/feed.sock"] + arguments)
            try await loop.sleep(for: .milliseconds(500))
            if stops { agent.signal(SIGTERM) }
            for line in after {
                try await agent.write(line)
                try await loop.sleep(for: .seconds(1))
            }
            let ending = try await Ending(
                status: status, output: process.output, errors: process.errors,
                took: begun.duration(to: loop.clock.now))
            if !stops { agent.signal(SIGTERM) }
            _ = try await agentStatus
            return ending
        }
    }

    @Test func countsTheNewestLineOfAnAgentAndNoOlderOne() async throws {
        let newest = try await Self.attached(["1", "2"], ["--for", "value = 2"])
        #expect(newest.status == 0 && newest.took < .seconds(1))
        #expect(newest.output.count == 1 && newest.output[0].holds(#""value":2"#))
        let older = try await Self.attached(["1", "2"], ["--for", "value = 1", "--within", "5s"])
        #expect(older.status == 124)
        let later = try await Self.attached(["1", "2"], ["--for", "value = 1", "--within", "5s"], ["1"])
        #expect(later.status == 0)
    }

    @Test func countsWhatCameSinceATime() async throws {
        let since = try await Self.attached(["1", "2", "3"], ["--for", "value = 1", "--since", "-1m"])
        #expect(since.status == 0)
        let late = try await Self.attached(
            ["1", "2", "3"], ["--for", "value = 1", "--since", "-2500ms", "--within", "2s"])
        #expect(late.status == 124)
        let held = try await Self.attached(["1", "2", "2", "2"], ["--for", "value = 2 for 2s", "--since", "-1m"])
        #expect(held.status == 0 && held.took < .seconds(1))
    }

    /// Waits for ten seconds of the value 1, of which an agent tells that is out of reach from 5 s to 20 s.
    private static func interrupted(meanwhile line: String?) async throws -> Ending {
        try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop) { _, _ in HTTPAnswer(status: 500, body: []) }
            let agent = SimulatedProcess(on: machine, seed: 5)
            async let agentStatus = agent.run(["-", "--listen=/feed.sock"])
            try await loop.sleep(for: .seconds(1))
            try await agent.write("1")
            let process = SimulatedProcess(on: machine, seed: 6)
            let begun = loop.clock.now
            async let status = process.run(
                ["wait", "--attach=/feed.sock", "--for", "value = 1 for 10s", "--within", "50s"])
            try await loop.sleep(for: .seconds(5))
            process.isCutOff = true
            process.breakConnections()
            try await loop.sleep(for: .seconds(5))
            if let line { try await agent.write(line) }
            try await loop.sleep(for: .seconds(10))
            process.isCutOff = false
            let ending = try await Ending(
                status: status, output: process.output, errors: process.errors,
                took: begun.duration(to: loop.clock.now))
            agent.signal(SIGTERM)
            _ = try await agentStatus
            return ending
        }
    }

    /// Nothing holds while nobody can tell; the lines of that time come first.
    @Test func countsNoTimeWithoutTheAgent() async throws {
        let changed = try await Self.interrupted(meanwhile: "2")
        #expect(changed.status == 124, "\(changed.errors)")
        #expect(changed.errors.last?.holds("stdin value is 2, ") == true, "\(changed.errors)")
        let same = try await Self.interrupted(meanwhile: nil)
        #expect(same.status == 0, "\(same.errors)")
        // 5 s with the agent, 15 s and 9 s until the next try without, and 5 s with it.
        #expect(same.took > .seconds(33) && same.took < .seconds(35), "\(same.took)")
        let sentence = same.errors.last { $0.holds("met after") }
        #expect(sentence != nil)
    }

    /// Waits for an agent whose clock is a year behind, and whose older lines, three of one source, come one a second.
    private static func slow(_ arguments: [String]) async throws -> Ending {
        func time(_ second: Int) -> String { "2026-01-01T00:00:0\(second).000000Z" }
        let greeting = [
            #"{"type":"hello","time":"\#(time(4))","format":1,"run":"r","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":4,"host":{},"app":{}}"#,
            #"{"type":"stats","time":"\#(time(4))","as_of":3,"endpoints":[],"sources":[{"source":"s","state":"ok"}]}"#,
        ]
        let lines = (1...3).map { second in
            #"{"seq":\#(second),"time":"\#(time(second))","type":"x","source":"s","series":"s","value":\#(second)}"#
        }
        return try await withLoop(virtual: true) { loop in
            let machine = SimulatedMachine(on: loop)
            let listener = machine.listen(at: "/feed.sock")
            let process = SimulatedProcess(on: machine, seed: 6)
            async let status = process.run(["wait", "--attach=/feed.sock"] + arguments)
            let stream = try await listener.accept()
            let begun = loop.clock.now
            for line in [greeting.joined(separator: "\n")] + lines {
                try await stream.write(all: Array("\(line)\n".utf8))
                try await loop.sleep(for: .seconds(1))
            }
            return try await Ending(
                status: status, output: process.output, errors: process.errors,
                took: begun.duration(to: loop.clock.now))
        }
    }

    @Test func readsAllOfThePastBeforeItJudges() async throws {
        let older = try await Self.slow(["--for", "s = 1", "--within", "9s"])
        #expect(older.status == 124, "\(older.errors)")
        let newest = try await Self.slow(["--for", "s = 3", "--within", "9s"])
        #expect(newest.status == 0, "\(newest.errors)")
    }

    @Test func goesByTheClockOfTheAgent() async throws {
        let ending = try await Self.slow(["--for", "s silent 5s", "--within", "20s"])
        #expect(ending.status == 0, "\(ending.errors)")
        // Its newest line came after 3 s and was as old then as its clock says.
        #expect(ending.took > .seconds(6) && ending.took < .seconds(9), "\(ending.took)")
    }

    @Test func countsOfEachAgentOfAFleetTheNewestLineAndNoOlderOne() async throws {
        func wait(_ line: String, agents names: [String] = ["a", "b"]) async throws -> Int32 {
            try await withLoop(virtual: true) { loop in
                let machine = SimulatedMachine(on: loop)
                let agents = names.map { ($0, SimulatedProcess(on: machine, seed: UInt64($0.utf8.count))) }
                return try await withThrowingTaskGroup(of: Int32?.self) { group in
                    for (name, agent) in agents {
                        group.addTask {
                            _ = try await agent.run(["-", "--listen=/\(name).sock"])
                            return nil
                        }
                    }
                    try await loop.sleep(for: .seconds(1))
                    for value in 1...3 { for (_, agent) in agents { try await agent.write("\(value)") } }
                    try await loop.sleep(for: .seconds(1))
                    let process = SimulatedProcess(on: machine, seed: 9)
                    let status = try await process.run(
                        ["wait", "--attach=/a.sock", "--attach=/b.sock", "--for", line, "--within", "5s"])
                    for (_, agent) in agents { agent.signal(SIGTERM) }
                    while (try await group.next()) != nil {}
                    return status
                }
            }
        }
        #expect(try await wait("b.stdin = 3") == 0)
        #expect(try await wait("b.stdin = 2") == 124)
        #expect(try await wait("all * > 2") == 0)
        #expect(try await wait("all * > 2", agents: ["a"]) == 124, "the other one has never been there")
    }

    /// Nothing is silent because the agent that would tell is gone.
    @Test func letsNoTimePassWhileTheAgentIsAway() async throws {
        let there = try await Self.attached(["1"], ["--for", "silent 3s", "--within", "9s"])
        #expect(there.status == 0, "\(there.errors)")
        let away = try await Self.attached(["1"], ["--for", "silent 3s", "--within", "9s"], stops: true)
        #expect(away.status == 124)
        #expect(away.errors.last?.holds("; the agent is away; 1 event") == true, "\(away.errors)")
    }
}
