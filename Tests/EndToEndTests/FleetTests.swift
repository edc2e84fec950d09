import Glibc
import Reactor
import TestSupport
import Testing

/// Real agents, over sockets and HTTP, and one whose sources they are.
@Suite(.limited) struct FleetTests {
    /// An agent that can be restarted, and what all its lives said.
    private struct Member {
        let name: String
        let arguments: [String]
        var program: ChildProcess
        /// Lines by runs, in the order of these.
        var before: [[FeedLine]] = []

        init(_ stage: Stage, _ number: Int, isHTTP: Bool) async throws {
            name = "m\(number)"
            let port = isHTTP ? try await stage.closedPort() : 0
            let place = isHTTP ? "--http=127.0.0.1:\(port)" : "--listen=\(stage.folder)/\(name).sock"
            url = isHTTP ? "http://127.0.0.1:\(port)" : "unix:\(stage.folder)/\(name).sock"
            arguments = try await [
                "-u", stage.url("/fact"), "-e", "30ms", "-i", "1s", "-o", "ndjson", "-q", place,
                "--journal=\(stage.folder)/\(name).db", "--journal-commit=20ms",
            ]
            program = try await stage.catwatch(arguments)
        }

        let url: String

        /// What it has said in its life so far, without the lines that are computed anew.
        static func lines(_ bytes: [UInt8]) -> [FeedLine] {
            let whole = bytes.lastIndex(of: 0x0A).map { bytes[...$0] } ?? []
            return FeedLine.lines(Array(whole)).compactMap { $0 }
        }
    }

