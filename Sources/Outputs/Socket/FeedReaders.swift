package import Feed
package import Reactor

/// The readers of one server, and their shared state: an idle one takes only a cursor and a few flags.
///
/// Unchecked: used on the loop only, as are all its callers.
package final class FeedReaders: @unchecked Sendable {
    let store: EventStore
    let polls: PollRequests
    /// The source of lines older than the log's; nil for none.
    let history: JournalQueue?
    let loop: EventLoop
    /// A reader that accepts nothing for this long is closed.
    private(set) var stall: Duration
    private let seats: ReaderSeats
    /// The shared read buffer.
    let scratch = ReadBuffer()
    private var connections: [ReaderConnection] = []
    /// Readers with more work, which let the others have a turn first.
    private let turns: TurnWalk<ReaderConnection>
    /// When all readers must have left, once no more are admitted.
    private var deadline: LoopInstant?
    /// Closes slow readers before the deadline.
    private var dismissal: LoopTimer?
    /// Whether all readers were closed already.
    private var isClosed = false
    /// Signalled when the last reader has left.
    private let left: Wakeup
    /// The newest unfiltered events, made once for all readers, and the run and sequence numbers of their lines.
    private var newest: (run: String, first: Int, last: Int, piece: EventFraming.Piece)?
    /// Set while there are event streams: sends beats to all of them.
    private var beatTimer: LoopTimer?
    private(set) var beat: [UInt8] = []

    /// The longest silence of an event stream, whatever its filter.
    package static let beatEvery = Duration.seconds(10)
    /// The same in a replay, whose clock may be stopped or sped up at any time.
    private static let playbackBeat = Duration.seconds(1)
    // Existing lines for a reader by HTTP, or with `from` or `until`: the newest 8 MiB; of the journal a page less;
    // `hello` says where they begin, a `gap` what is missing.
    /// The most bytes of existing lines for such a reader: the log may have 4 GiB.
    package static let mostReplayed = 8 << 20
    /// The part of the time before the deadline in which slow readers only get the rest of their line.
    private static let timeForALine = Duration.seconds(1)

    package init(
        store: EventStore, polls: PollRequests, on loop: EventLoop, limits: ReaderLimits, seats: ReaderSeats,
        history: JournalQueue? = nil
    ) {
        self.store = store
        self.polls = polls
        self.history = history
        self.loop = loop
        self.seats = seats
        stall = limits.stall
        seats.limit = limits.readers
        left = Wakeup(loop: loop)
        turns = TurnWalk(on: loop) { $0.runTurn() }
    }

    /// The most readers at once.
    var limit: Int { seats.limit }
    /// The most readers of this server, whatever the common limit.
    package var mostHere = Int.max

    package var count: Int { connections.count }

    /// Why no further reader is admitted; nil when one is.
    package var refusal: String? {
        if seats.hasRoom, count < mostHere, !isLeaving { return nil }
        let most = min(seats.limit, mostHere)
        return isLeaving ? "the feed is about to end" : "there are \(most) readers already; try again later"
    }

    /// Why a request cannot be met here; nil when it can.
    package func refusal(of terms: ReaderRequest.Terms) -> Failure? {
        guard terms.columns != nil, history == nil else { return nil }
        return Failure(.protocol, "there is no journal (--journal) with columns of a series")
    }

    /// Applies other limits; present readers stay even if they exceed them.
    package func change(to limits: ReaderLimits) {
        stall = limits.stall
        seats.limit = limits.readers
    }

    // MARK: Coming and going

    /// Greets a reader of the socket, or refuses it when there are too many.
    func admit(_ stream: any WatchedStream) {
        guard seats.hasRoom else {
            _ = try? ControlLine.refusal(.connect, refusal ?? "", time: store.wallTime).withUnsafeBytes {
                bytes throws(SystemError) in try stream.write(bytes)
            }
            return stream.close()
        }
        add(ReaderConnection(stream, .socket, among: self)).begin()
    }

    /// Greets an HTTP reader, for which there must be room.
    ///
    /// - Parameters:
    ///   - head: the bytes before the feed.
    ///   - form: the form of lines.
    package func admit(
        _ stream: any WatchedStream, behind head: [UInt8], as form: ReaderForm, _ terms: ReaderRequest.Terms
    ) {
        add(ReaderConnection(stream, form, among: self)).begin(behind: head, terms)
        if form == .events { scheduleBeat() }
    }

    private func add(_ connection: ReaderConnection) -> ReaderConnection {
        seats.acquire()
        connection.index = count
        connections.append(connection)
        return connection
    }

    /// Continues a reader in the next turn.
    func goOnLater(_ connection: ReaderConnection) { turns.add(connection) }

    /// Removes a closed reader; the last one moves to its index.
    func remove(_ connection: ReaderConnection) {
        seats.release()
        defer { if connections.isEmpty { left.signal() } }
        guard let last = connections.popLast(), last !== connection else { return }
        connections[connection.index] = last
        last.index = connection.index
    }

    // MARK: The end

    /// Whether all readers must leave, and no more are admitted.
    package var isLeaving: Bool { deadline != nil }

    /// Makes all readers leave: `waitUntilLeft` returns once they have or `time` is over.
    ///
    /// - Parameter isOver: whether the feed has ended: then readers get all lines and the end, and in the last second
    ///   only the rest of a line partly written. Otherwise they get only that rest, at once.
    package func leave(within time: Duration, isOver: Bool) {
        guard deadline == nil else { return }
        deadline = loop.clock.now.advanced(by: time)
        guard isOver, !isClosed else { return dismissAll() }
        dismissal = loop.schedule(after: max(.zero, time - Self.timeForALine)) { [self] in
            dismissal = nil
            dismissAll()
        }
    }

    package func waitUntilLeft() async throws(CancellationError) {
        guard let deadline else { return }
        while count > 0, loop.clock.now < deadline { try await left.wait(until: deadline) }
    }

    /// Closes every reader as soon as it has the rest of a line partly written.
    package func dismissAll() {
        for connection in connections { connection.dismiss() }
    }

    /// Writes to every reader what is available and fits, and closes it.
    package func closeAll() {
        isClosed = true
        for timer in [dismissal, beatTimer] { if let timer { loop.cancel(timer) } }
        (dismissal, beatTimer) = (nil, nil)
        while let connection = connections.last { connection.finish() }
    }

    // MARK: Events

    /// Returns the events of the next lines of a span, see `EventFraming.events`.
    func events(
        of span: LineSpan, from offset: Int, _ sequence: Int, run: String, _ filter: LineFilter?
    ) -> EventFraming.Piece {
        let last = span.sequences.upperBound
        if filter == nil, let newest, newest.first == sequence, newest.last == last, newest.run == run {
            return newest.piece
        }
        let piece = EventFraming.events(of: span, from: offset, sequence, run: run, filter)
        if filter == nil { newest = (run, sequence, last, piece) }
        return piece
    }

    private func scheduleBeat() {
        guard beatTimer == nil else { return }
        beatTimer = loop.schedule(after: store.isRecording ? Self.playbackBeat : Self.beatEvery) { [weak self] in
            guard let self else { return }
            beatTimer = nil
            let streams = connections.filter { $0.form == .events }
            guard !streams.isEmpty else {
                newest = nil
                return
            }
            let next = store.assumeIsolated { $0.nextSequence }
            beat = Array("event: beat\n".utf8)
            beat += EventFraming.events(
                of: ControlLine.beat(
                    time: store.wallTime, nextSequence: next, rate: store.wallRate, playback: store.playback))
            for stream in streams { stream.oweBeat() }
            scheduleBeat()
        }
    }
}

/// The limits for readers.
package struct ReaderLimits: Sendable {
    // Bound: readers, by socket and HTTP together | 1,024 (`--max-readers`) | refused with the reason
    /// The most readers at once, of the socket and by HTTP together.
    package var readers = 1_024
    // Time in which a reader takes nothing: 60 s (`--reader-timeout`); reader closed.
    /// How long a reader may take nothing.
    package var stall = Duration.seconds(60)

    package init() {}
}

/// Counts the readers of all servers.
///
/// Unchecked: used on the loop only, as are all its callers.
package final class ReaderSeats: @unchecked Sendable {
    package fileprivate(set) var taken = 0
    /// The most readers; present ones stay even if they exceed it.
    package internal(set) var limit = ReaderLimits().readers

    package init() {}

    package var hasRoom: Bool { taken < limit }

    func acquire() { taken += 1 }
    func release() { taken -= 1 }
}
