internal import Feed
internal import Journal
internal import Reactor

/// Chooses the next bytes for one reader: from the journal while it has older lines, then from the log.
///
/// It has no task: `next` returns `.nothing`, and `call` is called when there may be more.
///
/// Unchecked: touched on the loop only, as everything it is called by is.
final class ReaderFeed: @unchecked Sendable {
    enum Next {
        case piece(LinePiece)
        /// The last thing that this reader gets.
        case last([UInt8])
        /// Nothing to write, but there may be more at once.
        case again
        /// Nothing for now.
        case nothing

        static func bytes(_ bytes: [UInt8]) -> Next { .piece(.bytes(bytes)) }
    }

    /// A span that is being made events of.
    private struct Events {
        let span: LineSpan
        /// The run of these lines; by the time they are written there may be another one.
        let run: String
        var offset = 0
        var sequence: Int
    }

    /// Where the lines come from.
    private enum Position {
        case log
        /// The journal, which may have more of them.
        case journal(PastReading)
        case asked(JournalQueue.Ticket)
        case answered(PastReading, PastReading.Step)
    }

    /// How far the beginning of the connection is.
    private enum Greeting {
        case owed
        /// It sent a request before the feed's run was known. It gets the greeting twice: as the start of the connection,
        /// and as the answer. Further requests wait.
        case owedTwice
        case given
    }

    private let form: ReaderForm
    private let call: @Sendable () -> Void
    private let store: EventStore
    private let history: JournalQueue?
    /// Makes events for all readers of a server. Not unowned, which is counted at every use; `close` lets go of the reader.
    private let readers: FeedReaders?
    let reader: ReaderID
    /// The run that it was greeted for last.
    private var run = ""
    private var terms = ReaderRequest.Terms()
    private var filter: LineFilter? { terms.filter }
    private var position = Position.log
    /// The gap whose lines a push looks for in the journal, until that has some of them.
    private var sought: [UInt8]?
    /// The line from which on the journal had nothing when it was asked last.
    private var journalEnd: LineID?
    private var greeting = Greeting.owed
    /// The sequence number at which an answer with `until` ends, exclusive.
    private var goal: Int?
    /// Bytes of consecutive lines later than `until`; after a page of them, missing lines no longer matter, although
    /// events have times of their own.
    private var overBytes = 0
    private var isOver: Bool { overBytes >= PastReading.pageBytes }
    /// The greeting to write before the next log line, if one comes; otherwise `bye` names this older run and its last
    /// line.
    private var pending: (greeting: [UInt8], run: String, last: Int)?
    /// What follows the next `hello`.
    private var failure: [UInt8] = []
    private var events: Events?
    private var owesBeat = false

    /// Opens a cursor in the feed.
    ///
    /// - Parameters:
    ///   - terms: nil for all there is.
    ///   - call: called on the loop when there may be more.
    /// - Returns: the feed, and how the connection begins.
    static func open(
        _ form: ReaderForm, among readers: FeedReaders, _ terms: ReaderRequest.Terms?,
        call: @escaping @Sendable () -> Void
    ) -> (ReaderFeed, beginning: [UInt8]) {
        let (reader, greeting) = readers.store.assumeIsolated {
            $0.open(nil, keptAfter: terms == nil ? 0 : nil, call: call)
        }
        let feed = ReaderFeed(form, reader, readers.store, readers.history, readers, call)
        let first = terms.map { feed.move(to: $0) } ?? greeting
        feed.greeting = first.isEmpty ? feed.greeting : .given
        return (feed, feed.framed(first))
    }

    /// Opens the cursor of a push, which `move` moves to where a connection begins.
    ///
    /// - Parameter name: the output's name in `agent` lines.
    static func push(
        named name: String, of store: EventStore, _ history: JournalQueue?, call: @escaping @Sendable () -> Void
    ) -> ReaderFeed {
        let (reader, run) = store.assumeIsolated { ($0.open(name, call: call).0, $0.run) }
        let feed = ReaderFeed(.push, reader, store, history, nil, call)
        feed.run = run
        return feed
    }

