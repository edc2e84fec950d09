internal import Feed
internal import Reactor

// When it draws, and how a frame gets to a terminal that may take nothing.
extension TerminalSession {
    func changed() {
        isDirty = true
        wake.signal()
    }

    func urgent() {
        isUrgent = true
        changed()
    }

    /// Ages and countdowns go on while nothing comes.
    func keepTime() async throws {
        while true {
            let isQuick = view.connection != .open || view.board.sources.contains { $0.state != .ok && $0.isListed }
            try await loop.sleep(for: isQuick ? Self.fastTick : Self.tick)
            changed()
        }
    }

    func draw() async throws {
        while true {
            try await wake.wait()
            guard isDirty else { continue }
            if !isUrgent, let lastFrame, loop.clock.now < lastFrame.advanced(by: Self.pace) {
                guard !isFrameScheduled else { continue }
                isFrameScheduled = true
                loop.schedule(at: lastFrame.advanced(by: Self.pace)) { [weak self] in
                    self?.assumeIsolated { session in
                        session.isFrameScheduled = false
                        session.wake.signal()
                    }
                }
                continue
            }
            isDirty = false
            isUrgent = false
            lastFrame = loop.clock.now
            try await write(renderer.render(view.frame(now: wall.now)))
        }
    }

    /// Writes a frame. While the terminal takes nothing, nothing is drawn, and what changes is in the frame after.
    private func write(_ bytes: [UInt8]) async throws {
        let screen = screenNumber
        var done = 0
        while done < bytes.count, screen == screenNumber, let output {
            let taken: Int
            do {
                taken = try bytes.withUnsafeBytes { (bytes) throws(SystemError) in
                    try output.write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
                }
            } catch {
                return end(.terminalGone)
            }
            done += taken
            if taken == 0 { try await output.waitUntilWritable() }
        }
    }
}
