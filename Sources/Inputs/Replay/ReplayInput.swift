package import Feed
package import Reactor

/// Replays a recording: relays its lines with their runs and sequence numbers, each when it is due by the recording's
/// clock.
package actor ReplayInput {
    private let name: String
    private let from: Timestamp?
    private let store: EventStore
    private let clock: ReplayClock
    private let loop: EventLoop
    private let tell: @Sendable (_ text: String, _ isFatal: Bool) async -> Void
    private let begun: @Sendable () async -> Void
    private let open: @Sendable () async throws -> LoopBound<any ByteStream>
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Whether the recording could not be read to its end.
    package private(set) var isCutShort = false

    /// - Parameters:
    ///   - name: the recording's name for a person.
    ///   - from: lines before the first one of this time or later are left out.
    ///   - clock: the store's wall clock.
    ///   - tell: reports a sentence to a person; a fatal one is why the replay ends.
    ///   - begun: called with the first line.
    ///   - open: opens the recording: a stream of lines, or a `JournalStream`.
    package init(
        _ name: String, from: Timestamp? = nil, store: EventStore, clock: ReplayClock, on loop: EventLoop,
        tell: @escaping @Sendable (_ text: String, _ isFatal: Bool) async -> Void,
        begun: @escaping @Sendable () async -> Void = {},
        open: @escaping @Sendable () async throws -> LoopBound<any ByteStream>
    ) {
        self.name = name
        self.from = from
        self.store = store
        self.clock = clock
        self.loop = loop
        self.tell = tell
        self.begun = begun
        self.open = open
    }

    /// Replays the recording once, to its end.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func run() async throws(CancellationError) {
        do {
            let stream = try await open().value
            defer { stream.close() }
            let journal = stream as? JournalStream
            let recording = Recording(from: from, hasOlder: journal != nil, on: loop, limits: await store.limits)
            await store.setConnected(true)
            try await play(Playback(recording, clock), from: stream)
            clock.stop()
            await report(recording, isEmpty: journal?.isEmpty ?? false)
            if journal?.hasGrown == true, journal?.fault == nil {
                let last = await store.nextSequence - 1
                await tell(
                    "\(name): it is being written to: played back is what it had, up to line \(last) of run \(await store.run)",
                    false)
            }
            if let fault = journal?.fault { await fail("it cannot be read any further: \(fault)") }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            await fail("it cannot be read: \((error as? SystemError)?.reason ?? "\(error)")")
        }
        await store.setConnected(false)
    }

    private func play(_ playback: Playback, from stream: any ByteStream) async throws {
        var hasBegun = false
        while playback.recording.oddity == nil {
            playback.restart()
            if await store.isHeldBack, playback.hold() {
                try await store.admit()
                continue
            }
            passOn(playback)
            // After the end no line is accepted; whoever ended it also cancels this task.
            while await store.isOver { try await clock.wait(for: nil) }
            if !hasBegun, playback.hasBegun {
                hasBegun = true
                await begun()
            }
            switch playback.pause {
            case .turn: try await loop.sleep(for: .zero)
            case .clock(let time): try await clock.wait(for: time)
            case .run: try await store.waitForReaders()
            case .end: return
            case .bytes:
                try await fill(playback.recording, from: stream)
                // A stream that always has something to read would otherwise occupy the loop.
                try await loop.sleep(for: .zero)
            }
        }
    }

    /// Relays lines that are due, a slice of work at most.
    private func passOn(_ playback: Playback) {
        store.assumeIsolated { store in
            store.relay {
                playback.next()
            } refuse: {
                playback.recording.addFault("\($0)")
            }
        }
    }

    private func fill(_ recording: Recording, from stream: any ByteStream) async throws {
        while true {
            if let count = try recording.fill(from: stream) {
                recording.isAtEnd = count == 0
                return
            }
            try await stream.waitUntilReadable()
        }
    }

    private func fail(_ reason: String) async {
        isCutShort = true
        await tell("\(name): \(reason)", true)
    }

    /// Reports everything that was wrong.
    private func report(_ recording: Recording, isEmpty: Bool) async {
        if let oddity = recording.oddity { return await fail(oddity.text("catwatch --replay -")) }
        for text in recording.faults(isEmpty: isEmpty) { await tell("\(name): \(text)", false) }
        if clock.leaps > 0 {
            let most = "\(Int(clock.longestLeap.seconds / 3_600)) h"
            await tell(
                "\(name): silences of more than an hour were left out: \(clock.leaps), of \(most) at the most", false)
        }
    }
}
