internal import Feed
internal import Journal
internal import Reactor

/// How a reader gets the feed.
package enum ReaderForm: Sendable {
    /// Line by line, and it may ask for something by lines of its own: a reader of the socket.
    case socket
    /// Line by line.
    case lines
    /// As Server-Sent Events, with a beat now and then.
    case events
}

/// One reader: writes it the feed by its terms, and reads its requests, if it has any. It has no task and waits for nothing: it is
/// called when its stream is ready, when there are more lines, and when its time is up.
///
/// Unchecked: touched on the loop only, as everything it is called by is.
final class ReaderConnection: @unchecked Sendable {
    /// What is being written.
    private enum Outgoing {
        case nothing
        case lines(LineSpan)
        case bytes([UInt8])
    }

    /// A span that is being made events of.
    private struct Events {
        let span: LineSpan
        /// Whose lines these are; by the time they are written there may be another one.
        let run: String
        var offset = 0
        var sequence: Int
    }

    /// What the reader is owed besides lines.
    private enum Answer {
        case terms(ReaderRequest.Terms)
        case refusal(Failure)
        /// The last thing this reader gets.
        case lastRefusal(Failure)
    }

    /// Where it is with lines that are older than the log's.
    private enum Past {
        /// There may be more of them.
        case open(PastReading)
        case asked(HistoryDesk.Ticket)
        case answered(PastReading, Result<PastReading.Step, JournalFault>)
    }

    let form: ReaderForm
    private let stream: any WatchedStream
    /// Not unowned, which is counted at every use; `close` takes this one out of there.
    private let readers: FeedReaders
    /// Where `readers` has it.
    var place = 0
    private var reader: ReaderID?
    private var terms = ReaderRequest.Terms()
    private var filter: LineFilter? { terms.filter }
    /// Nil for one that reads the log.
    private var past: Past?
    /// The number of the line before which it ends, and whose `bye` that is if nothing comes of the run that is now.
    private var goal: Int?
    /// How many bytes of lines it has come to, one behind the other, that are later than all that it asked for.
    private var overBytes = 0
    /// Whether it misses nothing any more: events have times of their own, and one that is later says nothing of what follows.
    private var isOver: Bool { overBytes >= PastReading.pageBytes }
    private var pastRun: (name: String, last: Int)?
    /// What comes before the next line of the log, if one comes.
    private var owedGreeting: [UInt8] = []
    /// Whether its connection has begun with a `hello`.
    private var isGreeted = false
    /// Whether it has asked before that, as it is not known yet whose feed this is: then the answer follows it. Further
    /// requests wait.
    private var owesAnswer = false
    /// What follows the next `hello`.
    private var owedFailure: [UInt8] = []
    private var outgoing = Outgoing.nothing
    /// What follows it.
    private var events: Events?
    private var owesBeat = false
    /// How much of it has been.
    private var written = 0
    /// Whether it is the last thing this reader gets.
    private var isLast = false
    /// Set while the stream has no room.
    private var stallTimer: LoopTimer?
    /// Requests that wait for what is being written.
    private var answers: [Answer] = []
    private var splitter = LineSplitter(limit: ReaderRequest.longest)
    /// Whether there may be something to read, and whether what was read may hold more lines.
    private var isReadable = true
    private var holdsLines = false
    /// Whether nothing is read any more.
    private var isDeaf = false
    private var hasTurn = false
    private var isClosed = false

    /// A reader that asks faster than it reads is not read from meanwhile.
    private static let mostAnswers = 16
    /// After so many bytes or requests at once, a reader lets the others have their turn.
    private static let mostBytes = 16 << 10
    private static let mostRequests = 16

    init(_ stream: any WatchedStream, _ form: ReaderForm, among readers: FeedReaders) {
        self.stream = stream
        self.form = form
        self.readers = readers
    }

