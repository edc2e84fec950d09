internal import Feed
internal import Reactor

/// The form in which a reader gets the feed.
package enum ReaderForm: Sendable {
    /// Lines, and the reader may send requests as lines: a reader of the socket.
    case socket
    /// Lines only.
    case lines
    /// Server-Sent Events, with beats in between.
    case events
    /// Lines for a program that cannot ask for what it has missed.
    case push
}

/// One reader: writes the feed by its terms, and reads its requests, if any. It has no task and never waits: it is
/// called when its stream is ready, when there are more lines, and when a timer fires.
///
/// Unchecked: used on the loop only, as are all its callers.
final class ReaderConnection: @unchecked Sendable {
    /// What the reader is owed besides lines.
    private enum Answer {
        case terms(ReaderRequest.Terms)
        case refusal(Failure)
        /// The last answer, after which the reader is closed.
        case lastRefusal(Failure)
    }

    private enum Stage {
        case open
        /// It gets the rest, and is not heard any more.
        case ending
        case closed
    }

    let form: ReaderForm
    private let stream: any WatchedStream
    /// Not unowned, which costs reference counting at every use; `close` removes this reader from there.
    private let readers: FeedReaders
    /// The index in `readers`.
    var index = 0
    private var feed: ReaderFeed?
    private var stage = Stage.open
    /// The lines being written.
    private var outgoing: LinePiece?
    /// How much of it has been.
    private var written = 0
    /// Whether `outgoing` is the last data for this reader.
    private var isLast = false
    /// Set while the stream has no room.
    private var stallTimer: LoopTimer?
    /// Answers that wait until `outgoing` is written.
    private var answers: [Answer] = []
    private var splitter = LineSplitter(limit: ReaderRequest.longest)
    /// Whether there may be more to read, and whether the bytes read may hold more lines.
    private var isReadable = true
    private var holdsLines = false
    private var hasTurn = false

    // Bound: unread answers to a reader of the socket | 16, and those to 16 KiB of requests already read | no requests
    //   read
    private static let mostAnswers = 16
    // Work for one reader in a turn of the loop: 16 KiB and the rest of its chunk; 16 requests; goes on in the next
    // turn.
    private static let mostBytes = 16 << 10
    private static let mostRequests = 16

    init(_ stream: any WatchedStream, _ form: ReaderForm, among readers: FeedReaders) {
        self.stream = stream
        self.form = form
        self.readers = readers
    }

    /// Greets the reader, and serves it until it leaves, stalls, or the feed ends.
    ///
    /// - Parameters:
    ///   - head: the bytes before the feed.
    ///   - terms: nil for all lines.
    func begin(behind head: [UInt8] = [], _ terms: ReaderRequest.Terms? = nil) {
        let (feed, beginning) = ReaderFeed.open(form, among: readers, terms) { self.goOn() }
        self.feed = feed
        outgoing = .bytes(head + (form == .events ? EventFraming.opening : []) + beginning)
        stream.whenReady { [unowned self] in ready($0) }
        goOn()
    }

