import CLinux
import Glibc
import Reactor

/// How a program is to be started: what a shell would do between fork and exec.
package struct Launch: Sendable {
    /// What one of the standard streams is connected to.
    package enum Stream: Sendable {
        /// A pipe to the test.
        case pipe
        case null
        case closed
        /// Opened for reading or writing, created or truncated.
        case file(String)
        /// A copy of a descriptor of the test's.
        case shared(Int32)
    }

    package var program: String
    package var arguments: [String]
    /// The whole environment.
    package var environment: [String: String] = [:]
    package var input = Stream.null
    package var output = Stream.pipe
    package var errors = Stream.pipe
    /// False leaves a piped standard output unread until `readOutput`.
    package var readsOutput = true
    /// Where its output is read from when standard output is no pipe: a terminal's other side. Given away.
    package var outputReader: Int32?

    package init(_ program: String, _ arguments: [String] = []) {
        self.program = program
        self.arguments = arguments
    }

    struct Spawned {
        var id: pid_t
        var input: Int32?
        var output: Int32?
        var errors: Int32?
        var leash: Int32
    }

    /// Where the process finds its end of the leash; above what a program opens by itself.
    private static let leash: Int32 = 200

    /// posix_spawn(3) in a process group of its own, with no signal blocked or ignored.
    func spawn() throws -> Spawned {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var theirs: [Int32] = []
        defer { for descriptor in theirs { close(descriptor) } }
        var ours: [Int32] = []
        var isDone = false
        defer { if !isDone { for descriptor in ours { close(descriptor) } } }

        /// The test's end of a pipe, when there is one.
        func connect(_ stream: Stream, as number: Int32) throws -> Int32? {
            let flags = number == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC
            switch stream {
            case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            case .closed: posix_spawn_file_actions_addclose(&actions, number)
            case .file(let path): posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
            case .shared(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .pipe:
                let ends = try Self.pipe()
                let (mine, other) = number == 0 ? (ends.write, ends.read) : (ends.read, ends.write)
                ours.append(mine)
                theirs.append(other)
                posix_spawn_file_actions_adddup2(&actions, other, number)
                // Only our reading ends: what the program gets is as a shell would give it.
                if number != 0 { _ = cw_set_status_flags(mine, O_NONBLOCK) }
                return mine
            }
            return nil
        }
        let streams = [try connect(input, as: 0), try connect(output, as: 1), try connect(errors, as: 2)]
        let leash = try Self.pipe()
        ours.append(leash.read)
        theirs.append(leash.write)
        _ = cw_set_status_flags(leash.read, O_NONBLOCK)
        posix_spawn_file_actions_adddup2(&actions, leash.write, Self.leash)

        let id = try start(&actions)
        isDone = true
        return Spawned(
            id: id, input: streams[0], output: streams[1] ?? outputReader, errors: streams[2], leash: leash.read)
    }

    private func start(_ actions: inout posix_spawn_file_actions_t) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, program, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw SystemError(code: code, call: "posix_spawn", subject: program) }
        return id
    }

    /// A pipe that blocks, its ends closed on exec.
    private static func pipe() throws -> (read: Int32, write: Int32) {
        let pipe = try Descriptor.pipe(nonblocking: false)
        // Owned by hand from here on: their ends go on to the process.
        return (try pipe.read.duplicate().release(), try pipe.write.duplicate().release())
    }
}
