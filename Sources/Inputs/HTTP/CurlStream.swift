internal import CCurl
internal import Glibc
package import Reactor

/// A byte stream over a connection made by libcurl, with TLS or without (curl_easy_recv(3), curl_easy_send(3)).
///
/// The easy handle stays with its transport for as long as the stream is open: libcurl finds the connection through it.
package final class CurlStream: ByteStream {
    private let loop: EventLoop
    private let socket: curl_socket_t
    private var handle: EasyHandle?
    private let release: () -> Void
    private var watch: Watch?
    private let readable: Wakeup
    private let writable: Wakeup
    private let hungUp: Wakeup
    /// Bytes accepted from the caller that libcurl has not sent: TLS needs the same bytes at the same address again.
    private let held = ReadBuffer(count: 16 << 10)
    private var unsent = 0..<0

    /// - Parameter release: returns the connection, which is then closed; called once, on the loop.
    /// - Throws: `SystemError` when there is no connection, or it cannot be watched.
    init(_ handle: EasyHandle, on loop: EventLoop, release: @escaping () -> Void) throws(SystemError) {
        self.loop = loop
        self.handle = handle
        self.release = release
        socket = cw_get_socket(handle.pointer)
        readable = Wakeup(loop: loop)
        writable = Wakeup(loop: loop)
        hungUp = Wakeup(loop: loop)
        guard socket >= 0 else {
            release()
            throw SystemError(code: ENOTCONN, call: "curl_easy_getinfo")
        }
        do {
            watch = try loop.watch(socket, interest: [.read, .write, .readHangUp, .edgeTriggered]) { [weak self] in
                self?.notice($0)
            }
        } catch {
            release()
            throw error
        }
    }

    /// No task waits here any more; off the loop, nothing can be closed safely.
    deinit { if loop.isCurrent { close() } }

    private func notice(_ readiness: Readiness) {
        if !unsent.isEmpty { _ = try? flush() }  // the next writer meets the same failure
        // Under TLS reading may wait for writing and the other way round: any change is a reason to try again.
        readable.signal()
        writable.signal()
        if !readiness.isDisjoint(with: [.error, .hangUp]) { hungUp.open() }
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        guard let handle else { throw SystemError(code: EBADF, call: "curl_easy_recv") }
        var count = 0
        let code = curl_easy_recv(handle.pointer, buffer.baseAddress, buffer.count, &count)
        switch code {
        case CURLE_OK: return count
        case CURLE_AGAIN: return nil
        default: throw handle.failure("curl_easy_recv", ECONNRESET)
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        try flush()
        var taken = 0
        // Accepts less than everything only when there is no room: a caller would wait for a readiness change that
        // never comes.
        while unsent.isEmpty, taken < bytes.count {
            let count = min(bytes.count - taken, held.memory.count)
            held.memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + count]))
            unsent = 0..<count
            taken += count
            try flush()
        }
        return taken
    }

    /// Sends held bytes, as far as there is room.
    private func flush() throws(SystemError) {
        guard let handle else { throw SystemError(code: EBADF, call: "curl_easy_send") }
        while !unsent.isEmpty {
            var count = 0
            // In bounds: `unsent` is a range of what was copied in.
            let rest = UnsafeRawBufferPointer(rebasing: held.memory[unsent])
            switch curl_easy_send(handle.pointer, rest.baseAddress, rest.count, &count) {
            case CURLE_OK: unsent = (unsent.lowerBound + count)..<unsent.upperBound
            case CURLE_AGAIN: return
            default:
                unsent = 0..<0
                throw handle.failure("curl_easy_send", EPIPE)
            }
        }
    }

    package func waitUntilWritable() async throws(CancellationError) { try await writable.wait() }

    package func waitUntilReadable() async throws(CancellationError) { try await readable.wait() }

    package func waitUntilHungUp() async throws(CancellationError) { try await hungUp.wait() }

    package func close() {
        guard handle != nil else { return }
        watch?.cancel()
        watch = nil
        handle = nil
        release()
        for wakeup in [readable, writable, hungUp] { wakeup.open() }
    }
}
