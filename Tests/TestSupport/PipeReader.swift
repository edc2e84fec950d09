import CLinux
import Glibc
import Reactor

/// Collects what comes out of a pipe, on a loop.
final class PipeReader {
    private(set) var bytes: [UInt8] = []
    /// Whether every writer is gone and everything was read.
    private(set) var isAtEnd = false

    private let loop: EventLoop
    private let changed: Wakeup
    private var descriptor: Int32?
    private var watch: Watch?

    /// Takes over the descriptor, which has to be non-blocking. Reads nothing before `start`.
    ///
    /// - Parameter changed: signalled whenever something came.
    init(_ descriptor: Int32, on loop: EventLoop, _ changed: Wakeup) {
        self.descriptor = descriptor
        self.loop = loop
        self.changed = changed
    }

    /// Whether there may be more to come.
    var isOpen: Bool { descriptor != nil && !isAtEnd }

    func start() throws {
        guard let descriptor, watch == nil, !isAtEnd else { return }
        watch = try loop.watch(descriptor, interest: .read) { [unowned self] _ in take() }
    }

    func pause() {
        watch?.cancel()
        watch = nil
    }

    func close() {
        pause()
        if let descriptor { Glibc.close(descriptor) }
        descriptor = nil
    }

    private func take() {
        guard let descriptor else { return }
        let size = 64 << 10
        let count = withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
            let count = read(descriptor, buffer.baseAddress, size)
            if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
            return count
        }
        // A terminal whose other side is closed says EIO.
        if count == 0 || count < 0 && cw_errno() != EAGAIN && cw_errno() != EINTR {
            isAtEnd = true
            pause()
        }
        changed.signal()
    }
}