    private init(
        _ form: ReaderForm, _ reader: ReaderID, _ store: EventStore, _ history: JournalQueue?, _ readers: FeedReaders?,
        _ call: @escaping @Sendable () -> Void
    ) {
        (self.form, self.reader, self.store, self.history) = (form, reader, store, history)
        (self.readers, self.call) = (readers, call)
    }

    func close() {
        events = nil
        leaveJournal()
        store.assumeIsolated { $0.close(reader) }
    }

    /// Has a beat follow the events that are being written.
    func oweBeat() { owesBeat = true }

    /// The first line that it did not get.
    var nextLine: LineID {
        if case .journal(let reading) = position, let next = reading.next { return next }
        return store.assumeIsolated { $0.nextLine(of: reader) }
    }

    /// Whether an answer to a request can be given now.
    var takesAnswers: Bool { if case .owedTwice = greeting { false } else { true } }

    /// What comes next.
    ///
    /// - Parameter room: gets less by as many bytes as were looked at.
    func next(_ room: inout Int) -> Next {
        if let next = events { return .piece(piece(of: next, &room)) }
        if owesBeat {
            owesBeat = false
            return .piece(.bytes(readers?.beat ?? []))
        }
        if case .log = position { return nextOfLog(&room) }
        return nextOfJournal(&room)
    }

    private func nextOfLog(_ room: inout Int) -> Next {
        if let goal, hasReached(goal) { return .last(framed(byeUntil(goal))) }
        switch store.assumeIsolated({ $0.dequeue(for: reader) }) {
        case .lines(let span) where form == .events:
            countLateLines(of: span)
            let run = store.assumeIsolated { $0.run }
            return .piece(piece(of: Events(span: span, run: run, sequence: span.sequences.lowerBound), &room))
        case .lines(let span):
            countLateLines(of: span)
            room -= span.count
            guard let filter else { return .piece(.span(span)) }
            return .bytes(greeted(span.withUnsafeBytes { filter.chosen(of: $0) }))
        case .gap(let line):
            guard !isOver, !seek(line) else { return .again }
            overBytes = 0
            return .bytes(greeted(framed(line)))
        case .greeting(let lines):
            let isOwedTwice = !takesAnswers
            run = store.assumeIsolated { $0.run }
            let first = framed(lines) + failure
            (greeting, pending, failure) = (.given, nil, [])
            return .bytes(isOwedTwice ? lines + first : first)
        case .ended(let lines, let run):
            self.run = run
            return .bytes(greeted(framed(lines)))
        case .kept(let lines):
            room -= lines.count
            guard let filter else { return .bytes(framed(lines)) }
            return .bytes(framed(lines.withUnsafeBytes { filter.chosen(of: $0, areKept: true) }))
        case .interrupted: return .again
        case .end(let line): return .last(framed(line))
        case nil: return .nothing
        }
    }

    /// Whether it reads the log, and its next line is this one or a later one.
    func hasReached(_ sequence: Int) -> Bool {
        if case .log = position { store.assumeIsolated { $0.hasReached(sequence, by: reader) } } else { false }
    }

    /// Looks for the lines that a gap names in the journal, for a push: its peer cannot ask for them.
    ///
    /// - Returns: false when there is no journal, or it had nothing from there on when it was asked last; and for a hole
    ///   within the log, which the journal has, too.
    private func seek(_ line: [UInt8]) -> Bool {
        guard form == .push, history != nil, let gap = Line.Gap(line[...]), journalEnd != LineID(run, gap.from),
            !store.assumeIsolated({ $0.holds(LineID(run, gap.from)) })
        else { return false }
        position = .journal(PastReading(from: .after(gap.from - 1, run: run), nil, as: form, through: gap.to))
        sought = line
        return true
    }

    /// Counts lines that are too late for who asked for some time.
    private func countLateLines(of span: LineSpan) {
        guard terms.until != nil, !isOver, let filter else { return }
        overBytes = span.withUnsafeBytes { filter.overBytes(in: $0, behind: overBytes) }
    }

    /// The next events of a span.
    private func piece(of next: Events, _ room: inout Int) -> LinePiece {
        guard let piece = readers?.events(of: next.span, from: next.offset, next.sequence, run: next.run, filter) else {
            return .bytes([])
        }
        room -= piece.length
        var next = next
        (next.offset, next.sequence) = (next.offset + piece.length, piece.next)
        events = next.offset < next.span.count ? next : nil
        return .bytes(greeted(piece.bytes))
    }

