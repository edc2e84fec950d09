import Glibc
import Reactor
import TestSupport
import Testing

/// However much of the world stands still, the program ends in time. What it took is printed, for docs/performance.md.
@Suite(.limited) struct EndingTests {
    /// In looks of 2 ms: five seconds for outputs that take nothing, half of one for stderr, and some for all else.
    private static let mostLooks = 3_000

    /// Sends SIGTERM, and waits until the process is gone.
    private static func end(_ stage: Stage, _ id: Int32, _ what: String) async throws {
        let begun = stage.loop.clock.now
        guard kill(id, SIGTERM) == 0 else { throw ChildProcess.Failed("\(what): the process has ended before") }
        let looks = try await stage.wait(for: "the end beside \(what)") {
            // Its parent may have yet to ask for its status.
            guard let status = try? ProcessFile.text("status", of: id) else { return true }
            return status.contains("State:\tZ")
        }
        let took = begun.duration(to: stage.loop.clock.now)
        print("SIGTERM to exit, \(what): \(took.milliseconds / 1_000) s")
        #expect(looks <= mostLooks, "\(what): \(took)")
    }

    /// Ends with everything served, pushed and locked given back.
    private static func end(_ stage: Stage, _ program: ChildProcess, _ what: String) async throws {
        try await end(stage, program.id, what)
        #expect(try await program.waitForExit() == .exited(0))
        #expect(try FolderListing.names(in: stage.folder).filter { $0.hasPrefix("s") } == [], "\(what)")
    }

    @Test func besideAnOutputFileThatIsRefused() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/fifo"
            #expect(mkfifo(path, 0o600) == 0)
            let program = try await stage.catwatch(
                ["-u", stage.url("/fault/large?bytes=60000"), "-e", "10ms", "-o", "none", "--output-file", path]
                    + ["--listen=\(stage.folder)/s"])
            try await stage.waitForRequests(20)
            try await Self.end(stage, program, "an output file that is a FIFO")
        }
    }

    @Test func besideAPipeThatIsNotRead() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(
                ["-u", stage.url("/fault/large?bytes=60000"), "-e", "10ms", "--listen=\(stage.folder)/s"]
            ) { $0.readsOutput = false }
            try await stage.waitForRequests(20)
            try await Self.end(stage, program, "a pipe that is not read")
        }
    }

    @Test(.enabled(if: Installation.hasPython)) func besideATerminalThatIsNotRead() async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(
                stage, ["-u", stage.url("/fact"), "-e", "10ms", "-i", "1s"], columns: 200, rows: 60)
            try await screen.wait(for: "▸ fact ")
            try await screen.type("4", for: "latency fact")
            try await screen.fill()
            try await Self.end(stage, screen.id, "a terminal that is not read")
            #expect(try await screen.hasFirstModes())
        }
    }

    /// A reader that took nothing, whose last line was in the middle of being written.
    @Test func besideAReaderThatTakesNothing() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(
                ["-u", stage.url("/fault/large?bytes=60000"), "-e", "10ms", "-o", "none", "--listen=\(stage.folder)/s"])
            try await stage.waitForRequests(1)
            let socket = try StreamSocket.connected(to: "\(stage.folder)/s")
            try await stage.waitForRequests(30)
            try await Self.end(stage, program, "a reader that takes nothing")
            withExtendedLifetime(socket) {}
        }
    }

    /// A reader that takes what it gets, however full its socket was.
    @Test func aReaderGetsWholeLinesToTheEnd() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(
                ["-u", stage.url("/fault/large?bytes=60000"), "-e", "10ms", "-o", "none", "--listen=\(stage.folder)/s"])
            try await stage.waitForRequests(1)
            let stream = try DescriptorStream(owning: StreamSocket.connected(to: "\(stage.folder)/s"), on: stage.loop)
            try await stage.waitForRequests(30)
            try await program.signal(SIGTERM)
            try await stage.wait(for: "the signal to be taken") {
                try ProcessFile.text("status", of: program.id).contains("ShdPnd:\t0000000000000000")
            }
            let lines = FeedLine.lines(try await stream.bytes())
            #expect(!lines.contains { $0 == nil } && lines.last??.type == "bye")
            #expect(try await program.waitForExit() == .exited(0))
        }
    }

    @Test func besideANameServerThatSaysNothing() async throws {
        try await Stage.run { stage in
            guard let server = try SilentNameServer(in: stage) else {
                print("skipped: mount namespaces are not permitted here, so no name server can be made silent")
                return
            }
            let file = "\(stage.folder)/file"
            let program = try await stage.bash(
                "\(server.prefix) $catwatch -u \(stage.url("/fact")) -e 20ms -o none --listen=$folder/s "
                    + "--output-file \(file) --connect tcp:cats.example:1 --connect tcp:127.0.0.1:1")
            // Who needs no name does not wait for it.
            try await program.waitForError("tcp:127.0.0.1:1: Connection refused")
            // Nor does the file, which once grew every ten seconds.
            for size in [2_000, 6_000, 10_000] {
                let looks = try await stage.wait(for: "\(size) bytes in the file") {
                    var status = stat()
                    return stat(file, &status) == 0 && status.st_size > size
                }
                #expect(looks < 1_500)
            }
            #expect(await !program.errorText.contains("cats.example"))
            try await Self.end(stage, program, "a name server that says nothing")
        }
    }
}

/// A name server that takes questions and never answers, in a mount namespace of a program's own.
private final class SilentNameServer {
    private let socket: Descriptor
    /// What a shell begins with that is to ask it.
    let prefix: String

    /// Nil where that is not permitted.
    init?(in stage: Stage) throws {
        let number = try systemCall("socket") {
            // Not for programs that are started: they would keep the port.
            Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }
        socket = Descriptor(owning: number)
        let path = "\(stage.folder)/resolv.conf"
        prefix = "exec unshare -m bash -c 'mount --bind \(path) /etc/resolv.conf && exec \"$@\"' --"
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(53).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F42_0002).bigEndian  // 127.66.0.2
        let answer = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard answer == 0, system("unshare -m true 2>/dev/null") == 0 else { return nil }
        let file = try Descriptor.open(path, flags: O_WRONLY | O_CREAT)
        try Array("nameserver 127.66.0.2\noptions timeout:30 attempts:5\n".utf8).withUnsafeBytes {
            try Descriptor.write($0, to: file.number)
        }
    }
}
