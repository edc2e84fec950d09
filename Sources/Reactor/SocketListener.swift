import CLinux
internal import Glibc

/// Accepts the streams of a listening socket.
package final class SocketListener: Listener {
    private let loop: EventLoop
    private let number: Int32
    private var descriptor: Descriptor?
    private var watch: Watch?
    private let ready: Wakeup

    /// Takes over a socket that listens already, and sets `O_NONBLOCK` on it: accept4(2) would otherwise block the loop
    /// when the backlog is empty.
    ///
    /// - Throws: `SystemError` when it cannot be watched.
    package init(owning descriptor: consuming Descriptor, on loop: EventLoop) throws(SystemError) {
        self.loop = loop
        number = descriptor.number
        self.descriptor = consume descriptor
        let number = self.number
        let flags = try systemCall("fcntl") { cw_get_status_flags(number) }
        try systemCall("fcntl") { cw_set_status_flags(number, flags | O_NONBLOCK) }
        let ready = Wakeup(loop: loop)
        self.ready = ready
        watch = try loop.watch(number, interest: [.read, .edgeTriggered]) { _ in ready.signal() }
    }

    deinit { watch?.cancel() }

    package func accept() async throws -> any WatchedStream {
        while true {
            if let accepted = try acceptNow() { return accepted }
            try await ready.wait()
        }
    }

    package func acceptNow() throws(SystemError) -> (any WatchedStream)? {
        guard descriptor != nil else { throw SystemError(code: EBADF, call: "accept4") }
        while true {
            do {
                guard let accepted = try nonblockingCall("accept4", { cw_accept(number) }) else { return nil }
                return try DescriptorStream(owning: Descriptor(owning: accepted), on: loop)
            } catch {
                // This client left before it was accepted: tries the next one.
                guard error.code == ECONNABORTED || error.code == EPROTO else { throw error }
            }
        }
    }

    package func close() {
        guard descriptor != nil else { return }
        watch?.cancel()
        watch = nil
        descriptor = nil
        ready.open()
    }
}
