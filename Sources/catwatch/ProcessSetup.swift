internal import CLinux
internal import Glibc
internal import Reactor

/// The environment that the process was started with.
enum ProcessEnvironment {
    /// Returns all variables; the first of repeated ones counts, as in getenv(3).
    static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2, variables[String(pair[0])] == nil { variables[String(pair[0])] = String(pair[1]) }
            entry += 1
        }
        return variables
    }
}

/// The descriptors 0, 1 and 2 that the process was started with.
enum StandardStreams {
    /// Opens those that are closed, so that no other file gets their number: output for stdout must not end up in a
    /// connection.
    ///
    /// They read and write nothing: opened for reading only, writing to them fails with `EBADF` as if they were closed.
    static func occupy() {
        for number in STDIN_FILENO...STDERR_FILENO where cw_get_status_flags(number) == -1 {
            // open(2) takes the lowest free number, and the ones below are in use.
            _ = cw_open("/dev/null", O_RDONLY, 0)
        }
    }
}

/// The configuration of the C library's allocator (mallopt(3)).
enum Memory {
    /// Uses one arena, since one thread does nearly all the work, and returns freed memory to the system early.
    static func economise() {
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, 64 << 10)
        mallopt(M_TRIM_THRESHOLD, 128 << 10)
    }
}

/// Signals by name.
enum SignalName {
    /// `SIGTERM`; the number when the name is unknown.
    static func text(_ number: Int32) -> String {
        switch number {
        case SIGINT: "SIGINT"
        case SIGTERM: "SIGTERM"
        case SIGHUP: "SIGHUP"
        case SIGQUIT: "SIGQUIT"
        default: "signal \(number)"
        }
    }
}

extension Descriptor {
    /// Writes all of a text, blocking as long as it takes: for when no event loop runs.
    static func write(_ text: String, to descriptor: Int32) throws(SystemError) {
        try Array(text.utf8).span.bytes.withUnsafeBytes { bytes throws(SystemError) in
            try write(bytes, to: descriptor)
        }
    }
}
