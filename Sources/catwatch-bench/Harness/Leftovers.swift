internal import Glibc
internal import Synchronization

/// The processes and temporary folders that must not outlive the bench, even when it is interrupted.
enum Leftovers {
    private struct State {
        var processes: Set<pid_t> = []
        var folders: Set<String> = []
    }

    private static let state = Mutex(State())
    /// How long an interrupted bench waits for its processes to end, in steps of 10 ms, before it kills them.
    private static let patience = 100

    /// Ends everything on SIGINT, SIGTERM and SIGHUP; call it before starting other threads, so that all of them block
    /// these signals and only the waiting thread gets them.
    static func endOnSignals() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var thread = pthread_t()
        pthread_create(&thread, nil, { _ in Leftovers.waitForSignal() }, nil)
        pthread_detach(thread)
    }

    fileprivate static func waitForSignal() -> UnsafeMutableRawPointer? {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        var signal: Int32 = 0
        while sigwait(&signals, &signal) != 0 {}
        // The lock stays held: nothing may be started any more.
        return state.withLock { state in
            for pid in state.processes { kill(pid, SIGTERM) }
            for _ in 0..<patience where !state.processes.isEmpty {
                state.processes = state.processes.filter { waitpid($0, nil, WNOHANG) == 0 }
                usleep(10_000)
            }
            for pid in state.processes { kill(pid, SIGKILL) }
            for folder in state.folders { removeFolder(folder) }
            _exit(128 + signal)
        }
    }

    /// Starts a process by `spawn` and records it, without letting a signal in between.
    static func start(_ spawn: () throws(BenchError) -> pid_t) throws(BenchError) -> pid_t {
        try state.withLock { (state) throws(BenchError) in
            let pid = try spawn()
            state.processes.insert(pid)
            return pid
        }
    }

    /// Returns whether a process has ended; only after that may its process id be reused.
    static func hasEnded(_ pid: pid_t) -> Bool {
        state.withLock { state in
            guard state.processes.contains(pid) else { return true }
            guard waitpid(pid, nil, WNOHANG) != 0 else { return false }
            state.processes.remove(pid)
            return true
        }
    }

    /// The wait status and resource usage of an ended process; nil while it runs.
    static func ending(of pid: pid_t) -> (status: Int32, usage: rusage)? {
        state.withLock { state in
            var status: Int32 = 0
            var usage = rusage()
            guard state.processes.contains(pid), wait4(pid, &status, WNOHANG, &usage) == pid else { return nil }
            state.processes.remove(pid)
            return (status, usage)
        }
    }

    /// Creates a folder in the system's folder for temporary files.
    static func makeFolder() throws(BenchError) -> String {
        try state.withLock { (state) throws(BenchError) in
            let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
            var template = Array("\(parent)/catwatch-bench-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw BenchError("no folder can be made in \(parent)") }
            let path = template.withUnsafeBufferPointer { characters in
                String(decoding: characters.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            }
            state.folders.insert(path)
            return path
        }
    }

    /// Removes such a folder with all its contents.
    static func remove(folder: String) {
        state.withLock { state in
            if state.folders.remove(folder) != nil { removeFolder(folder) }
        }
    }

    private static func removeFolder(_ path: String) {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { name in
                    String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
                }
                guard name != ".", name != ".." else { continue }
                let inner = "\(path)/\(name)"
                // A symbolic link is unlinked, never followed.
                if unlink(inner) != 0 { removeFolder(inner) }
            }
            closedir(folder)
        }
        rmdir(path)
    }
}
