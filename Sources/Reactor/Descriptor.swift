import CLinux
internal import Glibc

/// Owns a file descriptor, and closes it at the end of its life.
package struct Descriptor: ~Copyable, Sendable {
    /// The number, valid while the owner lives.
    package let number: Int32

    /// Takes over an open descriptor.
    package init(owning number: Int32) {
        precondition(number >= 0, "a descriptor is not negative")
        self.number = number
    }

    deinit { _ = Glibc.close(number) }

    /// Gives the descriptor away without closing it.
    package consuming func release() -> Int32 {
        let number = self.number
        discard self
        return number
    }

    /// A second descriptor of the same open file description, closed on exec.
    package func duplicate() throws(SystemError) -> Descriptor {
        Descriptor(owning: try systemCall("dup") { cw_duplicate(number) })
    }

    /// open(2); always closed on exec.
    package static func open(_ path: String, flags: Int32, mode: UInt32 = 0o600) throws(SystemError) -> Descriptor {
        Descriptor(
            owning: try systemCall("open", on: path) { cw_open(path, flags | O_CLOEXEC, mode) })
    }

    /// Reads everything, for small files; nil when that is more than `limit` bytes. Blocks.
    ///
    /// - Parameter patience: how long to wait for more of a pipe, in milliseconds from 0; nil for no limit.
    /// - Throws: `ETIMEDOUT` when nothing came for that long.
    package borrowing func bytes(limit: Int, patience: Int32? = nil) throws(SystemError) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            if let patience {
                var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
                guard try systemCall("poll", { poll(&entry, 1, patience) }) > 0 else {
                    throw SystemError(code: ETIMEDOUT, call: "read")
                }
            }
            let count = try systemCall("read") { read(number, &buffer, buffer.count) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
            guard bytes.count <= limit else { return nil }
        }
    }

    /// Writes all bytes to a descriptor and blocks until done: for use without a loop.
    package static func write(_ bytes: UnsafeRawBufferPointer, to number: Int32) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            do throws(SystemError) {
                done += try systemCall("write") {
                    Glibc.write(number, bytes.baseAddress?.advanced(by: done), bytes.count - done)
                }
            } catch {
                // Another program that shares the pipe may have made it non-blocking.
                guard error.code == EAGAIN else { throw error }
                var entry = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
                try systemCall("poll") { poll(&entry, 1, -1) }
            }
        }
    }

    /// pipe2(2): bytes written to `write` are read from `read`.
    package static func pipe(nonblocking: Bool = true) throws(SystemError) -> Pipe {
        var ends: (Int32, Int32) = (-1, -1)
        try withUnsafeMutableBytes(of: &ends) { (raw) throws(SystemError) in
            let pair = raw.bindMemory(to: Int32.self)
            try systemCall("pipe2") { pipe2(pair.baseAddress, O_CLOEXEC | (nonblocking ? O_NONBLOCK : 0)) }
        }
        return Pipe(read: Descriptor(owning: ends.0), write: Descriptor(owning: ends.1))
    }
}

/// The two ends of a pipe.
package struct Pipe: ~Copyable, Sendable {
    package let read: Descriptor
    package let write: Descriptor
}

/// The most descriptors that the process may have open. (getrlimit(2), `RLIMIT_NOFILE`.)
package enum DescriptorLimit {
    /// Descriptors needed besides connections: libraries, files, pipes.
    private static let others = 128

    /// Raises the soft limit for `count` connections, up to the hard limit; never lowers it. Services get 1,024 by
    /// default, which is low for the sake of select(2): this program does not use that.
    package static func raise(for count: Int) {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        let wanted = rlim_t(count + others)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < wanted, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        setrlimit(resource, &limit)
    }
}