    /// Greets the reader; it is served until it leaves, stalls, or the feed ends.
    ///
    /// - Parameters:
    ///   - head: what comes before the feed.
    ///   - terms: nil for all there is.
    func begin(behind head: [UInt8] = [], _ terms: ReaderRequest.Terms? = nil) {
        let (reader, greeting) = readers.store.assumeIsolated { $0.open(nil) { self.goOn() } }
        self.reader = reader
        let first = terms.map { move(reader, to: $0) } ?? greeting
        isGreeted = !first.isEmpty
        outgoing = .bytes(head + (form == .events ? EventFraming.opening : []) + framed(first))
        stream.whenReady { [unowned self] in ready($0) }
        goOn()
    }

    private func ready(_ readiness: Readiness) {
        if !readiness.isDisjoint(with: [.error, .hangUp]) {
            // What it said before it left is heard.
            isReadable = true
            read()
            return close()
        }
        if !readiness.isDisjoint(with: [.read, .readHangUp]) { isReadable = true }
        goOn()
    }

    /// Does what can be done now: reads requests, and writes as much as there is, and room for.
    private func goOn() {
        guard !isClosed, !hasTurn else { return }
        read()
        write()
        let hasMore = isReadable || holdsLines
        if !isDeaf, hasMore, answers.count < Self.mostAnswers { goOnLater() }
    }

    /// Goes on, as its turn has come.
    func takeTurn() {
        hasTurn = false
        goOn()
    }

    /// Gives the reader what there is and has room, the end of the feed too, and closes.
    func finish() {
        write(atMost: .max)
        close()
    }

    /// Gives the reader the rest of the line that it is in the middle of, and closes: now, if there is none.
    func dismiss() {
        guard !isClosed else { return }
        let rest = restOfLine
        guard !rest.isEmpty else { return close() }
        isDeaf = true
        answers = []
        outgoing = .bytes(rest)
        events = nil
        written = 0
        isLast = true
        goOn()
    }

    /// Has a beat follow what is being written.
    func oweBeat() {
        owesBeat = true
        goOnLater()
    }

    /// What is missing of a line of which a part was written.
    private var restOfLine: [UInt8] {
        func rest(of bytes: UnsafeRawBufferPointer) -> [UInt8] {
            guard written > 0 else { return [] }
            if form == .events { return EventFraming.rest(of: bytes, from: written) }
            guard bytes[written - 1] != 0x0A else { return [] }
            let rest = bytes[written...]
            return Array(rest.prefix { $0 != 0x0A }) + [0x0A]
        }
        switch outgoing {
        case .nothing: return []
        case .lines(let span): return span.withUnsafeBytes { rest(of: $0) }
        case .bytes(let bytes): return bytes.withUnsafeBytes { rest(of: $0) }
        }
    }

    private func goOnLater() {
        guard !hasTurn, !isClosed else { return }
        hasTurn = true
        readers.goOnLater(self)
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        outgoing = .nothing
        events = nil
        leavePast()
        if let stallTimer { readers.loop.cancel(stallTimer) }
        stallTimer = nil
        stream.close()
        if let reader { readers.store.assumeIsolated { $0.close(reader) } }
        readers.remove(self)
    }

    // MARK: Writing

    private func write(atMost most: Int = mostBytes) {
        // It may have left while it was read from.
        guard let reader, !isClosed else { return }
        var room = most
        while flush() {
            if isLast { return close() }
            if !answers.isEmpty, !owesAnswer {
                give(answers.removeFirst(), to: reader)
                continue
            }
            if room <= 0 { return goOnLater() }
            if let next = events {
                give(next, &room)
                continue
            }
            if owesBeat {
                owesBeat = false
                outgoing = .bytes(readers.beat)
                continue
            }
            if let past {
                guard goOn(past, reader, &room) else { return }
                continue
            }
            if let goal, readers.store.assumeIsolated({ $0.place(of: reader) }) >= goal {
                outgoing = .bytes(framed(byeUntil(goal)))
                isLast = true
                continue
            }
            switch readers.store.assumeIsolated({ $0.take(for: reader) }) {
            case .lines(let span) where form == .events:
                noteTime(of: span)
                let run = readers.store.assumeIsolated { $0.run }
                give(Events(span: span, run: run, sequence: span.sequences.lowerBound), &room)
            case .lines(let span):
                noteTime(of: span)
                room -= span.count
                outgoing = filter.map { .bytes(greeted($0.chosen(of: span))) } ?? .lines(span)
            case .gap(let line):
                guard !isOver else { continue }
                overBytes = 0
                outgoing = .bytes(greeted(framed(line)))
            case .greeting(let line): greet(line)
            case .interrupted: break
            case .end(let line):
                outgoing = .bytes(framed(line))
                isLast = true
            case nil: return
            }
        }
    }

