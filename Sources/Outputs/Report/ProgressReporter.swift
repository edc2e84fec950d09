package import Feed
package import Reactor

/// Shows the progress of paged sources on a terminal: one line, for the source that progressed last.
///
/// A reader of the feed. It draws through `Notices`, at most ten times a second, and removes its line when nothing
/// progresses.
package actor ProgressReporter {
    private let store: EventStore
    private let notices: Notices
    private let loop: EventLoop
    private let style: ProgressBar.Style
    private let columns: @Sendable () -> Int
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The newest progress, and whether it is drawn.
    private var bar: ProgressBar?
    private var isDrawn = true
    private var lastDrawn: LoopInstant?
    private let changed: Wakeup

    private static let pause = Duration.milliseconds(100)
    /// How long a complete line stays, and one without progress.
    private static let afterCompletion = Duration.seconds(1)
    private static let afterStandstill = Duration.seconds(30)

    /// - Parameter columns: returns the terminal's current width.
    package init(
        store: EventStore, notices: Notices, on loop: EventLoop, style: ProgressBar.Style,
        columns: @escaping @Sendable () -> Int
    ) {
        self.store = store
        self.notices = notices
        self.loop = loop
        self.style = style
        self.columns = columns
        changed = Wakeup(loop: loop)
    }

    /// Reports until the feed ends or the task is cancelled; then removes its line.
    package func run() async throws(CancellationError) {
        let (reader, _) = await store.open(nil)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.draw() }
            try? await self.read(reader)
            group.cancelAll()
        }
        await store.close(reader)
        await notices.show(nil)
        if Task.isCancelled { throw CancellationError() }
    }

    /// Reads the newest progress from the feed until its end.
    private func read(_ reader: ReaderID) async throws(CancellationError) {
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span):
                guard await store.mayHoldReports(span), let bar = span.withUnsafeBytes({ newest(in: $0) }),
                    bar != self.bar
                else { continue }
                self.bar = bar
                isDrawn = false
                changed.signal()
            case .gap, .greeting, .ended, .kept, .interrupted: break
            case .end: return
            }
        }
    }

    /// Draws new progress, and removes the line after a while.
    private func draw() async throws(CancellationError) {
        while true {
            guard !isDrawn, let bar else {
                try await changed.wait()
                continue
            }
            if let due = lastDrawn?.advanced(by: Self.pause), loop.clock.now < due { try await loop.sleep(until: due) }
            let newest = self.bar ?? bar
            isDrawn = true
            lastDrawn = loop.clock.now
            // The last column stays empty: some terminals wrap when it is written.
            await notices.show(newest.text(columns: columns() - 1))
            let stay = newest.isComplete ? Self.afterCompletion : Self.afterStandstill
            try await wait(until: loop.clock.now.advanced(by: stay))
            if isDrawn { await notices.show(nil) }
        }
    }

    /// Waits for something new to draw, at most until `deadline`.
    private func wait(until deadline: LoopInstant) async throws(CancellationError) {
        // A signal for progress that is drawn already may be left.
        while isDrawn, loop.clock.now < deadline { try await changed.wait(until: deadline) }
    }

    private func newest(in bytes: UnsafeRawBufferPointer) -> ProgressBar? {
        var found: UnsafeRawBufferPointer?
        bytes.forEachLine { line in
            if let type = LineHead(line)?.type, type == "progress" { found = line }
        }
        // What a complete answer says of its items is no progress.
        guard let found, let line = try? LineDecoder.decode(Array(found)[...]),
            case .progress(let progress) = line.body,
            progress.page > 1 || progress.items == nil && progress.gone.isEmpty
        else { return nil }
        return ProgressBar(source: line.source ?? "?", progress: progress, style: style)
    }
}
