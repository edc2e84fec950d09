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

    /// Nothing is silent because the agent that would tell is gone.
    @Test func letsNoTimePassWhileTheAgentIsAway() async throws {
        let there = try await Self.attached(["1"], ["--for", "silent 3s", "--within", "9s"])
        #expect(there.status == 0, "\(there.errors)")
        let away = try await Self.attached(["1"], ["--for", "silent 3s", "--within", "9s"], stops: true)
        #expect(away.status == 124)
        #expect(away.errors.last?.holds("; the agent is away; 1 event") == true, "\(away.errors)")
    }
}
