import Glibc
import Reactor
import TestSupport
import Testing

/// SIGHUP with a configuration file.
@Suite(.limited) struct ReloadTests {
    /// An agent that watches the sources named, over the stand-in.
    private static func configuration(_ stage: Stage, _ names: [String], every: String = "20ms") async throws -> String
    {
        let origin = try await stage.origin()
        let sources = names.map { #"{"name":"\#($0)","url":"\#(origin)/fact","every":"\#(every)"},"# }
        return "{\n  // who is watched\n  \"sources\": [\(sources.joined())]\n}\n"
    }

    private static func seqs(_ lines: [FeedLine], of source: String) -> [Int] {
        lines.filter { $0.isData && $0.source == source }.map(\.seq)
    }

    private static func waitForEvents(_ program: ChildProcess, of source: String, after seq: Int = 0) async throws {
        try await program.wait(for: "an event of \(source)") { program in
            seqs(FeedLine.lines(program.outputBytes).compactMap { $0 }, of: source).contains { $0 > seq } ? () : nil
        }
    }

    private static func lastSeq(_ program: ChildProcess) async -> Int {
        FeedLine.lines(await program.outputBytes).compactMap { $0?.seq }.max() ?? 0
    }

    @Test(.enabled(if: Installation.hasPython)) func sourcesComeAndGoWhileTheOthersStay() async throws {
        try await Stage.run { stage in
            let path = try await stage.write(Self.configuration(stage, ["a", "b"]), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            try await Self.waitForEvents(program, of: "b")

            _ = try await stage.write(Self.configuration(stage, ["b", "c"]), to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("reloaded: 1 sources added, 0 changed, 1 removed, 1 kept")
            let reloaded = await Self.lastSeq(program)
            try await Self.waitForEvents(program, of: "c", after: reloaded)
            try await Self.waitForEvents(program, of: "b", after: reloaded)
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            // A greeting after the reload names who is watched now; numbers go on without a hole.
            let greetings = lines.filter { $0.type == "stats" }.compactMap { $0.raw("sources") }
            #expect(greetings.count == 2)
            #expect(greetings.last?.contains(#""source":"c""#) == true)
            #expect(greetings.last?.contains(#""source":"a""#) == false)
            let numbers = lines.map(\.seq).filter { $0 > 0 }
            #expect(numbers == Array(1...numbers.count))
            try await stage.validate(run.output)
        }
    }

    @Test func aWrongFileChangesNothingAndSaysSo() async throws {
        try await Stage.run { stage in
            let path = try await stage.write(Self.configuration(stage, ["a"]), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            _ = try await stage.write(#"{"sources":[{"name":"a","url":"nonsense","evry":1}]}"#, to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("nothing was reloaded")
            let seq = await Self.lastSeq(program)
            try await Self.waitForEvents(program, of: "a", after: seq)
            // The next one that is right is the end of that.
            _ = try await stage.write(Self.configuration(stage, ["a"]), to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("1 kept")
            let reloaded = await Self.lastSeq(program)
            try await Self.waitForEvents(program, of: "a", after: reloaded)
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.errors.contains("sources[0].evry") && run.errors.contains("sources[0].url"))
            let own = try run.lines().filter { $0.source == "catwatch" && ["error", "recovered"].contains($0.type) }
            #expect(own.map(\.type) == ["error", "recovered"] && own.first?.string("code") == "config")
        }
    }

    @Test func whatHasEndedDoesNotBeginAnew() async throws {
        try await Stage.run { stage in
            let file = "\(stage.folder)/lines"
            let path = try await stage.write(
                #"{"output_file":"\#(file)","sources":[{"url":"\#(stage.url("/fault/large?bytes=60000"))","every":"10ms"}]}"#,
                to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path]) { $0.readsOutput = false }
            try await stage.waitForRequests(20)
            try await program.signal(SIGTERM)
            func count(_ type: String) -> Int {
                FeedLine.lines(FileContent.bytes(file)).count { $0?.type == type }
            }
            try await stage.wait(for: "the end of the file") { count("bye") == 1 }
            try await program.signal(SIGHUP)
            #expect(try await program.waitForExit() == .exited(0))
            #expect(count("hello") == 1 && count("bye") == 1)
        }
    }

    @Test func manySignalsAreFewReloadsAndLoseNothing() async throws {
        try await Stage.run { stage in
            let path = try await stage.write(Self.configuration(stage, ["a", "b"]), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            for round in 0..<200 {
                if round % 20 == 0 {
                    let names = round % 40 == 0 ? ["a", "c"] : ["a", "b"]
                    _ = try await stage.write(Self.configuration(stage, names), to: "config.jsonc")
                }
                try await program.signal(SIGHUP)
            }
            try await program.waitForError("reloaded")
            let seq = await Self.lastSeq(program)
            try await Self.waitForEvents(program, of: "a", after: seq)
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let reloads = run.errorLines.count { $0.contains("reloaded: ") || $0.contains("nothing was reloaded") }
            #expect((1...200).contains(reloads))
            let numbers = try run.lines().map(\.seq).filter { $0 > 0 }
            #expect(numbers == Array(1...numbers.count))
        }
    }

    @Test func anUnchangedSourceKeepsItsConnection() async throws {
        try await Stage.run { stage in
            let text = try await Self.configuration(stage, ["a"])
            let path = try await stage.write(text, to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            // One of another origin: connections to the same one are shared, whoever's they are.
            let port = try await stage.closedPort()
            let other = text.replacing(prefix: "{\n", with: "{\n  \"url\": [\"http://127.0.0.1:\(port)/b\"],\n")
            _ = try await stage.write(other, to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("1 sources added, 0 changed, 0 removed, 1 kept")
            try await Self.waitForEvents(program, of: "a", after: Self.lastSeq(program))
            try await program.signal(SIGTERM)
            let latencies = try await Finished(of: program).lines().filter { $0.type == "latency" && $0.source == "a" }
            #expect(latencies.dropFirst().allSatisfy { $0.raw("reused") == "true" } && latencies.count > 1)
        }
    }

    @Test func whatNeedsARestartIsNamed() async throws {
        try await Stage.run { stage in
            let text = try await Self.configuration(stage, ["a"])
            let path = try await stage.write(text, to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path])
            try await Self.waitForEvents(program, of: "a")
            let other = text.replacing(prefix: "{\n", with: "{\n  \"interval\": \"5s\",\n")
            _ = try await stage.write(other, to: "config.jsonc")
            // For as long as it is so.
            for count in 1...2 {
                try await program.signal(SIGHUP)
                try await program.wait(for: "reload \(count)") { program in
                    program.errorText.split(separator: "\n").count { $0.hasSuffix("restart to change interval") }
                        == count
                        && program.errorText.split(separator: "\n").count { $0.contains("reloaded: ") } == count
                        ? () : nil
                }
            }
        }
    }

    // MARK: Outputs

    /// An agent whose configuration begins with these members.
    private static func running(_ stage: Stage, _ members: String) async throws -> ChildProcess {
        let path = try await write(stage, members)
        let program = try await stage.catwatch(["-c", path])
        try await waitForEvents(program, of: "a")
        return program
    }

    @discardableResult
    private static func write(_ stage: Stage, _ members: String, every: String = "20ms") async throws -> String {
        let text = try await configuration(stage, ["a"], every: every)
            .replacing(prefix: "{\n", with: "{\n  \(members)\n")
        return try await stage.write(text, to: "config.jsonc")
    }

    private static func reload(
        _ stage: Stage, _ program: ChildProcess, _ members: String, every: String = "20ms", _ words: String
    ) async throws {
        try await write(stage, members, every: every)
        try await program.signal(SIGHUP)
        try await program.waitForError(words)
        try await waitForEvents(program, of: "a", after: lastSeq(program))
    }

    private static func numbers(_ lines: [FeedLine?]) throws -> [Int] {
        try lines.map { try #require($0, "torn").seq }.filter { $0 > 0 }
    }

    private static func fileNumbers(_ stage: Stage, _ name: String) async throws -> [Int] {
        let file = try Descriptor.open("\(stage.folder)/\(name)", flags: O_RDONLY)
        return try numbers(FeedLine.lines(try file.bytes(limit: 64 << 20) ?? []))
    }

    @Test func anotherFileGoesOnWhereTheOneBeforeHasEnded() async throws {
        try await Stage.run { stage in
            func member(_ name: String) -> String { "\"output_file\": \"\(stage.folder)/\(name)\"," }
            let program = try await Self.running(stage, member("one"))
            for name in ["two", "three"] {
                try await Self.reload(stage, program, member(name), "outputs: 1 started, 1 stopped, 0 kept")
            }
            try await stage.wait(for: "lines in the third file") {
                (try? await Self.fileNumbers(stage, "three"))?.isEmpty == false
            }
            // Now without a file, and with the same one again, which goes on behind its last line.
            try await Self.reload(stage, program, "", "outputs: 0 started, 1 stopped, 0 kept")
            let left = try #require(try await Self.fileNumbers(stage, "three").last)
            let newest = await Self.lastSeq(program)
            #expect(left < newest)
            try await Self.reload(stage, program, member("three"), "outputs: 1 started, 0 stopped, 0 kept")
            try await program.signal(SIGTERM)
            let last = try #require(try await Finished(of: program).lines().map(\.seq).max())
            let files = [
                try await Self.fileNumbers(stage, "one"), try await Self.fileNumbers(stage, "two"),
                try await Self.fileNumbers(stage, "three"),
            ]
            let written = files.flatMap { $0 }
            #expect(written == Array(1...last) && files.allSatisfy { !$0.isEmpty })
        }
    }

    @Test func aSocketComesGoesAndMovesAndOtherLimitsDisturbNobody() async throws {
        try await Stage.run { stage in
            func member(_ name: String, _ rest: String = "") -> String {
                "\"listen\": \"\(stage.folder)/\(name)\",\(rest)"
            }
            func connect(_ name: String) async throws -> DescriptorStream {
                try DescriptorStream(owning: StreamSocket.connected(to: "\(stage.folder)/\(name)"), on: stage.loop)
            }
            func mode() throws -> UInt32 {
                var status = stat()
                try systemCall("lstat") { lstat("\(stage.folder)/s", &status) }
                return status.st_mode & 0o777
            }
            let program = try await Self.running(stage, "")
            try await Self.reload(stage, program, member("s"), "outputs: 1 started, 0 stopped, 0 kept")
            async let first = try connect("s").bytes()
            try await Self.reload(
                stage, program, member("s", #""max_readers": 1, "listen_mode": "640","#), "0 removed, 1 kept")
            try await stage.wait(for: "the other mode") { try mode() == 0o640 }
            try await stage.wait(for: "the refusal of a second reader") {
                let lines = FeedLine.lines(try await connect("s").bytes())
                return lines.count == 1 && lines[0]?.type == "error"
            }
            try await Self.reload(stage, program, member("t"), "outputs: 1 started, 1 stopped, 0 kept")
            // The first one was there all the time, and was sent away with whole lines.
            let numbers = try Self.numbers(FeedLine.lines(try await first))
            #expect(numbers.count > 3 && numbers == Array(numbers[0]..<numbers[0] + numbers.count))
            #expect(try FolderListing.names(in: stage.folder).sorted() == ["config.jsonc", "t", "t.lock"])
            let second = try await connect("t")
            // Let in before it is sent away.
            let greeting = try await second.bytes { !$0.isEmpty }
            try await Self.reload(stage, program, "", "outputs: 0 started, 1 stopped, 0 kept")
            #expect(try Self.numbers(FeedLine.lines(greeting + (try await second.bytes()))).count > 3)
            #expect(try FolderListing.names(in: stage.folder) == ["config.jsonc"])
            try await program.signal(SIGTERM)
            #expect(try await program.waitForEnd() == .exited(0))
        }
    }

    /// Programs in the stage's folder that are pushed to.
    private struct Listeners {
        private let folder: String
        private let listeners: [LoopBound<SocketListener>]

        init(_ stage: Stage, _ count: Int) throws {
            folder = stage.folder
            listeners = try (0..<count).map { [folder] index in
                let socket = try StreamSocket.bound(to: "\(folder)/push\(index)")
                try StreamSocket.listen(socket)
                return LoopBound(try SocketListener(owning: socket, on: stage.loop))
            }
        }

        /// The member that has some of them pushed to.
        func member(_ indices: Int...) -> String {
            "\"connect\": [\(indices.map { "\"unix:\(folder)/push\($0)\"" }.joined(separator: ","))],"
        }

        /// The numbers that the next connection to one brings, to its end.
        func numbers(_ index: Int) async throws -> [Int] {
            let stream = try #require(try await listeners[index].value.accept() as? DescriptorStream)
            return try ReloadTests.numbers(FeedLine.lines(try await stream.bytes()))
        }
    }

    @Test func aPushOutlivesAChangeOfASourceAndEndsInOrderWithItsAddress() async throws {
        try await Stage.run { stage in
            let peers = try Listeners(stage, 2)
            let program = try await Self.running(stage, peers.member(0))
            async let first = peers.numbers(0)
            try await Self.reload(stage, program, peers.member(0), every: "10ms", "0 sources added, 1 changed")
            let pushed = await Self.lastSeq(program)
            try await Self.reload(
                stage, program, peers.member(1), every: "10ms", "outputs: 1 started, 1 stopped, 0 kept")
            async let second = peers.numbers(1)
            let former = try await first
            try await program.signal(SIGTERM)
            let all = Array(1...(try await Finished(of: program).lines().map(\.seq).max() ?? 0))
            #expect(former.count >= pushed && former.count < all.count && former == Array(all.prefix(former.count)))
            // Another program has nothing yet: it gets the whole log.
            #expect(try await second == all)
        }
    }

    @Test func aSocketThatCannotBeHadChangesNothing() async throws {
        try await Stage.run { stage in
            _ = try await stage.write("no socket", to: "taken")
            func members(_ file: String) -> String { "\"output_file\": \"\(stage.folder)/\(file)\"," }
            let program = try await Self.running(stage, members("one"))
            try await Self.reload(
                stage, program, members("two") + "\"listen\": \"\(stage.folder)/taken\",", "nothing was reloaded")
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.errors.contains("taken is there already and is not a socket"))
            #expect(try await Self.fileNumbers(stage, "one") == run.lines().map(\.seq).filter { $0 > 0 })
            #expect(access("\(stage.folder)/two", F_OK) != 0)
        }
    }
}

extension String {
    /// The text with another beginning.
    fileprivate func replacing(prefix: String, with other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }
}
