package import Feed
package import Reactor

/// The readers of one server, and what they share: nothing is kept for an idle one but its cursor and a few flags.
///
/// Unchecked: touched on the loop only, as everything it is called by is.
package final class FeedReaders: @unchecked Sendable {
    let store: EventStore
    let desk: PollDesk
    /// Where older lines than the log's are; nil for nowhere.
    let history: HistoryDesk?
    let loop: EventLoop
    /// A reader that takes nothing for so long is closed.
    private(set) var stall: Duration
    private let seats: ReaderSeats
    /// What all read into.
    let scratch = ReadBuffer()
    private var connections: [ReaderConnection] = []
    /// Readers that have more to do, and let the others have their turn first.
    private let turns: TurnWalk<ReaderConnection>
    /// When readers are to have left, once nobody else is let in.
    private var deadline: LoopInstant?
    /// Sends slow readers away before that.
    private var dismissal: LoopTimer?
    /// Whether all were closed: there is nobody left to be sent away.
    private var isClosed = false
    /// Signalled when the last one has left.
    private let left: Wakeup
    /// The newest events that everybody wants, as they are made once for all of them: of these numbers of that run.
    private var newest: (run: String, first: Int, last: Int, piece: EventFraming.Piece)?
    /// Set while there are streams of events: it goes through all of them.
    private var beatTimer: LoopTimer?
    private(set) var beat: [UInt8] = []

    /// How long a stream of events is silent at the most, whatever its filter.
    package static let beatEvery = Duration.seconds(10)
    /// The same where a recording is played back, whose clock a person may have stand still or go faster at any time.
    private static let playbackBeat = Duration.seconds(1)
    /// How many bytes of lines a reader by HTTP gets of those that there are already, about: the log may have 4 GiB. A default
    /// log has less.
    package static let mostReplayed = 8 << 20
    /// What of the time until the end readers have for the line that they are in the middle of, if they are slow.
    private static let timeForALine = Duration.seconds(1)

    package init(
        store: EventStore, desk: PollDesk, on loop: EventLoop, limits: ReaderLimits, seats: ReaderSeats,
        history: HistoryDesk? = nil
    ) {
        self.store = store
        self.desk = desk
        self.history = history
        self.loop = loop
        self.seats = seats
        stall = limits.stall
        seats.limit = limits.readers
        left = Wakeup(loop: loop)
        turns = TurnWalk(on: loop) { $0.takeTurn() }
    }

    /// How many may read at once.
    var limit: Int { seats.limit }
    /// How many may read here, however many there are places for elsewhere.
    package var mostHere = Int.max

    package var count: Int { connections.count }

    /// Why nobody else is let in; nil when somebody is.
    package var refusal: String? {
        if seats.hasRoom, count < mostHere, !isLeaving { return nil }
        let most = min(seats.limit, mostHere)
        return isLeaving ? "the feed is about to end" : "there are \(most) readers already; try again later"
    }

    /// Other limits from now on; whoever reads already goes on, also when there are too many by now.
    package func change(to limits: ReaderLimits) {
        stall = limits.stall
        seats.limit = limits.readers
    }

    // MARK: Coming and going

    /// Greets a reader of the socket, or turns it away when there are too many already.
    func admit(_ stream: any WatchedStream) {
        guard seats.hasRoom else {
            _ = try? ControlLine.refusal(.connect, refusal ?? "", time: store.wallTime).withUnsafeBytes {
                bytes throws(SystemError) in try stream.write(bytes)
            }
            return stream.close()
        }
        add(ReaderConnection(stream, .socket, among: self)).begin()
    }

    /// Greets a reader by HTTP, whom there is room for.
    ///
    /// - Parameters:
    ///   - head: what comes before the feed.
    ///   - form: how it gets lines.
    package func admit(
        _ stream: any WatchedStream, behind head: [UInt8], as form: ReaderForm, _ terms: ReaderRequest.Terms
    ) {
        add(ReaderConnection(stream, form, among: self)).begin(behind: head, terms)
        if form == .events { scheduleBeat() }
    }

    private func add(_ connection: ReaderConnection) -> ReaderConnection {
        seats.take()
        connection.place = count
        connections.append(connection)
        return connection
    }

    /// Has a reader go on in the next turn.
    func goOnLater(_ connection: ReaderConnection) { turns.add(connection) }

    /// Forgets a reader that is closed; another one gets its place.
    func remove(_ connection: ReaderConnection) {
        seats.leave()
        defer { if connections.isEmpty { left.signal() } }
        guard let last = connections.popLast(), last !== connection else { return }
        connections[connection.place] = last
        last.place = connection.place
    }

    // MARK: The end

    /// Whether all are to leave, and nobody else is let in.
    package var isLeaving: Bool { deadline != nil }

    /// Has all leave: `waitUntilLeft` comes back once they have or `time` is over.
    ///
    /// - Parameter isOver: whether the feed is: then they get all there is and the end, and in the last second the end of the
    ///   line that they are in the middle of. Otherwise they get that at once, and no more.
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
        let timer = loop.schedule(at: deadline) { [left] in left.open() }
        defer { loop.cancel(timer) }
        while count > 0, loop.clock.now < deadline { try await left.wait() }
    }

    /// Closes every reader as soon as it has the whole of the line that it is in the middle of.
    package func dismissAll() {
        for connection in connections { connection.dismiss() }
    }

    /// Gives every reader what there is and has room, and closes it.
    package func closeAll() {
        isClosed = true
        for timer in [dismissal, beatTimer] { if let timer { loop.cancel(timer) } }
        (dismissal, beatTimer) = (nil, nil)
        while let connection = connections.last { connection.finish() }
    }

    // MARK: Events

    /// Events of the next lines of a span, see `EventFraming.events`.
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