    /// Lines without a number, as this reader gets them.
    private func framed(_ lines: [UInt8]) -> [UInt8] { form == .events ? EventFraming.events(of: lines) : lines }

    /// Lines of the log, behind the greeting that they are owed.
    private func greeted(_ lines: [UInt8]) -> [UInt8] {
        guard let pending, !lines.isEmpty else { return lines }
        self.pending = nil
        return pending.greeting + lines
    }

    /// The last line for who asked for lines up to some time.
    private func byeUntil(_ goal: Int) -> [UInt8] {
        let (run, last) =
            pending.map { ($0.run, $0.last) } ?? (store.assumeIsolated { $0.run }, goal - 1)
        return ControlLine.bye(time: store.wallTime, run: run, lastSequence: last, reason: "until")
    }

    // MARK: Terms

    /// Goes on by other terms, with the `hello` and `stats` that come before, if they do not come with older lines.
    func move(to terms: ReaderRequest.Terms) -> [UInt8] {
        leaveJournal()
        self.terms = terms
        (goal, overBytes, pending, failure, sought, journalEnd) = (nil, 0, nil, [], nil, nil)
        if let reading = reading(terms) {
            position = .journal(reading)
            store.assumeIsolated { $0.sendAway(reader) }
            return []
        }
        return beginLog()
    }

    /// Reads the log by its terms, with the `hello` and `stats` that come before.
    private func beginLog() -> [UInt8] {
        let start: ReaderStart =
            switch terms.start {
            case .oldest, .time: .oldest
            case .newest: .newest
            case .after(let sequence, let run): .after(sequence, run: run)
            }
        return answering(
            store.assumeIsolated {
                if terms.until != nil { goal = $0.nextSequence }
                return $0.move(
                    reader, to: start, isFiltered: filter != nil, keptAfter: terms.keptAfter, replaying: mostReplayed)
            })
    }

    /// The greeting that answers a request; none when it comes by `dequeue`. A reader by HTTP has asked before its connection begins, and
    /// gets one only.
    private func answering(_ lines: [UInt8]) -> [UInt8] {
        if !lines.isEmpty { run = store.assumeIsolated { $0.run } }
        if lines.isEmpty, case .owed = greeting, form == .socket { greeting = .owedTwice }
        return lines
    }

    /// How many bytes of lines that there are already it gets at the most.
    private var mostReplayed: Int {
        if case .time = terms.start { return FeedReaders.mostReplayed }
        return form == .socket || form == .push ? .max : FeedReaders.mostReplayed
    }

    // MARK: The journal

    /// What is asked for that the log does not have.
    private func reading(_ terms: ReaderRequest.Terms) -> PastReading? {
        guard history != nil else { return nil }
        if let columns = terms.columns { return PastReading(from: .columns(columns), filter, as: form) }
        let start: PastReading.Start
        switch terms.start {
        case .oldest, .newest: return nil
        case .time(let from): start = .time(from, until: terms.until)
        case .after(let sequence, let run):
            let run = run ?? store.assumeIsolated { $0.run }
            let next = LineID(run, sequence.addingSaturated(1))
            if store.assumeIsolated({ $0.holds(next) }) { return nil }
            start = .after(sequence, run: run)
        }
        return PastReading(from: start, filter, as: form, atMost: mostReplayed)
    }