    @Test func agentsThatAreRestartedLoseAndRepeatNothing() async throws {
        try await Stage.run { stage in
            var members: [Member] = []
            for number in 0..<4 { members.append(try await Member(stage, number, isHTTP: number % 2 == 1)) }
            let sources = members.map { #"{"kind":"feed","name":"\#($0.name)","url":"\#($0.url)"}"# }
            let configuration = try await stage.write(#"{"sources":[\#(sources.joined(separator: ","))]}"#, to: "c")
            let fleet = try await stage.catwatch(["-c", configuration, "-i", "1s", "-o", "ndjson"])
            func wait(for agent: String, _ count: Int) async throws {
                try await stage.wait(for: "\(count) lines of \(agent)") {
                    let lines = Member.lines(await fleet.outputBytes)
                    return lines.count { $0.string("agent") == agent && $0.type == "fact" } >= count
                }
            }
            for member in members { try await wait(for: member.name, 10) }
            for index in members.indices {
                // Each once, by one signal or the other.
                try await members[index].program.signal(index < 2 ? SIGTERM : SIGKILL)
                _ = try await members[index].program.waitForEnd()
                members[index].before.append(Member.lines(await members[index].program.outputBytes))
                members[index].program = try await stage.catwatch(members[index].arguments)
            }
            let before = Member.lines(await fleet.outputBytes).count { $0.type == "fact" }
            for member in members { try await wait(for: member.name, before / 4 + 20) }
            for index in members.indices {
                try await members[index].program.signal(SIGTERM)
                _ = try await members[index].program.waitForEnd()
                members[index].before.append(Member.lines(await members[index].program.outputBytes))
            }
            // All that was said comes, as the fleet reads on what is there.
            try await stage.wait(for: "the ends of all agents") {
                let lines = Member.lines(await fleet.outputBytes)
                return members.allSatisfy { member in
                    lines.last { $0.string("agent") == member.name && $0.type == "error" }?
                        .string("message")?.contains("ended") == true
                        || lines.last { $0.string("agent") == member.name }?.type == "error"
                }
            }
            try await fleet.signal(SIGTERM)
            #expect(try await fleet.waitForEnd() == .exited(0))
            let lines = FeedLine.lines(await fleet.outputBytes).compactMap { $0 }
            #expect(lines.first?.raw("fleet") == "true")
            #expect(lines.filter { $0.seq > 0 }.map(\.seq) == Array(1...(lines.last { $0.seq > 0 }?.seq ?? 1)))
            for member in members {
                var seen: [String: [Int]] = [:]
                for line in lines where line.string("agent") == member.name {
                    guard let run = line.string("origin_run"), let number = line.number("origin_seq") else { continue }
                    seen[run, default: []].append(Int(number))
                }
                #expect(!lines.contains { $0.type == "lost" && $0.string("agent") == member.name })
                for (life, said) in member.before.enumerated() {
                    let run = try #require(said.first?.string("run"))
                    let numbers = seen[run] ?? []
                    #expect(
                        numbers == numbers.sorted() && Set(numbers).count == numbers.count, "\(member.name) \(life)")
                    // Of one that was killed, what its journal has is all there is.
                    let next = life + 1 < member.before.count ? member.before[life + 1] : []
                    let last = next.first { $0.type == "restart" }?.number("last_seq").map { Int($0) } ?? .max
                    let own = said.filter { $0.seq > 0 && $0.seq <= last && $0.type != "window" }.map(\.seq)
                    let missing = Set(own).subtracting(numbers)
                    #expect(missing.isEmpty, "\(member.name), life \(life), lacks \(missing.sorted().prefix(10))")
                }
            }
            if Installation.python != nil { try await stage.validate(await fleet.outputBytes) }
        }
    }

    @Test func anAgentIsPassedOnByHTTPToo() async throws {
        try await Stage.run { stage in
            let port = try await stage.closedPort()
            let agent = try await stage.catwatch([
                "-u", stage.url("/fact"), "-e", "20ms", "-o", "ndjson", "--http=127.0.0.1:\(port)",
            ])
            try await stage.wait(for: "lines") { await agent.outputText.contains(#""seq":20,"#) }
            let reader = try await stage.catwatch(["--attach=http://127.0.0.1:\(port)", "-o", "ndjson", "-n", "30"])
            #expect(try await reader.waitForEnd() == .exited(0))
            let theirs = FeedLine.lines(await reader.outputBytes).compactMap { $0 }.filter { $0.seq > 0 }
            try await agent.signal(SIGTERM)
            _ = try await agent.waitForEnd()
            let own = FeedLine.lines(await agent.outputBytes).compactMap { $0 }.filter { $0.seq > 0 }
            let first = try #require(theirs.first?.seq)
            #expect(theirs.map(\.bytes) == own.dropFirst(first - 1).prefix(theirs.count).map(\.bytes))
            let lost = try await stage.finish(["--attach=http://127.0.0.1:\(port)", "-o", "ndjson", "--no-reconnect"])
            #expect(lost.ending == .exited(1) && lost.errors.contains("no agent to attach to"), "\(lost.errors)")
        }
    }

    @Test func whatNoAgentAnswersIsSaidInWords() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/fact")
            let token = try await stage.write("sesame-sesame-sesame", to: "token")
            let port = try await stage.closedPort()
            _ = try await stage.catwatch([
                "-u", url, "-o", "none", "--http=127.0.0.1:\(port)", "--http-token-file=\(token)",
            ])
            let sources = [
                #"{"kind":"feed","name":"stranger","url":"\#(url)"}"#,
                #"{"kind":"feed","name":"none","url":"unix:\#(stage.folder)/none"}"#,
                #"{"kind":"feed","name":"locked","url":"http://127.0.0.1:\#(port)"}"#,
                #"{"kind":"feed","name":"open","url":"http://127.0.0.1:\#(port)","bearer":{"file":"\#(token)"}}"#,
            ]
            let configuration = try await stage.write(#"{"sources":[\#(sources.joined(separator: ","))]}"#, to: "c")
            let fleet = try await stage.catwatch(["-c", configuration, "-o", "ndjson"])
            try await stage.wait(for: "what is wrong") {
                let text = await fleet.outputText
                return text.contains(#""source":"stranger.catwatch","code":"status""#)
                    && text.contains(#""source":"none.catwatch","code":"connect""#)
                    && text.contains("locked: 127.0.0.1:\(port) lets nobody in without the right token")
                    && text.contains(#""source":"open.fact""#)
            }
        }
    }
}
