import Feed
import Glibc
import Outputs
import Reactor
import Synchronization
import TestSupport
import Testing

/// Real files, in virtual time: what the disk does counts as pending.
@Suite(.limited) struct FileOutputTests {
    /// What the output said is wrong, and how often that it is over.
    private final class Said {
        var failures: [Failure] = []
        var recoveries = 0
    }

    /// Runs an output to `path` while `body` runs, then ends the feed and waits for the output.
    private static func write(
        to path: String, logCapacity: Int = 8 << 20,
        _ body: @escaping @Sendable (FeedStage, FileOutput) async throws -> Void
    ) async throws -> [Failure] {
        let worker = try LoopThread(name: "disk")
        defer { worker.stop() }
        let disk = worker.loop
        return try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop) { $0.logCapacity = logCapacity }
            let said = LoopBound(Said())
            let output = FileOutput(path, store: stage.store, on: loop, worker: disk) {
                if case .error(let failure) = $0 { said.value.failures.append(failure) }
                if case .recovered = $0 { said.value.recoveries += 1 }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await output.run() }
                group.addTask {
                    try await body(stage, output)
                    try await loop.sleep(for: .seconds(2))
                    await stage.store.finish("end")
                }
                try await group.waitForAll()
            }
            #expect(await stage.store.counts.readers == 0)
            #expect(said.value.recoveries == said.value.failures.count)
            return said.value.failures
        }
    }

    private static func transcript(_ bytes: [UInt8]) -> FeedTranscript {
        var transcript = FeedTranscript()
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        for line in lines.dropLast() { transcript.add(Array(line)) }
        transcript.isTorn = lines.last?.isEmpty == false
        return transcript
    }

    @Test func appendsWholeLinesBehindAGreeting() async throws {
        let folder = try TemporaryFolder()
        for run in 1...2 {
            let failures = try await Self.write(to: folder.path("out")) { stage, _ in
                for round in 0..<50 {
                    await stage.publish(3, text: round * 5)
                    try await stage.loop.sleep(for: .milliseconds(10))
                }
            }
            let transcript = Self.transcript(try folder.read("out"))
            #expect(failures.isEmpty && transcript.fault == nil && !transcript.isTorn)
            #expect(transcript.hellos.count == run && transcript.bye?.lastSeq == 150)
            #expect(transcript.numbers == (0..<run).flatMap { _ in 1...150 })
        }
        #expect(folder.status("out").map { $0.st_mode & 0o777 } == 0o600)
    }

    @Test(arguments: ["{\"seq\":1,\"ti", "x", "whole\n", "a\n\n", ""])
    func endsTheLineThatWasLeftUnfinished(content: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write(content, to: "out")
        _ = try await Self.write(to: folder.path("out")) { stage, _ in await stage.publish() }
        let bytes = try folder.read("out")
        let kept = Array(content.utf8) + (content.isEmpty || content.hasSuffix("\n") ? [] : [0x0A])
        #expect(bytes.starts(with: kept))
        let transcript = Self.transcript(Array(bytes[kept.count...]))
        #expect(transcript.fault == nil && transcript.numbers == [1] && transcript.hellos.count == 1)
    }

    @Test func opensTheFileAnewWithoutLosingALine() async throws {
        let folder = try TemporaryFolder()
        let failures = try await Self.write(to: folder.path("out")) { stage, output in
            for round in 0..<10 {
                await stage.publish(7, text: 50)
                if round == 3 || round == 6 {
                    try await stage.loop.sleep(for: .milliseconds(5))
                    rename(folder.path("out"), folder.path("out.\(round)"))
                    await stage.publish(2)
                    await output.reopen()
                }
            }
        }
        #expect(failures.isEmpty && folder.names == ["out", "out.3", "out.6"])
        var numbers: [Int] = []
        for name in ["out.3", "out.6", "out"] {
            let transcript = Self.transcript(try folder.read(name))
            #expect(transcript.fault == nil && transcript.hellos.count == 1 && !transcript.isTorn)
            numbers += transcript.numbers
        }
        #expect(numbers == Array(1...74))
    }

    @Test func saysOnceThatTheDiskIsFullAndGoesOnWithAGap() async throws {
        let folder = try TemporaryFolder()
        symlink("/dev/full", folder.path("out"))
        let failures = try await Self.write(to: folder.path("out"), logCapacity: 1 << 16) { stage, output in
            for _ in 0..<300 {
                await stage.publish(text: 1_000)
                try await stage.loop.sleep(for: .milliseconds(100))
            }
            // What fills the disk is taken away, and the file with it, between two attempts.
            try await stage.loop.sleep(for: .milliseconds(50))
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["No space left on device"])
            unlink(folder.path("out"))
            await output.reopen()
            try await stage.loop.sleep(for: .seconds(2))
            #expect(await stage.agentLine()?.outputs.map(\.state) == ["ok"])
        }
        #expect(failures.map(\.code) == [.disk])
        #expect(failures.first?.message.contains("No space left on device") == true)
        let transcript = Self.transcript(try folder.read("out"))
        #expect(transcript.fault == nil && transcript.hellos.count == 1 && !transcript.isTorn)
        #expect(transcript.gaps.count == 1 && transcript.lines.count + transcript.missed == transcript.end - 1)
        #expect(transcript.lines.count > 10 && transcript.bye?.lastSeq == transcript.end - 1)
        #expect(transcript.end > 300)
    }

    @Test func aTerminalGetsNothing() async throws {
        let folder = try TemporaryFolder()
        var (screen, shell): (Int32, Int32) = (-1, -1)
        try systemCall("openpty") { openpty(&screen, &shell, nil, nil, nil) }
        defer {
            close(screen)
            close(shell)
        }
        let number = screen
        symlink("/proc/self/fd/\(shell)", folder.path("out"))
        let failures = try await Self.write(to: folder.path("out")) { stage, _ in
            await stage.publish(5)
            try await stage.loop.sleep(for: .seconds(3))
            var ready = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
            #expect(poll(&ready, 1, 0) == 0)
            unlink(folder.path("out"))
            try await stage.loop.sleep(for: .seconds(3))
        }
        #expect(failures.map(\.code) == [.disk])
        #expect(failures.first?.message.contains("out: a terminal would obey what upstreams say; tried again") == true)
        #expect(Self.transcript(try folder.read("out")).numbers.starts(with: 1...5))
    }

    @Test func aPipeGetsNothing() async throws {
        let folder = try TemporaryFolder()
        try systemCall("mkfifo") { mkfifo(folder.path("out"), 0o600) }
        let failures = try await Self.write(to: folder.path("out")) { stage, _ in
            await stage.publish(5)
            try await stage.loop.sleep(for: .seconds(3))
            unlink(folder.path("out"))
            try await stage.loop.sleep(for: .seconds(3))
        }
        #expect(failures.first?.message.contains("out: a pipe loses lines that nobody reads") == true)
        #expect(Self.transcript(try folder.read("out")).numbers.starts(with: 1...5))
    }

    /// A file system of 64 KiB, where a write may be taken in part; only root may mount one.
    @Test(.enabled(if: geteuid() == 0))
    func leavesNoHalfALineOnADiskThatFillsUp() async throws {
        let folder = try TemporaryFolder()
        guard mount("tmpfs", folder.path, "tmpfs", 0, "size=64k") == 0 else { return }
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        let failures = try await Self.write(to: folder.path("out")) { stage, _ in
            for _ in 0..<30 {  // some 75 KiB
                await stage.publish(3, text: 700)
                try await stage.loop.sleep(for: .milliseconds(10))
            }
            try await stage.loop.sleep(for: .milliseconds(50))
            let full = Self.transcript(try folder.read("out"))
            #expect(full.fault == nil && !full.isTorn && full.lines.count > 20 && full.lines.count < 90)
            // There is room again: it goes on with the line that did not fit.
            truncate(folder.path("out"), 0)
            try await stage.loop.sleep(for: .seconds(2))
            let next = Self.transcript(try folder.read("out"))
            // No `hello` comes first here, as the file is the same.
            #expect(next.lines.first?.number == full.end && !next.isTorn)
            #expect(next.numbers.last == 90)
        }
        #expect(failures.map(\.code) == [.disk])
    }

    @Test func waitsForAFolderThatIsNotThereYet() async throws {
        let folder = try TemporaryFolder()
        let failures = try await Self.write(to: folder.path("later/out")) { stage, _ in
            await stage.publish(5)
            try await stage.loop.sleep(for: .seconds(10))
            mkdir(folder.path("later"), 0o700)
            try await stage.loop.sleep(for: .seconds(10))
            await stage.publish(5)
        }
        #expect(failures.map(\.code) == [.disk])
        let transcript = Self.transcript(try folder.read("later/out"))
        #expect(transcript.fault == nil && transcript.numbers == Array(1..<transcript.end))
        #expect(transcript.end > 10)
        unlink(folder.path("later/out"))
        rmdir(folder.path("later"))
    }

    /// Has an output go on in another file where one has ended, while `body` runs.
    private static func moving(
        from first: String, to second: String, patience: Duration = .seconds(5), isVirtual: Bool = true,
        _ body: @escaping @Sendable (FeedStage, _ move: @Sendable () async throws -> Void) async throws -> Void
    ) async throws {
        let disks = [try LoopThread(name: "disk"), try LoopThread(name: "disk")]
        defer { for disk in disks { disk.stop(waits: false) } }
        let loops = disks.map(\.loop)
        try await withLoop(virtual: isVirtual) { loop in
            let stage = await FeedStage(on: loop)
            let output = FileOutput(first, store: stage.store, on: loop, worker: loops[0]) { _ in }
            let running = Task(executorPreference: loop) { try await output.run() }
            try await loop.sleep(for: .milliseconds(10))
            try await withThrowingTaskGroup(of: Void.self) { group in
                let (went, goes) = (Wakeup(loop: loop), Wakeup(loop: loop))
                group.addTask {
                    try await goes.wait()
                    await output.stop(isFollowed: true)
                    loop.schedule(after: patience) { running.cancel() }
                    try? await running.value
                    let place = await output.handOverEnd()
                    let next = FileOutput(second, store: stage.store, on: loop, worker: loops[1], from: place) { _ in }
                    went.signal()
                    try await next.run()
                }
                group.addTask {
                    try await body(stage) {
                        goes.signal()
                        try await went.wait()
                    }
                    await stage.store.finish("end")
                }
                try await group.waitForAll()
            }
            #expect(await stage.store.counts.readers == 0)
        }
    }

    @Test func anotherOneGoesOnWhereItHasEnded() async throws {
        let folder = try TemporaryFolder()
        try await Self.moving(from: folder.path("a"), to: folder.path("b")) { stage, move in
            await stage.publish(20, text: 100)
            try await move()
            await stage.publish(5)
        }
        let (first, second) = (Self.transcript(try folder.read("a")), Self.transcript(try folder.read("b")))
        // What there was when it was told to stop is in the first one.
        #expect(first.numbers == Array(1...20) && first.bye == nil && first.fault == nil)
        #expect(second.numbers == Array(21...25) && second.bye?.lastSeq == 25 && second.fault == nil)
        #expect(second.hellos.count == 1)
    }

    /// Without being announced, and without its reader.
    @Test func aLaterOneGoesOnBehindTheLastLine() async throws {
        let folder = try TemporaryFolder()
        let disks = [try LoopThread(name: "disk"), try LoopThread(name: "disk")]
        defer { for disk in disks { disk.stop() } }
        let loops = disks.map(\.loop)
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            func run(on disk: EventLoop, from place: FileOutput.Place?) async throws -> FileOutput.Place? {
                let path = folder.path("a")
                let output = FileOutput(path, store: stage.store, on: loop, worker: disk, from: place) { _ in }
                let running = Task(executorPreference: loop) { try await output.run() }
                try await loop.sleep(for: .seconds(1))
                await output.stop(isFollowed: false)
                try await running.value
                return await output.handOverEnd()
            }
            await stage.publish(20)
            let place = try await run(on: loops[0], from: nil)
            #expect(await stage.store.counts.readers == 0)
            await stage.publish(5)
            _ = try await run(on: loops[1], from: place)
            await stage.store.finish("end")
        }
        let transcript = Self.transcript(try folder.read("a"))
        #expect(transcript.numbers == Array(1...25) && transcript.fault == nil && transcript.hellos.count == 2)
    }

    /// The run that it wrote has ended since, with more lines.
    @Test func aLaterOneNamesTheRestOfARunThatEnded() async throws {
        let folder = try TemporaryFolder()
        let disks = [try LoopThread(name: "disk"), try LoopThread(name: "disk")]
        defer { for disk in disks { disk.stop() } }
        let loops = disks.map(\.loop)
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop, run: "unknown", isRelay: true)
            func run(on disk: EventLoop, from place: FileOutput.Place?) async throws -> FileOutput.Place? {
                let output = FileOutput(folder.path("a"), store: stage.store, on: loop, worker: disk, from: place) {
                    _ in
                }
                let running = Task(executorPreference: loop) { try await output.run() }
                try await loop.sleep(for: .seconds(1))
                await output.stop(isFollowed: false)
                try await running.value
                return await output.handOverEnd()
            }
            try await stage.relay("r1", 1...3)
            let place = try await run(on: loops[0], from: nil)
            try await stage.relay(nil, 4...5)
            try await stage.relay("r2", 1...4)
            _ = try await run(on: loops[1], from: place)
            await stage.store.finish("end")
        }
        let lines = try folder.read("a").split(separator: 0x0A).map { try LineDecoder.decode(Bytes($0)) }
        let texts = lines.compactMap { line -> String? in
            switch line.body {
            case .hello(let hello): hello.run
            case .gap(let gap): "gap \(gap.from)-\(gap.to)"
            default: line.seq.map { "\($0)" }
            }
        }
        let second = texts.drop { $0 != "gap 4-5" }
        #expect(Array(second) == ["gap 4-5", "r2", "1", "2", "3", "4"], "\(texts)")
        #expect(texts.prefix { $0 != "gap 4-5" }.filter { $0 == "r1" }.count == 2, "\(texts)")
    }

    @Test func oneThatWaitsForTheNextLineLetsGoAtOnce() async throws {
        let folder = try TemporaryFolder()
        try await Self.moving(from: folder.path("a"), to: folder.path("b")) { stage, move in
            await stage.publish(3)
            try await stage.loop.sleep(for: .seconds(1))
            let before = stage.loop.clock.now
            try await move()
            #expect(before.duration(to: stage.loop.clock.now) < .milliseconds(10))
        }
        #expect(Self.transcript(try folder.read("a")).numbers == [1, 2, 3])
    }

    @Test func anotherOneGetsWhatADiskHadNoRoomFor() async throws {
        let folder = try TemporaryFolder()
        symlink("/dev/full", folder.path("a"))
        try await Self.moving(from: folder.path("a"), to: folder.path("b")) { stage, move in
            await stage.publish(20)
            try await stage.loop.sleep(for: .seconds(1))
            await stage.publish(20)
            try await move()
            await stage.publish(5)
        }
        #expect(Self.transcript(try folder.read("b")).numbers == Array(1...45))
    }
}