    /// Counts lines that are too late for who asked for some time.
    private func noteTime(of span: LineSpan) {
        guard terms.until != nil, !isOver, let filter else { return }
        overBytes = span.withUnsafeBytes { filter.overBytes(in: $0, behind: overBytes) }
    }

    /// Has a `hello` and `stats` written, by themselves and as answers to what was asked before.
    private func greet(_ lines: [UInt8]) {
        outgoing = .bytes((owesAnswer ? lines : []) + framed(lines) + owedFailure)
        (isGreeted, owesAnswer, owedGreeting, owedFailure) = (true, false, [], [])
    }

    /// Has the next events of a span written.
    private func give(_ next: Events, _ room: inout Int) {
        let piece = readers.events(of: next.span, from: next.offset, next.sequence, run: next.run, filter)
        room -= piece.length
        outgoing = .bytes(greeted(piece.bytes))
        var next = next
        (next.offset, next.sequence) = (next.offset + piece.length, piece.next)
        events = next.offset < next.span.count ? next : nil
    }

    /// Lines without a number, as this reader gets them.
    private func framed(_ lines: [UInt8]) -> [UInt8] { form == .events ? EventFraming.events(of: lines) : lines }

    /// Writes what is left of `outgoing`.
    ///
    /// - Returns: whether that was all of it; if not, the stream calls when there is room, unless it is broken.
    private func flush() -> Bool {
        let count: Int
        let taken: Int
        do {
            switch outgoing {
            case .nothing: return true
            case .lines(let span):
                count = span.count
                taken = try span.write(from: written, to: stream)
            case .bytes(let bytes):
                count = bytes.count
                taken = try bytes.withUnsafeBytes {
                    try stream.write(UnsafeRawBufferPointer(rebasing: $0[written...]))
                }
            }
        } catch {
            close()
            return false
        }
        written += taken
        // One that takes a little is not stalled.
        if let stallTimer, taken > 0 {
            readers.loop.cancel(stallTimer)
            self.stallTimer = nil
        }
        guard written < count else {
            outgoing = .nothing
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
        readers.store.assumeIsolated { $0.noteStalledReader() }
    }

    private func give(_ answer: Answer, to reader: ReaderID) {
        switch answer {
        case .terms(let terms): outgoing = .bytes(move(reader, to: terms))
        case .refusal(let failure), .lastRefusal(let failure):
            outgoing = .bytes(ControlLine.refusal(failure.code, failure.message, time: readers.store.wallTime))
            if case .lastRefusal = answer { isLast = true }
        }
    }

    /// Goes on by other terms, with the `hello` and `stats` that come before, if they do not come with older lines.
    private func move(_ reader: ReaderID, to terms: ReaderRequest.Terms) -> [UInt8] {
        leavePast()
        self.terms = terms
        (goal, overBytes, pastRun, owedGreeting, owedFailure) = (nil, 0, nil, [], [])
        if let reading = reading(terms) {
            past = .open(reading)
            readers.store.assumeIsolated { $0.sendAway(reader) }
            return []
        }
        return begin(reader)
    }

    /// Reads the log by its terms, with the `hello` and `stats` that come before.
    private func begin(_ reader: ReaderID) -> [UInt8] {
        let start: ReaderStart
        var run: String?
        switch terms.start {
        case .oldest, .time: start = .oldest
        case .newest: start = .newest
        case .after(let sequence, let wanted): (start, run) = (.after(sequence), wanted)
        }
        return answering(
            readers.store.assumeIsolated {
                if terms.until != nil { goal = $0.nextSequence }
                return $0.move(reader, to: start, of: run, isFiltered: filter != nil, replaying: mostReplayed)
            })
    }

    /// The greeting that answers a request; none when it comes by `take`. Who asked by HTTP gets no other before.
    private func answering(_ greeting: [UInt8]) -> [UInt8] {
        if greeting.isEmpty, !isGreeted, form == .socket { owesAnswer = true }
        return greeting
    }

    /// How many bytes of lines that there are already it gets at the most.
    private var mostReplayed: Int {
        if case .time = terms.start { return FeedReaders.mostReplayed }
        return form == .socket ? .max : FeedReaders.mostReplayed
    }

    // MARK: Older lines

    /// What is asked for that the log does not have.
    private func reading(_ terms: ReaderRequest.Terms) -> PastReading? {
        guard readers.history != nil else { return nil }
        let start: PastReading.Start
        switch terms.start {
        case .oldest, .newest: return nil
        case .time(let from): start = .time(from, until: terms.until)
        case .after(let sequence, let run):
            let run = run ?? readers.store.assumeIsolated { $0.run }
            let place = LineID(run, sequence.addingSaturated(1))
            if readers.store.assumeIsolated({ $0.holds(place) }) { return nil }
            start = .after(sequence, run: run)
        }
        return PastReading(from: start, filter, as: form == .events ? .events : .lines, atMost: mostReplayed)
    }

    /// Goes on with older lines.
    ///
    /// - Returns: false when it waits for them.
    private func goOn(_ past: Past, _ reader: ReaderID, _ room: inout Int) -> Bool {
        switch past {
        case .asked: return false
        case .open(var reading):
            guard let history = readers.history else { return false }
            reading.log = readers.store.assumeIsolated { LineID($0.run, $0.firstSequence) }
            if let place = reading.place, readers.store.assumeIsolated({ $0.holds(place) }) {
                join(reader, behind: reading)
                return true
            }
            self.past = .asked(
                history.assumeIsolated {
                    $0.ask(reading) { reading, result in
                        self.past = .answered(reading, result)
                        self.goOn()
                    }
                })
            return false
        case .answered(let reading, .success(.bytes(let bytes))):
            room -= bytes.count
            if !bytes.isEmpty { outgoing = .bytes(greetedFirst(bytes)) }
            self.past = .open(reading)
        case .answered(let reading, .success(.end)): join(reader, behind: reading)
        case .answered(_, .failure(let fault)) where terms.until != nil:
            // An answer that ends is taken for all there is.
            self.past = nil
            let refusal = ControlLine.refusal(
                .disk, "the journal cannot be read: \(fault.reason)", time: readers.store.wallTime)
            outgoing = .bytes(framed(refusal))
            isLast = true
        case .answered(var reading, .failure(let fault)):
            var (lost, failure): ([UInt8], [UInt8]) = ([], [])
            // Of the run that is now the log has the rest, and tells what it has not.
            if reading.place?.run != readers.store.assumeIsolated({ $0.run }) {
                lost = reading.giveUp(at: readers.store.wallTime)
                failure = framed(PastReading.refusal(fault, at: readers.store.wallTime))
            }
            join(reader, behind: reading, lost, failure)
        }
        return true
    }

    /// Older lines that come before it is known whose feed this is, which answer a request: their `hello` comes twice, as there was
    /// none when the connection began.
    private func greetedFirst(_ bytes: [UInt8]) -> [UInt8] {
        defer { isGreeted = true }
        guard !isGreeted, form == .socket, let hello = bytes.firstIndex(of: 0x0A),
            let stats = bytes[(hello + 1)...].firstIndex(of: 0x0A)
        else { return bytes }
        return bytes[...stats] + bytes
    }

    /// Goes on with the log behind the older lines that it has got.
    ///
    /// - Parameters:
    ///   - lost: what comes before the `hello` of that.
    ///   - failure: what comes behind it.
    private func join(
        _ reader: ReaderID, behind reading: PastReading, _ lost: [UInt8] = [], _ failure: [UInt8] = []
    ) {
        past = nil
        overBytes = reading.overBytes
        guard reading.isFound, let place = reading.place else { return goOn(behind: begin(reader), failure) }
        let (run, greeting) = readers.store.assumeIsolated {
            if terms.until != nil { goal = $0.nextSequence }
            return ($0.run, $0.join(reader, at: place, isFiltered: filter != nil))
        }
        if terms.until == nil || reading.end == nil {
            return goOn(behind: answering(greeting), failure, lost)
        }
        outgoing = .bytes(lost + failure)
        if place.run != run {
            owedGreeting = framed(greeting)
            pastRun = (place.run, reading.end ?? 0)
        }
    }

    /// Has a `hello` and `stats` written, and what follows those, which may have still to come.
    private func goOn(behind greeting: [UInt8], _ failure: [UInt8], _ lost: [UInt8] = []) {
        guard !greeting.isEmpty else {
            owedFailure = failure
            outgoing = .bytes(lost)
            return
        }
        // It may have become known meanwhile whose feed this is.
        outgoing = .bytes(lost + (isGreeted || form != .socket ? [] : greeting) + framed(greeting) + failure)
        isGreeted = true
    }

    private func leavePast() {
        if case .asked(let ticket) = past { readers.history?.assumeIsolated { $0.cancel(ticket) } }
        past = nil
    }

    /// Lines of the log, behind the greeting that they are owed.
    private func greeted(_ lines: [UInt8]) -> [UInt8] {
        guard !owedGreeting.isEmpty, !lines.isEmpty else { return lines }
        defer { owedGreeting = [] }
        return owedGreeting + lines
    }

    /// The last line for who asked for lines up to some time.
    private func byeUntil(_ goal: Int) -> [UInt8] {
        var (run, last) = (readers.store.assumeIsolated { $0.run }, goal - 1)
        if let pastRun, !owedGreeting.isEmpty { (run, last) = pastRun }
        return ControlLine.bye(time: readers.store.wallTime, run: run, lastSequence: last, reason: "until")
    }

    // MARK: Reading

    /// Reads once, and as many requests of what was read as one turn is for.
    private func read() {
        guard !isDeaf, answers.count < Self.mostAnswers else { return }
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
        // Not its end, which may never come, but its length decides.
        if !holdsLines, splitter.isSkipping { refuse() }
    }

    private func receive() {
        do throws(SystemError) {
            guard let count = try stream.read(into: readers.scratch.memory) else {
                isReadable = false
                return
            }
            // Who asked by HTTP has said all there was to say, and goes by saying so.
            guard form == .socket else {
                if count == 0 { close() }
                return
            }
            if count > 0 {
                splitter.push(Bytes(readers.scratch.memory[..<count]))
            } else {
                // It says no more, but may go on reading: `nc -N`, or `echo … | nc -U …`. What it said last needs no newline.
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
            case .terms(let terms): answers.append(.terms(terms))
            case .poll(let source, let request):
                if let refusal = readers.desk.assumeIsolated({ $0.requestPoll(of: source, request) }) {
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

    /// Says why, and closes.
    private func refuse() {
        isDeaf = true
        answers.append(
            .lastRefusal(Failure(.lineTooLong, "a request has \(ReaderRequest.longest) bytes at the most")))
    }
}

extension LineFilter {
    /// The lines that are admitted, one behind the other.
    fileprivate func chosen(of span: LineSpan) -> [UInt8] {
        span.withUnsafeBytes { bytes in
            var chosen: [UInt8] = []
            bytes.forEachLine { line in
                guard admits(line) else { return }
                chosen += line
                chosen.append(UInt8(ascii: "\n"))
            }
            return chosen
        }
    }
}
