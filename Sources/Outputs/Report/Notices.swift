internal import Feed
package import Reactor

/// Messages to a person on stderr, written without blocking.
package actor Notices {
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The bytes to write. Bounded: a message that does not fit is dropped, and counted in a message of its own.
    private var pending: [UInt8] = []
    private var dropped = 0
    private let arrived: Wakeup
    private let written: Wakeup
    private var isGone = false
    /// The status line below the messages, and the columns that this or the previous one takes on the terminal.
    private var status: String?
    private var drawn = 0

    /// While the terminal is used by a view, nothing is written.
    private var isHeld = false

    // Bound: bytes waiting for stderr | 64 KiB | message dropped and counted
    private static let mostPending = 64 << 10

    package init(on loop: EventLoop) {
        self.loop = loop
        arrived = Wakeup(loop: loop)
        written = Wakeup(loop: loop)
    }

    /// Writes a message of whole lines. Control characters are made visible here, except newlines, so callers must make
    /// those in quoted text from outside visible.
    package func say(_ text: String) {
        guard !isGone else { return }
        let text = Sanitizer.lines(text)
        guard pending.count + text.utf8.count <= Self.mostPending else {
            dropped += 1
            return
        }
        // Removes the status line, so that it shares no line with a message, and restores it below.
        erase()
        defer { draw() }
        if dropped > 0 {
            pending += Array("catwatch: \(dropped) messages were dropped: stderr was not read\n".utf8)
            dropped = 0
        }
        pending += Array(text.utf8)
        arrived.signal()
    }

    /// Holds messages back, as far as there is room, until `release`: a view uses the terminal.
    package func hold() { isHeld = true }

    /// Writes the held messages and all later ones.
    package func release() {
        isHeld = false
        arrived.signal()
    }

    /// Shows a status line below all messages, replacing the previous one; for terminals only.
    ///
    /// While the terminal accepts no output, nothing is drawn: the newest line appears with a later message or call.
    ///
    /// - Parameter line: without its newline, and narrower than the terminal; nil removes the line.
    package func show(_ line: String?) {
        let line = line.map { Sanitizer.visible($0) }
        guard !isGone, line != status else { return }
        status = line
        guard pending.isEmpty || line == nil else { return }
        if let line {
            // Overwrites the old line without erasing it first, which would flicker.
            let left = drawn - ProgressBar.columns(of: line)
            pending += Array("\r\(line)\(String(repeating: " ", count: max(0, left)))".utf8)
            drawn = max(drawn, ProgressBar.columns(of: line))
        } else {
            erase()
        }
        arrived.signal()
    }

    /// Erases with spaces, which work on every terminal, even without escape sequences.
    private func erase() {
        guard drawn > 0 else { return }
        pending += Array("\r\(String(repeating: " ", count: drawn))\r".utf8)
        drawn = 0
    }

    private func draw() {
        guard let status else { return }
        pending += Array(status.utf8)
        drawn = ProgressBar.columns(of: status)
    }

    /// Writes messages until the task is cancelled or the stream is gone; closes the stream.
    ///
    /// - Parameter open: opens the stream; called on the loop.
    package func run(
        _ open: @Sendable (EventLoop) throws(SystemError) -> any ByteStream
    ) async throws(CancellationError) {
        guard let stream = try? open(loop) else {
            isGone = true
            return
        }
        defer { stream.close() }
        while true {
            while !pending.isEmpty, !isHeld {
                let count: Int
                do {
                    count = try pending.withUnsafeBytes { bytes throws(SystemError) in try stream.write(bytes) }
                } catch {
                    isGone = true
                    pending = []
                    written.signal()
                    return
                }
                pending.removeFirst(count)
                if count == 0 { try await stream.waitUntilWritable() }
            }
            written.signal()
            try await arrived.wait()
        }
    }

    /// Removes the status line and waits until everything has been written, at most for `limit`.
    package func drain(within limit: Duration) async {
        show(nil)
        let deadline = loop.clock.now.advanced(by: limit)
        while !pending.isEmpty, !isGone, loop.clock.now < deadline {
            guard (try? await written.wait(until: deadline)) != nil else { return }
        }
    }
}
