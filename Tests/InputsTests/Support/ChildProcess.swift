import Glibc
import Reactor

/// Another program, started for a test and ended with it.
struct ChildProcess: Sendable {
    let process: pid_t
    /// What it writes to stdout and stderr.
    let output: Int32

    /// Starts a program that is looked for in PATH, in `folder`.
    init(_ arguments: [String], in folder: String) throws {
        let pipe = try Descriptor.pipe(nonblocking: false)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, pipe.write.number, 1)
        posix_spawn_file_actions_adddup2(&actions, pipe.write.number, 2)
        // posix_spawn(3) itself cannot change the folder everywhere.
        let command = ["sh", "-c", #"cd "$0" && exec "$@""#, folder] + arguments
        var pointers = command.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var process = pid_t()
        let code = posix_spawnp(&process, command[0], &actions, nil, &pointers, environ)
        guard code == 0 else { throw SystemError(code: code, call: "posix_spawnp", subject: arguments[0]) }
        self.process = process
        output = try pipe.read.duplicate().release()
    }

    /// The first line of its output that starts with `prefix`, without it; nil when there is none.
    func line(startingWith prefix: String) -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1 {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            let text = String(decoding: line, as: UTF8.self)
            if text.hasPrefix(prefix) { return String(text.dropFirst(prefix.count)) }
            line = []
        }
        return nil
    }

    /// Waits for its end; the exit status, or nil after a signal.
    func wait() -> Int32? {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        close(output)
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    /// Ends it.
    func stop() {
        kill(process, SIGKILL)
        _ = wait()
    }
}

/// A folder that is deleted with everything in it.
struct TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/catwatch-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(code: errno, call: "mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func remove() { _ = try? ChildProcess(["rm", "-rf", path], in: "/").wait() }
}