    private func ready(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.error, .hangUp]) {
            // Reads requests from before the reader left.
            isReadable = true
            read()
            return close()
        }
        if !readiness.isDisjoint(with: [.read, .readHangUp]) { isReadable = true }
        goOn()
    }

    /// Does what is possible now: reads requests, and writes what is available and fits.
    private func goOn() {
        guard stage != .closed, !hasTurn else { return }
        read()
        write()
        let hasMore = isReadable || holdsLines
        if stage == .open, hasMore, answers.count < Self.mostAnswers { goOnLater() }
    }

    /// Continues in this reader's turn.
    func runTurn() {
        hasTurn = false
        goOn()
    }

    /// Writes what is available and fits, including the end of the feed, and closes.
    func finish() {
        write(atMost: .max)
        close()
    }

    /// Closes the reader after the rest of a line partly written; at once, if there is none.
    func dismiss() {
        guard stage != .closed else { return }
        let rest = restOfLine
        guard !rest.isEmpty else { return close() }
        stage = .ending
        outgoing = .bytes(rest)
        written = 0
        isLast = true
        goOn()
    }

    /// Adds a beat after `outgoing`.
    func oweBeat() {
        feed?.oweBeat()
        goOnLater()
    }

    /// The rest of a line that is partly written.
    private var restOfLine: [UInt8] {
        guard let outgoing, written > 0 else { return [] }
        return outgoing.withUnsafeBytes { bytes in
            if form == .events { return EventFraming.rest(of: bytes, from: written) }
            guard bytes[written - 1] != 0x0A else { return [] }
            return Array(bytes[written...].prefix { $0 != 0x0A }) + [0x0A]
        }
    }

    private func goOnLater() {
        guard !hasTurn, stage != .closed else { return }
        hasTurn = true
        readers.goOnLater(self)
    }

    func close() {
        guard stage != .closed else { return }
        stage = .closed
        outgoing = nil
        if let stallTimer { readers.loop.cancel(stallTimer) }
        stallTimer = nil
        stream.close()
        feed?.close()
        feed = nil
        readers.remove(self)
    }

    // MARK: Writing

    private func write(atMost most: Int = mostBytes) {
        // It may have left while it was read from.
        guard let feed, stage != .closed else { return }
        var room = most
        while flush() {
            if isLast { return close() }
            if !answers.isEmpty, feed.takesAnswers {
                give(answers.removeFirst(), feed)
                continue
            }
            if room <= 0 { return goOnLater() }
            switch feed.next(&room) {
            case .piece(let piece): outgoing = piece
            case .last(let bytes):
                outgoing = .bytes(bytes)
                isLast = true
            case .again: break
            case .nothing: return
            }
        }
    }

    /// Writes what is left of `outgoing`.
    ///
    /// - Returns: whether all is written; if not, the stream calls when there is room, unless it is broken.
    private func flush() -> Bool {
        guard let outgoing else { return true }
        let taken: Int
        do {
            taken = try outgoing.withUnsafeBytes { bytes throws(SystemError) in
                try stream.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
        } catch {
            close()
            return false
        }
        written += taken
        // A reader that accepts a little is not stalled.
        if let stallTimer, taken > 0 {
            readers.loop.cancel(stallTimer)
            self.stallTimer = nil
        }
        guard written < outgoing.count else {
            self.outgoing = nil
            written = 0
            return true
        }
        if stallTimer == nil {
            stallTimer = readers.loop.schedule(after: readers.stall) { [unowned self] in giveUp() }
        }
        return false
    }

    private func giveUp() {
        close()
        readers.store.assumeIsolated { $0.countStalledReader() }
    }

    private func give(_ answer: Answer, _ feed: ReaderFeed) {
        switch answer {
        case .terms(let terms): outgoing = .bytes(feed.move(to: terms))
        case .refusal(let failure), .lastRefusal(let failure):
            outgoing = .bytes(ControlLine.refusal(failure.code, failure.message, time: readers.store.wallTime))
            if case .lastRefusal = answer { isLast = true }
        }
    }

    // MARK: Reading

    /// Reads once, and handles as many of the requests as fit into one turn.
    private func read() {
        guard stage == .open, answers.count < Self.mostAnswers else { return }
        if isReadable, !holdsLines { receive() }
        var requests = 0
        while holdsLines, requests < Self.mostRequests {
            requests += 1
            switch splitter.next() {
            case .line(let line): heed(line)
            case .tooLong: return refuse()
            case nil: holdsLines = false
            }
        }
        // Decided by the length so far: the line may never end.
        if !holdsLines, splitter.isSkipping { refuse() }
    }

    private func receive() {
        do throws(SystemError) {
            guard let count = try stream.read(into: readers.scratch.memory) else {
                isReadable = false
                return
            }
            // An HTTP reader sends nothing more; the end of its input means that it has left.
            guard form == .socket else {
                if count == 0 { close() }
                return
            }
            if count > 0 {
                splitter.push(Bytes(readers.scratch.memory[..<count]))
            } else {
                // The reader stops sending but may continue reading: `nc -N`, or `echo … | nc -U …`. Its last request
                // needs no newline.
                isReadable = false
                splitter.push([0x0A])
            }
            holdsLines = true
        } catch {
            close()
        }
    }

    private func heed(_ line: Bytes) {
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { return }
        do throws(Failure) {
            switch try ReaderRequest.parse(line) {
            case .terms(let terms):
                if let refusal = readers.refusal(of: terms) { throw refusal }
                answers.append(.terms(terms))
            case .poll(let source, let request):
                if let refusal = readers.polls.assumeIsolated({ $0.requestPoll(of: source, request) }) {
                    throw Failure(.protocol, refusal.reason)
                }
            case .forget(let agent):
                if let refusal = readers.store.assumeIsolated({ $0.forget(agent) }) {
                    throw Failure(.protocol, refusal.reason)
                }
            }
        } catch {
            answers.append(.refusal(error))
        }
    }

    /// Refuses a request that is too long, and closes.
    private func refuse() {
        if stage == .open { stage = .ending }
        answers.append(
            .lastRefusal(Failure(.lineTooLong, "a request has \(ReaderRequest.longest) bytes at the most")))
    }
}