    private func nextOfJournal(_ room: inout Int) -> Next {
        switch position {
        case .log: return .again
        case .asked: return .nothing
        case .journal(var reading):
            guard let history else { return .nothing }
            reading.log = store.assumeIsolated { LineID($0.run, $0.firstSequence) }
            if let next = reading.next, store.assumeIsolated({ $0.holds(next) }) {
                return join(behind: reading)
            }
            position = .asked(
                history.assumeIsolated {
                    $0.ask(reading) { reading, step in
                        self.position = .answered(reading, step)
                        self.call()
                    }
                })
            return .nothing
        case .answered(let reading, .bytes(let bytes)):
            room -= bytes.count
            position = .journal(reading)
            if sought != nil, reading.end != nil {
                sought = nil
                store.assumeIsolated { $0.sendAway(self.reader) }
            }
            return bytes.isEmpty ? .again : .bytes(greetedFirst(bytes))
        case .answered(_, .last(let bytes)): return .last(bytes)
        case .answered(_, .end(let fault?)) where terms.until != nil:
            // An answer that ends is taken for all there is.
            position = .log
            return .last(
                framed(
                    ControlLine.refusal(
                        .disk, "the journal cannot be read: \(fault.reason)", time: store.wallTime)))
        case .answered(var reading, .end(let fault)):
            journalEnd = reading.next
            if let gap = sought.take() {
                position = .log
                return .bytes(gap)
            }
            let run = store.assumeIsolated { $0.run }
            let (lost, refusal) = reading.leave(because: fault, for: run, at: store.wallTime)
            return join(behind: reading, lost, framed(refusal))
        }
    }

    /// Older lines that come before it is known whose feed this is, which answer a request: their `hello` comes twice, as there was
    /// none when the connection began.
    private func greetedFirst(_ bytes: [UInt8]) -> [UInt8] {
        defer { greeting = .given }
        if case .given = greeting { return bytes }
        guard form == .socket, let hello = bytes.firstIndex(of: 0x0A),
            let stats = bytes[(hello + 1)...].firstIndex(of: 0x0A)
        else { return bytes }
        return bytes[...stats] + bytes
    }

    /// Goes on with the log behind the older lines that it has got.
    ///
    /// - Parameters:
    ///   - lost: what comes before the `hello` of that.
    ///   - failure: what comes behind it.
    private func join(behind reading: PastReading, _ lost: [UInt8] = [], _ failure: [UInt8] = []) -> Next {
        position = .log
        overBytes = reading.overBytes
        guard reading.isFound, let next = reading.next else { return goOn(behind: beginLog(), failure) }
        let (run, greeting) = store.assumeIsolated {
            if terms.until != nil { goal = $0.nextSequence }
            // Lines that neither the journal nor the log has may be kept ones.
            let keptAfter = terms.keptAfter.map { _ in reading.lastBeforeMissing ?? next.sequence - 1 }
            var asked: LineID?
            if terms.keptAfter != nil, case .after(let sequence, let run) = terms.start {
                asked = LineID(run ?? $0.run, sequence)
            }
            // What an answer ends before is not told of later runs either.
            let first = terms.until == nil || next.run == $0.run ? next : LineID($0.run, 1)
            let greeting = $0.move(
                reader, to: .at(first, asked: asked), isFiltered: filter != nil, keptAfter: keptAfter)
            return ($0.run, greeting)
        }
        if terms.until == nil || reading.end == nil {
            return goOn(behind: answering(greeting), failure, lost)
        }
        if next.run != run, !greeting.isEmpty { pending = (framed(greeting), next.run, reading.end ?? 0) }
        return .bytes(lost + failure)
    }

    /// A `hello` and `stats`, and what follows those, which may have still to come.
    private func goOn(behind lines: [UInt8], _ failure: [UInt8], _ lost: [UInt8] = []) -> Next {
        guard !lines.isEmpty else {
            self.failure = failure
            return .bytes(lost)
        }
        // It may have become known meanwhile whose feed this is.
        let isGiven = if case .given = greeting { true } else { false }
        greeting = .given
        return .bytes(lost + (isGiven || form != .socket ? [] : lines) + framed(lines) + failure)
    }

    private func leaveJournal() {
        if case .asked(let ticket) = position { history?.assumeIsolated { $0.cancel(ticket) } }
        position = .log
    }
}

extension LineFilter {
    /// The lines that are admitted, one behind the other; of `kept` lines, those whose lines are.
    fileprivate func chosen(of bytes: UnsafeRawBufferPointer, areKept: Bool = false) -> [UInt8] {
        bytes.lines { (areKept ? ControlLine.line(inKept: $0) : $0).map(admits) ?? false }
    }
}

extension UnsafeRawBufferPointer {
    /// The lines that fulfil a condition, one behind the other.
    func lines(where isWanted: (UnsafeRawBufferPointer) -> Bool) -> [UInt8] {
        var lines: [UInt8] = []
        forEachLine { line in
            guard isWanted(line) else { return }
            lines += line
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }
}
