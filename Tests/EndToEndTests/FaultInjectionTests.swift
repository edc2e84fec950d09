import Glibc
import Reactor
import TestSupport
import Testing

/// System calls that fail as a busy or broken machine has them fail: strace(1) makes them.
@Suite(.limited) struct FaultInjectionTests {
    /// What was put together for a fault: an agent of standard input that has printed its first line, and its strace.
    private struct Bench: Sendable {
        let stage: Stage
        let program: ChildProcess

        /// Writes so many numbers to its input, a few at a time.
        func feed(_ count: Int) async throws {
            for _ in 0..<count / 10 {
                try await program.write(Array(repeating: Array("17\n".utf8), count: 10).flatMap { $0 })
                try await stage.loop.sleep(for: .milliseconds(5))
            }
        }

        /// A new reader of its socket, which has nothing to say.
        func reader() throws -> DescriptorStream {
            let socket = try StreamSocket.connected(to: "\(stage.folder)/s")
            shutdown(socket.number, Int32(SHUT_WR))
            return try DescriptorStream(owning: socket, on: stage.loop)
        }

        /// What comes to a new reader until the feed or the connection ends.
        func read() async throws -> [FeedLine?] { FeedLine.lines(try await reader().bytes()) }

        /// Feeds a reader and ends; returns what came to the reader, which was let in before the end.
        func readToTheEnd(_ reader: DescriptorStream) async throws -> [FeedLine?] {
            try await feed(50)
            let first = try await reader.bytes { !$0.isEmpty }
            #expect(try await end().ending == .exited(0))
            return FeedLine.lines(first + (try await reader.bytes()))
        }

        func end() async throws -> Finished {
            await program.closeInput()
            return try await Finished(of: program)
        }
    }

    /// What the agent has beside standard input and stdout.
    private enum Peer: Sendable {
        /// Polls of the stand-in.
        case upstream
        /// Readers at `s`, a file called `file`, a push to `peer`.
        case socket, file, push
    }

    private static let strace = "/usr/bin/strace"
    private static let isInstalled = access(strace, X_OK) == 0

    /// Has calls of a running agent go wrong.
    ///
    /// - Parameters:
    ///   - faults: as strace's `inject` takes them.
    ///   - file: only the calls on this file of the stage's folder.
    private static func run(
        _ peers: [Peer], _ faults: [String], on file: String? = nil,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        // Some agents end while they are fed.
        signal(SIGPIPE, SIG_IGN)
        try await Stage.run { stage in
            let upstream = try await stage.url("/fact")
            let arguments = peers.flatMap { peer -> [String] in
                switch peer {
                case .upstream: ["-u", upstream, "-e", "20ms"]
                case .socket: ["--listen=\(stage.folder)/s"]
                case .file: ["--output-file=\(stage.folder)/file"]
                case .push: ["--connect=unix:\(stage.folder)/peer?resend=0"]
                }
            }
            let program = try await stage.catwatch(["-"] + arguments) { $0.input = .pipe }
            try await program.write(Array("17\n".utf8))
            try await program.wait(for: "a line") {
                FeedLine.lines($0.outputBytes).contains { $0?.isData == true } ? () : nil
            }
            let calls = faults.map { String($0.prefix { $0 != ":" }) }.joined(separator: ",")
            var options = ["-f", "-q", "-o", "/dev/null", "-e", "trace=\(calls)", "-p", "\(program.id)"]
            for fault in faults { options += ["-e", "inject=\(fault)"] }
            if let file { options += ["-P", "\(stage.folder)/\(file)"] }
            var launch = Launch(Self.strace, options)
            launch.environment = ["PATH": "/usr/bin:/bin"]
            let tracer = try await stage.start(launch)
            var isRefused = false
            try await stage.wait(for: "strace to attach") {
                isRefused = await tracer.errorText.contains("Operation not permitted")
                return try isRefused
                    || !ProcessFile.text("status", of: program.id).contains("TracerPid:\t0\n")
            }
            if isRefused { return print("skipped: ptrace is not permitted here, so no call can be made to fail") }
            try await body(Bench(stage: stage, program: program))
        }
    }

