internal import Feed
internal import Glibc
internal import Reactor

/// A process that the bench started: reads its output, knows its resource usage, and ends it by its process id.
final class ChildProcess {
    let pid: pid_t
    private let name: String
    private let output: Descriptor
    private let errorFile: String
    private var isOver = false

    /// The reason why reading ended.
    enum ReadEnd { case deadline, endOfOutput, enough }

    /// Starts a program in its own process group, so that a Ctrl-C in the terminal reaches only the bench, with no
    /// environment but the one given here, so that the user's proxies and settings do not count.
    ///
    /// - Parameters:
    ///   - folder: the folder for a file with its stderr.
    ///   - input: its standard input; nil for none.
    ///   - passing: a descriptor that it gets as number 3.
    init(
        _ path: String, _ arguments: [String], folder: String, environment: [String] = [], input: Int32? = nil,
        passing: Int32? = nil
    ) throws {
        let name = String(path.split(separator: "/").last ?? "?")
        let errorFile = "\(folder)/\(name).stderr"
        self.name = name
        self.errorFile = errorFile
        let pipe = try Descriptor.pipe(nonblocking: false)
        pid = try Leftovers.start { () throws(BenchError) in
            try spawn(
                path, [path] + arguments, environment + ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"],
                input: input, output: pipe.write.number, errorFile: errorFile, passing: passing)
        }
        output = try pipe.read.duplicate()  // keeps the read end; the write end closes here
    }

    deinit { end() }

    /// Reads its output until `deadline`, or until `receive` returns true.
    @discardableResult
    func read(until deadline: ContinuousClock.Instant, _ receive: (Bytes) -> Bool = { _ in false }) -> ReadEnd {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return .deadline }
            var entry = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
            // Rounded up; otherwise poll would spin through the last millisecond.
            guard poll(&entry, 1, Int32(clamping: Int(left.milliseconds) + 1)) > 0 else { continue }
            let count = Glibc.read(output.number, &buffer, buffer.count)
            if count == 0 { return .endOfOutput }
            if count > 0, receive(buffer[..<count]) { return .enough }
        }
    }

    /// Reads its lines until `deadline`, or until `receive` returns true.
    @discardableResult
    func readLines(until deadline: ContinuousClock.Instant, _ receive: (Line) -> Bool) -> ReadEnd {
        var splitter = LineSplitter()
        return read(until: deadline) { bytes in
            splitter.push(bytes)
            while let item = splitter.next() {
                if case .line(let text) = item, let line = try? LineDecoder.decode(text), receive(line) { return true }
            }
            return false
        }
    }

    /// The processor time of all its threads so far, user and system; in nanoseconds, finer than /proc/PID/stat.
    var processorTime: Duration {
        get throws {
            var clock = clockid_t()
            var time = timespec()
            guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { throw ended }
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
    }

    /// The user and the kernel time so far, in steps of 10 ms.
    var processorTimes: (user: Duration, kernel: Duration) {
        get throws {
            // proc(5): utime and stime are fields 14 and 15; field 2 may hold blanks, but ends with the last bracket.
            let line = TextFile.lines("/proc/\(pid)/stat").first ?? ""
            let words = line.split(separator: ")").last?.split(separator: " ") ?? []
            guard words.count > 12, let user = Int(words[11]), let kernel = Int(words[12]) else { throw ended }
            let tick = Duration.seconds(1) / Int(sysconf(Int32(_SC_CLK_TCK)))
            return (tick * user, tick * kernel)
        }
    }

    /// Its memory, in bytes, by a key of /proc/PID/status: `VmRSS` now, `VmHWM` at most.
    func memory(_ key: String) throws -> Double {
        guard let kilobytes = TextFile.value(of: key, in: "/proc/\(pid)/status")?.split(separator: " ").first,
            let number = Double(kilobytes)
        else { throw ended }
        return number * 1_024
    }

    /// The rest of the stderr line that holds these words; nil when there is none.
    func words(behind words: String) -> Substring? {
        for line in TextFile.lines(errorFile) {
            if let range = line.utf8.firstRange(of: words.utf8) { return line[range.upperBound...] }
        }
        return nil
    }

    /// The error when the process has ended unexpectedly.
    var ended: BenchError { failure("has ended") }

    func failure(_ what: String) -> BenchError {
        let words = TextFile.lines(errorFile).last.map { ": \($0)" } ?? ""
        return BenchError("\(name) \(what)\(words)")
    }

    /// Ends the process and waits for that; kills it after three seconds.
    func end() {
        guard !isOver else { return }
        isOver = true
        kill(pid, SIGTERM)
        let deadline = ContinuousClock.now + .seconds(3)
        while !Leftovers.hasEnded(pid) {
            if ContinuousClock.now > deadline { kill(pid, SIGKILL) }
            // Its remaining output has to be read, or it may block.
            read(until: .now + .milliseconds(2))
            usleep(500)
        }
    }
}

/// posix_spawn(3).
private func spawn(
    _ path: String, _ arguments: [String], _ environment: [String], input: Int32?, output: Int32, errorFile: String,
    passing: Int32?
) throws(BenchError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input {
        posix_spawn_file_actions_adddup2(&actions, input, 0)
    } else {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_addopen(&actions, 2, errorFile, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    if let passing { posix_spawn_file_actions_adddup2(&actions, passing, 3) }
    return try spawnGroup(path, arguments, environment, &actions)
}

/// posix_spawn(3) into a process group of its own, with no signal blocked.
func spawnGroup(
    _ path: String, _ arguments: [String], _ environment: [String], _ actions: inout posix_spawn_file_actions_t
) throws(BenchError) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))

    let argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    let envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for text in argv + envp { free(text) } }
    var pid = pid_t()
    let code = posix_spawn(&pid, path, &actions, &attributes, argv, envp)
    guard code == 0 else { throw BenchError("\(path) cannot be started: \(String(cString: strerror(code)))") }
    return pid
}
