internal import Feed
package import Reactor

/// What the program says to a person, on stderr, without ever waiting for it.
package actor Notices {
    private let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// What waits to be written. Bounded: what does not fit any more is dropped, and counted in a line of its own.
    private var pending: [UInt8] = []
    private var dropped = 0
    private let arrived: Wakeup
    private let written: Wakeup
    private var isGone = false
    /// A line that stays below what is said, and how many columns of the terminal it or the one before takes.
    private var status: String?
    private var drawn = 0

    /// While somebody draws on the terminal, nothing is written.
    private var isHeld = false

    private static let mostPending = 64 << 10

    package init(on loop: EventLoop) {
        self.loop = loop
        arrived = Wakeup(loop: loop)
        written = Wakeup(loop: loop)
    }

    /// Says something, in whole lines. What would act on a terminal is made visible here, whoever says it; only a line's end
    /// is taken as it is, so that who quotes something from outside makes it visible before.
    package func say(_ text: String) {
        guard !isGone else { return }
        let text = Sanitizer.lines(text)
        guard pending.count + text.utf8.count <= Self.mostPending else {
            dropped += 1
            return
        }
        // The line gives way, so that what is said never shares one with it, and comes back below.
        erase()
        defer { draw() }
        if dropped > 0 {
            pending += Array("catwatch: \(dropped) messages were dropped: stderr was not read\n".utf8)
            dropped = 0
        }
        pending += Array(text.utf8)
        arrived.signal()
    }

    /// Keeps what is said, as far as there is room, until `release`: the terminal is somebody else's for a while.
    package func hold() { isHeld = true }

    /// Says what was kept, and whatever comes from now on.
    package func release() {
        isHeld = false
        arrived.signal()
    }

    /// Shows a line below all that is said, in place of the one before; for terminals only.
    ///
    /// While the terminal takes nothing, nothing is drawn: it gets the newest line when something is said or shown later.
    ///
    /// - Parameter line: without its end, and narrower than the terminal; nil takes the line away.
    package func show(_ line: String?) {
        let line = line.map { Sanitizer.visible($0) }
        guard !isGone, line != status else { return }
        status = line
        guard pending.isEmpty || line == nil else { return }
        if let line {
            // Over the old one, not after it was erased: that would flicker.
            let left = drawn - ProgressBar.columns(of: line)
            pending += Array("\r\(line)\(String(repeating: " ", count: max(0, left)))".utf8)
            drawn = max(drawn, ProgressBar.columns(of: line))
        } else {
            erase()
        }
        arrived.signal()
    }

    /// Spaces do on every terminal, also on one that knows no escape sequences.
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

    /// Writes what is said until the task is cancelled or the stream is gone; closes it.
    ///
    /// - Parameter open: makes the stream, on the loop.
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

    /// Takes the line away and waits until everything has been written, but not longer than `limit`.
    package func drain(within limit: Duration) async {
        show(nil)
        let timer = loop.schedule(after: limit) { [written] in written.signal() }
        defer { loop.cancel(timer) }
        let deadline = loop.clock.now.advanced(by: limit)
        while !pending.isEmpty, !isGone, loop.clock.now < deadline {
            guard (try? await written.wait()) != nil else { return }
        }
    }
}