    private static func numbers(_ lines: [FeedLine?]) throws -> [Int] {
        try lines.map { try #require($0, "torn").seq }.filter { $0 > 0 }
    }

    /// Everything at once: standard input, stdout, a file, a reader, and a push.
    @Test(
        .enabled(if: isInstalled),
        arguments: [
            ["read,recvfrom:error=EINTR:when=2+3", "write,sendto:error=EINTR:when=1+3"],
            [
                "accept4,connect:error=EINTR:when=1+2", "epoll_pwait2:error=EINTR:when=2+3",
                "epoll_ctl:error=EINTR:when=2+3",
            ],
            ["write,sendto:signal=SIGPIPE:when=1+2"],
        ])
    func whatIsInterruptedIsDoneAgain(faults: [String]) async throws {
        try await Self.run(
            [.socket, .file, .push], faults
        ) { bench in
            let stage = bench.stage
            let peer = try StreamSocket.bound(to: "\(stage.folder)/peer")
            try StreamSocket.listen(peer)
            let listener = LoopBound(try SocketListener(owning: peer, on: stage.loop))
            async let pushed = try #require(listener.value.accept() as? DescriptorStream).bytes()
            let reader = try bench.reader()
            try await bench.feed(200)
            let first = try await reader.bytes { !$0.isEmpty }
            // It has told that nobody was there, and tries again by itself.
            #expect(await FeedLine.lines(bench.program.outputBytes).count { $0.map { $0.seq > 0 } == true } > 1)
            let run = try await bench.end()
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            #expect(lines.count(where: \.isData) == 201 && !lines.contains { $0.type == "gap" || $0.type == "error" })
            let all = Array(1...(lines.map(\.seq).max() ?? 0))
            #expect(lines.map(\.seq).filter { $0 > 0 } == all)
            let file = try Descriptor.open("\(stage.folder)/file", flags: O_RDONLY).bytes(limit: 1 << 24) ?? []
            #expect(try Self.numbers(FeedLine.lines(file)) == all)
            #expect(try await Self.numbers(FeedLine.lines(first + (reader.bytes()))) == all)
            #expect(try await Self.numbers(FeedLine.lines(pushed)) == all)
        }
    }

    @Test(
        .enabled(if: isInstalled),
        arguments: [("EPIPE", Int32(0), ""), ("EIO", 1, "catwatch: stdout: Input/output error\n")])
    func aStdoutThatFailsIsTheEnd(code: String, status: Int32, words: String) async throws {
        try await Self.run([], ["write:error=\(code):when=3"]) { bench in
            try? await bench.feed(100)
            let ending = try await bench.program.waitForEnd()
            #expect(ending == .exited(status))
            #expect(await bench.program.errorText == words)
        }
    }

    @Test(.enabled(if: isInstalled), arguments: [("EIO", "Input/output error"), ("EDQUOT", "Disk quota exceeded")])
    func aFileThatCannotBeWrittenIsToldOnceAndTriedAgain(code: String, words: String) async throws {
        try await Self.run([.file], ["write:error=\(code):when=2"], on: "file") { bench in
            try await bench.feed(100)
            let run = try await bench.end()
            #expect(run.ending == .exited(0))
            let told = try run.lines().filter { $0.type == "error" && $0.string("code") == "disk" }
            #expect(told.count == 1 && told[0].string("message")?.contains(words) == true)
            let file = try Descriptor.open("\(bench.stage.folder)/file", flags: O_RDONLY).bytes(limit: 1 << 24) ?? []
            let numbers = try Self.numbers(FeedLine.lines(file))
            #expect(numbers == Array(1...numbers.count) && numbers.count >= 102)
        }
    }

    @Test(.enabled(if: isInstalled), arguments: ["EMFILE", "ENFILE", "ENOMEM", "ECONNABORTED", "EPROTO", "EPERM"])
    func aReaderWhoCannotBeLetInIsLetInLater(code: String) async throws {
        try await Self.run([.socket], ["accept4:error=\(code):when=1..2"]) { bench in
            let lines = try await bench.readToTheEnd(bench.reader())
            #expect(lines.last??.type == "bye")
            #expect(try Self.numbers(lines).count >= 51)
        }
    }

    @Test(.enabled(if: isInstalled), arguments: ["ECONNRESET", "EPIPE", "ETIMEDOUT"])
    func aReaderWhoIsGoneDisturbsNobody(code: String) async throws {
        try await Self.run([.socket], ["sendto:error=\(code):when=1"]) { bench in
            #expect(try await bench.read().isEmpty)
            let lines = try await bench.readToTheEnd(bench.reader())
            #expect(lines.last??.type == "bye")
        }
    }

    @Test(
        .enabled(if: isInstalled),
        arguments: [
            ("sendto:error=ECONNRESET:when=2", "Connection reset by peer"),
            ("sendto:error=EPIPE:when=2", "Broken pipe"),
            ("connect:error=EACCES:when=1", "Permission denied"),
            ("connect:error=EAGAIN:when=1", "Resource temporarily"),
        ])
    func aPushTriesAgainAndLosesNothing(fault: String, words: String) async throws {
        try await Self.run([.push], [fault]) { bench in
            let stage = bench.stage
            let peer = try StreamSocket.bound(to: "\(stage.folder)/peer")
            try StreamSocket.listen(peer)
            let listener = LoopBound(try SocketListener(owning: peer, on: stage.loop))
            try await bench.feed(20)
            async let rest: Void = bench.feed(50)
            var read: [FeedLine?] = []
            if fault.hasPrefix("sendto") {
                let first = try #require(try await listener.value.accept() as? DescriptorStream)
                read += FeedLine.lines(try await first.bytes())
            }
            let second = try #require(try await listener.value.accept() as? DescriptorStream)
            try await rest
            async let bytes = second.bytes()
            let run = try await bench.end()
            read += FeedLine.lines(try await bytes)
            #expect(run.ending == .exited(0) && run.errors.contains(words))
            let all = Array(1...(try run.lines().map(\.seq).max() ?? 0))
            #expect(try Self.numbers(read) == all)
        }
    }

    @Test(
        .enabled(if: isInstalled),
        arguments: [
            // One alone libcurl makes up for by itself, on a connection that was used before.
            ("recvfrom:error=ECONNRESET:when=10", []), ("recvfrom:error=ECONNRESET:when=10..17", ["reset"]),
            ("sendto:error=EPIPE:when=5", []), ("sendto:error=EPIPE:when=5..10", ["reset"]),
            ("recvfrom,sendto:error=EINTR:when=2+3", []),
        ])
    func anUpstreamThatBreaksOffIsAskedAgain(fault: String, codes: [String]) async throws {
        try await Self.run([.upstream], [fault]) { bench in
            try await bench.program.wait(for: "events after the fault") { program in
                let lines = FeedLine.lines(program.outputBytes).compactMap { $0 }
                let last = lines.lastIndex { $0.type == "error" } ?? 0
                return (codes.isEmpty || last > 0)
                    && lines[last...].count { $0.isData && $0.source == "fact" } > 10 ? () : nil
            }
            try await bench.program.signal(SIGTERM)
            let run = try await bench.end()
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            #expect(
                Set(lines.filter { $0.type == "error" }.compactMap { $0.string("code") }) == Set(codes), "\(run.errors)"
            )
            #expect(try Self.numbers(lines) == Array(1...(lines.map(\.seq).max() ?? 0)))
        }
    }

    /// A signal that comes with the first thing that `main` does after it has begun.
    @Test(.enabled(if: isInstalled)) func aReloadThatIsAskedForAtOnceIsNotTheEnd() async throws {
        try await Stage.run { stage in
            let origin = try await stage.origin()
            let path = try await stage.write(
                #"{"sources": [{"name": "a", "url": "\#(origin)/fact", "every": "20ms"}]}"#, to: "config.jsonc")
            var launch = Launch(
                Self.strace,
                ["-q", "-o", "/dev/null", "-e", "trace=fcntl", "-e", "inject=fcntl:signal=SIGHUP:when=1"]
                    + [Installation.program, "-c", path, "-n", "20"])
            launch.environment = ["PATH": "/usr/bin:/bin"]
            let program = try await stage.start(launch)
            let run = try await Finished(of: program)
            if run.errors.contains("Operation not permitted") {
                return print("skipped: ptrace is not permitted here, so no call can be made to fail")
            }
            #expect(run.ending == .exited(0), "\(run.errors)")
            #expect(run.errors.contains("reloaded: 0 sources added, 0 changed, 0 removed, 1 kept"))
        }
    }
}
