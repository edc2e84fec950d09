internal import Glibc
internal import Reactor

/// A program that reads one file and writes another, run to its end.
struct TimedRun {
    /// The processor time of all its threads, user and system.
    let processorTime: Duration
    /// Its exit status; negative when a signal ended it.
    let status: Int32

    /// Runs a program to its end.
    ///
    /// - Parameter limit: how long it may take before it is killed.
    init(
        _ path: String, _ arguments: [String], input: String, output: String, limit: Duration = .seconds(120)
    ) throws(BenchError) {
        let pid = try Leftovers.start { () throws(BenchError) in
            try Self.spawn(path, [path] + arguments, input: input, output: output)
        }
        let deadline = ContinuousClock.now + limit
        while true {
            if let (status, usage) = Leftovers.ending(of: pid) {
                self.status = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
                processorTime = Self.duration(usage.ru_utime) + Self.duration(usage.ru_stime)
                return
            }
            if ContinuousClock.now > deadline { kill(pid, SIGKILL) }
            usleep(2_000)
        }
    }

    private static func duration(_ time: timeval) -> Duration {
        .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], input: String, output: String
    ) throws(BenchError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        return try spawnGroup(path, arguments, ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"], &actions)
    }
}
