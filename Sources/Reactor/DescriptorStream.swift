import CLinux
internal import Glibc
internal import Synchronization

/// A byte stream over a descriptor: a pipe, a terminal, a socket or a file.
///
/// It registers once, edge-triggered, and tries before it waits: a steady stream costs no epoll_ctl(2). It is watched
/// for room only while there is none, or each piece that the other end reads would be an event.
package final class DescriptorStream: WatchedStream {
    private enum Kind {
        /// `send` and `recv` need no `O_NONBLOCK`, which would affect other processes that share the socket.
        case socket
        /// Was opened with `O_NONBLOCK`.
        case nonblocking
        /// Is always ready; epoll rejects it.
        case file
    }

    private var kind: Kind
    private let number: Int32
    private var descriptor: Descriptor?
    private var watch: Watch?
    private let readable: Wakeup
    private let writable: Wakeup
    private let hungUp: Wakeup
    private var body: ((Readiness) -> Void)?
    private var isOver = false

    private static let interest: Readiness = [.read, .readHangUp, .edgeTriggered]

    /// Takes over a descriptor. Anything but a socket or a file must have `O_NONBLOCK` set; a socket must be connected
    /// or connecting, or it counts as hung up.
    ///
    /// - Throws: `SystemError` when it cannot be watched.
    package init(owning descriptor: consuming Descriptor, on loop: EventLoop) throws(SystemError) {
        let number = descriptor.number
        self.number = number
        self.descriptor = consume descriptor
        var status = stat()
        try systemCall("fstat") { fstat(number, &status) }
        kind = status.st_mode & S_IFMT == S_IFSOCK ? .socket : .nonblocking
        readable = Wakeup(loop: loop)
        writable = Wakeup(loop: loop)
        hungUp = Wakeup(loop: loop)
        do {
            watch = try loop.watch(number, interest: Self.interest) { [unowned self] in became($0) }
        } catch {
            guard error.code == EPERM else { throw error }
            kind = .file
        }
    }

    deinit { watch?.cancel() }

    private func became(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.error, .hangUp]) { isOver = true }
        if readiness.contains(.write) { try? watch?.update(Self.interest) }
        if let body { return body(readiness) }
        if isOver || !readiness.isDisjoint(with: [.read, .readHangUp]) { readable.signal() }
        if isOver || readiness.contains(.write) { writable.signal() }
        // Reported by one edge only, so it must last for later waits. The other two are signalled: a named pipe that is
        // opened again has room and bytes to wait for again.
        if isOver { hungUp.open() }
    }

    /// Watches for room as well; room that exists by now is reported.
    private func watchForRoom() { try? watch?.update(Self.interest.union(.write)) }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        guard descriptor != nil else { throw SystemError(code: EBADF, call: "write") }
        guard !bytes.isEmpty else { return 0 }
        let taken = try nonblockingCall("write") {
            kind == .socket
                ? send(number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                : Glibc.write(number, bytes.baseAddress, bytes.count)
        }
        if taken ?? 0 < bytes.count { watchForRoom() }
        return taken ?? 0
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        guard descriptor != nil else { throw SystemError(code: EBADF, call: "read") }
        return try nonblockingCall("read") {
            kind == .socket
                ? recv(number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                : Glibc.read(number, buffer.baseAddress, buffer.count)
        }
    }

    package func waitUntilWritable() async throws(CancellationError) {
        guard kind != .file else { return }
        watchForRoom()
        try await writable.wait()
    }

    package func waitUntilReadable() async throws(CancellationError) {
        if kind != .file { try await readable.wait() }
    }

    package func waitUntilHungUp() async throws(CancellationError) { try await hungUp.wait() }

    package func whenReady(_ body: @escaping (Readiness) -> Void) {
        self.body = body
        if isOver { body(.hangUp) }
    }

    package func close() {
        guard descriptor != nil else { return }
        watch?.cancel()
        watch = nil
        body = nil
        descriptor = nil
        readable.open()
        writable.open()
        hungUp.open()
    }
}

extension DescriptorStream {
    /// Opens one of the process's standard streams, without blocking and without changing it for processes that share
    /// it: `O_NONBLOCK` belongs to the open file description, which the shell has too, so a pipe or terminal is opened
    /// again through /proc/self/fd.
    ///
    /// - Parameter number: 0, 1 or 2; in general, any number below 32.
    package static func standard(_ number: Int32, on loop: EventLoop) throws(SystemError) -> DescriptorStream {
        var status = stat()
        try systemCall("fstat") { fstat(number, &status) }
        let type = status.st_mode & S_IFMT
        guard type == S_IFIFO || type == S_IFCHR else {
            return try DescriptorStream(owning: Descriptor(owning: duplicate(number)), on: loop)
        }
        let access = try systemCall("fcntl") { cw_get_status_flags(number) } & O_ACCMODE
        do {
            let path = "/proc/self/fd/\(number)"
            let anew = try Descriptor.open(path, flags: access | O_NONBLOCK | O_NOCTTY)
            return try DescriptorStream(owning: anew, on: loop)
        } catch {
            // We may not open it (su, sudo): sets the flag, and takes it back at exit.
            NonblockingFlag.set(on: number)
            return try DescriptorStream(owning: Descriptor(owning: duplicate(number)), on: loop)
        }
    }

    /// Restores the standard streams for the processes that share them: for a process that ends without exit(3), which
    /// does this by itself.
    package static func giveBackStandard() { NonblockingFlag.restore() }

    private static func duplicate(_ number: Int32) throws(SystemError) -> Int32 {
        try systemCall("dup") { cw_duplicate(number) }
    }
}

/// Sets `O_NONBLOCK` on shared descriptors, and removes it when the process exits.
private enum NonblockingFlag {
    /// A bit for each descriptor that got the flag here.
    private static let borrowed = Atomic<UInt32>(0)

    static func set(on number: Int32) {
        let flags = cw_get_status_flags(number)
        guard flags >= 0, flags & O_NONBLOCK == 0 else { return }
        precondition((0..<32).contains(number), "a standard stream has a small number")
        _ = cw_set_status_flags(number, flags | O_NONBLOCK)
        if borrowed.bitwiseOr(1 << UInt32(number), ordering: .relaxed).oldValue == 0 {
            atexit { NonblockingFlag.restore() }
        }
    }

    static func restore() {
        let numbers = borrowed.load(ordering: .relaxed)
        for number: Int32 in 0..<32 where numbers & (1 << UInt32(number)) != 0 {
            let flags = cw_get_status_flags(number)
            if flags >= 0 { _ = cw_set_status_flags(number, flags & ~O_NONBLOCK) }
        }
    }
}
