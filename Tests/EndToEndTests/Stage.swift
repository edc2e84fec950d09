import CatAPI
import Glibc
import Reactor
import TestSupport
import Testing

/// What one test works with: a loop with a thread of its own, the stand-in API with faults on it, a folder, and the
/// programs that it starts. All of it is gone afterwards, whatever the test came to.
actor Stage {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// An empty folder, removed at the end.
    nonisolated let folder: String
    private var server: CatAPIServer?
    private var programs: [ChildProcess] = []

    private init(on loop: EventLoop) throws {
        self.loop = loop
        var template = Array("/tmp/catwatch-e2e-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { bytes in
            bytes.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else { throw SystemError(code: errno, call: "mkdtemp") }
        folder = made
    }

    /// Has a test on a stage. It stays the same task, so that failures are this test's, and runs on the stage's loop.
    static func run(_ body: @Sendable (Stage) async throws -> Void) async throws {
        try await Places.taken {
            let thread = try LoopThread(name: "stage")
            let result: Result<Void, any Error>
            do {
                try await withTaskExecutorPreference(thread.loop) {
                    let stage = try Stage(on: thread.loop)
                    do {
                        try await body(stage)
                    } catch {
                        await stage.clear()
                        throw error
                    }
                    await stage.clear()
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            thread.stop()
            try result.get()
        }
    }

    private func clear() async {
        for program in programs { await program.end() }
        await server?.stop()
        for name in (try? FolderListing.names(in: folder)) ?? [] { unlink("\(folder)/\(name)") }
        rmdir(folder)
    }

    // MARK: The stand-in

    /// `http://127.0.0.1:PORT` of the stand-in, which is started when it is first asked for.
    func origin() throws -> String { try theServer().origin }

    func url(_ path: String) throws -> String { try origin() + path }

    func requestCount() async throws -> Int { await (try theServer()).requestCount }

    /// Waits until the stand-in has had so many requests in all.
    func waitForRequests(_ count: Int) async throws {
        try await wait(for: "\(count) requests") { try await requestCount() >= count }
    }

    /// Waits until something outside has come about, looking again and again.
    ///
    /// - Returns: how often it looked, 2 ms or more apart: a measure for what must not take long, as a machine that is busy
    ///   holds the looking up as well.
    @discardableResult
    func wait(for what: String, _ condition: () async throws -> Bool) async throws -> Int {
        let limit = loop.clock.now.advanced(by: ChildProcess.patience)
        var looks = 1
        while try await !condition() {
            guard loop.clock.now < limit else { throw ChildProcess.Failed("waited in vain for \(what)") }
            try await loop.sleep(for: .milliseconds(2))
            looks += 1
        }
        return looks
    }

    /// Closes the port and all connections; returns the port.
    func stopServer() async throws -> UInt16 {
        let port = try theServer().port
        await server?.stop()
        server = nil
        return port
    }

    /// Starts the stand-in on a port that it had before.
    func startServer(on port: UInt16) throws {
        server = try CatAPIServer(loop: loop, port: port, faults: true, seed: 2)
    }

    private func theServer() throws -> CatAPIServer {
        if let server { return server }
        let server = try CatAPIServer(loop: loop, faults: true, seed: 1)
        self.server = server
        return server
    }

    /// A loopback port that nothing listens on: one that was had and given back.
    func closedPort() async throws -> UInt16 {
        let server = try CatAPIServer(loop: loop, seed: 1)
        await server.stop()
        return server.port
    }

    // MARK: Programs

    /// Starts catwatch.
    func catwatch(
        _ arguments: [String], environment: [String: String] = [:],
        _ adjust: @Sendable (inout Launch) -> Void = { _ in }
    ) throws -> ChildProcess {
        var launch = Launch(Installation.program, arguments)
        launch.environment = environment
        adjust(&launch)
        return try start(launch)
    }

    func start(_ launch: Launch, deadline: Duration = ChildProcess.patience) throws -> ChildProcess {
        let program = try ChildProcess(launch, on: loop, deadline: deadline)
        programs.append(program)
        return program
    }

    /// Runs a line of bash, with the program's path in `$catwatch` and the stage's folder in `$folder`.
    func bash(_ script: String, input: Launch.Stream = .null) throws -> ChildProcess {
        var launch = Launch("/bin/bash", ["-c", script])
        launch.input = input
        launch.environment = [
            "catwatch": Installation.program, "folder": folder, "PATH": "/usr/local/bin:/usr/bin:/bin",
        ]
        return try start(launch)
    }

    /// Runs catwatch to its end.
    func finish(_ arguments: [String], environment: [String: String] = [:]) async throws -> Finished {
        try await Finished(of: catwatch(arguments, environment: environment))
    }

    /// Runs catwatch until it has told of an error, however long that takes here, and ends it.
    func finishAfterError(_ arguments: [String]) async throws -> Finished {
        let program = try catwatch(arguments)
        try await program.wait(for: "an error") { program in
            FeedLine.lines(program.outputBytes).contains { $0?.type == "error" } ? () : nil
        }
        try await program.signal(SIGTERM)
        return try await Finished(of: program)
    }

    /// Has a script of Tests/python try what its arguments say with catwatch, at full size when that is asked for, and prints its
    /// report.
    func passTrial(_ script: String, _ arguments: [String]) async throws {
        let python = try #require(Installation.python, "CATWATCH_PYTHON is not set")
        var launch = Launch(
            python,
            ["\(Installation.root)/Tests/python/\(script)", Installation.program] + arguments
                + (LongRun.isOn ? ["--long"] : []))
        launch.environment = ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
        let deadline = LongRun.isOn ? Duration.seconds(3_000) : ChildProcess.patience
        let run = try await Finished(of: start(launch, deadline: deadline))
        #expect(run.ending == .exited(0), "\(run.outputText)\n\(run.errors)")
        #expect(!run.output.isEmpty)
        print(run.outputText)
    }

    func write(_ text: String, to name: String) throws -> String {
        let path = "\(folder)/\(name)"
        let descriptor = try Descriptor.open(path, flags: O_WRONLY | O_CREAT | O_TRUNC)
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor.number, bytes, bytes.count) == bytes.count else {
            throw SystemError(code: errno, call: "write", subject: path)
        }
        return path
    }

    /// Has validate_lines.py look at an output.
    func validate(
        _ output: [UInt8], expectBye: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let python = try #require(Installation.python, "CATWATCH_PYTHON is not set")
        let path = "\(folder)/lines.ndjson"
        let descriptor = try Descriptor.open(path, flags: O_RDWR | O_CREAT | O_TRUNC)
        var rest = output[...]
        while !rest.isEmpty {
            rest = rest.dropFirst(
                try systemCall("write") {
                    rest.withUnsafeBytes { Glibc.write(descriptor.number, $0.baseAddress, $0.count) }
                })
        }
        lseek(descriptor.number, 0, SEEK_SET)
        var launch = Launch(
            python, ["\(Installation.root)/Tests/python/validate_lines.py"] + (expectBye ? ["--expect-bye"] : []))
        launch.environment = ["PYTHONDONTWRITEBYTECODE": "1"]
        launch.input = .shared(descriptor.number)
        let checker = try start(launch)
        let ending = try await checker.waitForEnd()
        let complaint = await checker.errorText
        #expect(ending == .exited(0), "\(complaint)", sourceLocation: sourceLocation)
    }
}
