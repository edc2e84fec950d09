package import Feed
package import Journal
package import Reactor

/// One reader's progress through a journal: page by page and run by run, until the log has the next line.
///
/// It has neither a clock nor a thread, and blocks while its `LineHistory` does.
package struct PastReading: Sendable {
    package enum Start: Sendable, Equatable {
        /// Behind the line with this number of this run.
        case after(Int, run: String)
        /// From the first line of this time or later (nil: the oldest), up to `until`, exclusive.
        case time(Timestamp?, until: Timestamp?)
        /// The newest state, then the lines behind it; all lines if there is none.
        case state
        /// The columns of a series.
        case columns(ColumnQuery)
        /// The alerts that are not ok before this run, as `kept` lines, in one step.
        case alerts(before: String)
    }

    /// The result of a step.
    package enum Step: Sendable, Equatable {
        /// The reader's next bytes: whole lines, behind a `hello` and `stats` where a run begins; may be empty.
        case bytes([UInt8])
        /// The last of the requested columns, and the answer's `bye`; the alerts.
        case last([UInt8])
        /// The journal has nothing, or nothing more, or cannot be read.
        case end(JournalFault?)
    }

    private enum Phase {
        case beginning
        /// Counts the newest lines backwards from here, until `left` bytes are used up.
        case measuring(behind: RowID?, left: Int)
        case reading
        /// The rest of the columns, and the last line's run.
        case columns(ColumnQuery, run: String)
    }

    private let start: Start
    private let filter: LineFilter?
    private let form: ReaderForm
    /// The most bytes of lines, approximately: the newest are delivered.
    private let most: Int
    private var phase = Phase.beginning
    /// Which of the history's files it reads; nil before that.
    private var file: Int?
    /// The range in the journal: lines come behind `low`, and `high` is the last requested one.
    private var low: RowID?
    private var high: RowID?
    /// The bytes of successive lines that are later than the requested time: after a page of them, the reading ends.
    package private(set) var overBytes = 0
    /// The last column, as far as it was read.
    private var column: Column?
    /// The current run, by its first line.
    private var runStart: RowID?
    /// Whether lines before the next one were dropped because of `most`.
    private var isCutOff = false
    /// The last known line of the reading's first run; a gap reports lines up to it that the journal lacks.
    private var known: Int?
    /// The log's first line: if the journal has dropped lines from there on, they are not missing.
    package var log: LineID?
    /// Whether the rest of a page was skipped, because the log has those lines; if it drops them meanwhile, the page is
    /// read again.
    private var isCut = false
    /// The last line of the current run before the first that was missing; nil while none was.
    package private(set) var lastBeforeMissing: Int?
    /// The next line; nil while unknown.
    package private(set) var next: LineID?
    /// The last sequence number that the journal had of the current run when that began; nil before.
    package private(set) var end: Int?

    /// Whether columns are read, and not lines.
    package var isOfColumns: Bool { if case .columns = start { true } else { false } }

    /// Whether the journal has the requested start.
    package var isFound: Bool { low != nil }

    // A page of the journal for a reader: 64 KiB and one line; rest on the next page.
    /// The bytes of lines read at once.
    package static let pageBytes = 64 << 10

    package init(
        from start: Start, _ filter: LineFilter?, as form: ReaderForm, atMost most: Int = .max,
        through known: Int? = nil
    ) {
        (self.start, self.filter, self.form, self.most, self.known) = (start, filter, form, most, known)
        if case .after(let sequence, let run) = start { next = LineID(run, sequence.addingSaturated(1)) }
    }

    /// Advances by at most one page.
    ///
    /// - Parameter time: the time for a `hello`.
    package mutating func advance(_ history: any LineHistory, at time: Timestamp) -> Step {
        let former = self
        let step = step(history, time)
        if let file, history.files != file {
            // `low` and `high` are row ids of the former file.
            self = former
            return .end(JournalFault(.disk, "it was replaced while it was read"))
        }
        file = history.files
        return step
    }

    private mutating func step(_ history: any LineHistory, _ time: Timestamp) -> Step {
        do throws(JournalFault) {
            switch phase {
            case .beginning: return try begin(history, time)
            case .measuring(let rowID, let left):
                try measure(history, behind: rowID, left)
                return .bytes([])
            case .reading: return try read(history, time)
            case .columns(let query, let run): return try readColumns(history, query, run, time)
            }
        } catch {
            return .end(error)
        }
    }

    private mutating func begin(_ history: any LineHistory, _ time: Timestamp) throws(JournalFault) -> Step {
        switch start {
        case .columns(let query):
            guard let page = try history.page(JournalQuery(isReversed: true), behind: nil, bytes: 1) else {
                return .end(JournalFault(.disk, "there is nothing in it yet"))
            }
            let last = page.sequences.upperBound
            phase = .columns(query, run: page.run.name)
            return .bytes(try greeting(page, first: last.addingSaturated(1), through: last, time))
        case .alerts(let run): return .last(try history.alerts(before: run))
        case .after(let sequence, let run):
            // Looks up the next line: the run may begin with it, and have no row id for the one before.
            guard let next = try history.rowID(of: sequence.addingSaturated(1), in: run) else { return .end(nil) }
            low = next - 1
        case .state:
            let state = try history.state(before: nil)
            low = state?.through
            phase = .measuring(behind: nil, left: most)
            return .bytes(state?.lines ?? [])
        case .time(let from, let until):
            var query = JournalQuery()
            (query.from, query.until) = (from, until)
            var first = try history.page(query, behind: nil, bytes: 1)?.last
            if until != nil {
                if first == nil {
                    // All requested lines may be missing: the `gap` about them came later.
                    query.until = nil
                    guard let next = try history.page(query, behind: nil, bytes: 1),
                        next.lines.withUnsafeBytes({ LineHead($0)?.sequence }) == nil
                    else { return .end(nil) }
                    (first, high) = (next.last, next.last)
                } else {
                    query.isReversed = true
                    high = try history.page(query, behind: nil, bytes: 1)?.last
                }
            }
            guard let first else { return .end(nil) }
            low = first - 1
        }
        let behind = high.map { $0.addingSaturated(1) }
        phase = most < .max ? .measuring(behind: behind, left: most) : .reading
        return .bytes([])
    }

    /// Counts a page of lines, the newest first; a page that exceeds the limit and all older ones are dropped.
    private mutating func measure(
        _ history: any LineHistory, behind rowID: RowID?, _ left: Int
    ) throws(JournalFault) {
        var query = JournalQuery()
        query.isReversed = true
        phase = .reading
        guard let page = try history.page(query, behind: rowID, bytes: Self.pageBytes) else { return }
        if let rowID, page.last >= rowID { throw Self.circle }
        var left = left
        page.lines.withUnsafeBytes { bytes in
            bytes.forEachLine { line in if filter?.admits(line) != false { left -= line.count + 1 } }
        }
        if left < 0 {
            isCutOff = true
            if let rowID { low = max(low ?? rowID, rowID - 1) }
        } else if low.map({ page.last > $0 }) ?? true {
            phase = .measuring(behind: page.last, left: left)
        }
    }

    private mutating func readColumns(
        _ history: any LineHistory, _ query: ColumnQuery, _ run: String, _ time: Timestamp
    ) throws(JournalFault) -> Step {
        let page = try history.columns(query)
        var lines: [UInt8] = []
        func add(_ column: Column?) {
            lines += column?.line(of: query.series, source: query.source, time: time) ?? []
        }
        for part in page.columns {
            if column?.start == part.start {
                column?.absorb(part)
            } else {
                add(column)
                column = part
            }
        }
        if let next = page.next {
            var query = query
            query.from = next
            phase = .columns(query, run: run)
            if lines.isEmpty {
                let index = Window.index(of: column?.start ?? next, width: query.width)
                // A column with nothing, which its own line may follow: nobody waits in silence.
                add(Column(start: Window.start(of: index, width: query.width), width: query.width))
            }
            return .bytes(framed(lines))
        }
        add(column)
        lines += ControlLine.bye(time: time, run: run, lastSequence: end ?? 0, reason: "until", oldest: page.oldest)
        return .last(framed(lines))
    }

    private mutating func read(_ history: any LineHistory, _ time: Timestamp) throws(JournalFault) -> Step {
        // Behind it, a `gap` may report missing lines up to an existing one.
        let isBehind = low.flatMap { low in high.map { low >= $0 } } ?? false
        if isBehind, overBytes >= Self.pageBytes { return .end(nil) }
        let query = JournalQuery()
        guard let page = try history.page(query, behind: low, bytes: Self.pageBytes) else { return .end(nil) }
        if let low, page.last <= low { throw Self.circle }
        if isBehind, page.run.first != runStart {
            pass(page)
            return .bytes([])
        }
        guard RunName.isValid(page.run.name) else { throw JournalFault(.corrupt, "the name of a run makes no sense") }
        var bytes: [UInt8] = []
        if page.run.first != runStart {
            let isCutOff = isCutOff
            if let next, next.run != page.run.name {
                if runStart == nil { try bytes += rest(of: next, history, time) }
                if let known { addGap(through: known, time, to: &bytes) }
                known = nil
            }
            var first = page.sequences.lowerBound
            if next?.run != page.run.name {
                if !isCutOff, let log, log.run == page.run.name { first = min(first, log.sequence) }
                next = LineID(page.run.name, first)
                lastBeforeMissing = first > 1 ? 0 : nil
            }
            runStart = page.run.first
            try bytes += greeting(page, first: first, through: last(page, history), time)
        }
        let id = EventFraming.idField(page.run.name)
        isCut = false
        page.lines.withUnsafeBytes { lines in
            lines.forEachLine { add($0, id, time, to: &bytes) }
        }
        if !isCut { pass(page) }
        return .bytes(bytes)
    }

    /// Moves behind a page.
    private mutating func pass(_ page: JournalPage) {
        low = page.last
        guard high != nil, let filter else { return }
        overBytes = page.lines.withUnsafeBytes { filter.overBytes(in: $0, behind: overBytes) }
    }

    /// Returns a gap for the rest of a run that is skipped entirely.
    private mutating func rest(
        of next: LineID, _ history: any LineHistory, _ time: Timestamp
    ) throws(JournalFault) -> [UInt8] {
        guard let page = try lastPage(of: next.run, history), page.sequences.upperBound >= next.sequence else {
            return []
        }
        var bytes = try greeting(page, first: next.sequence, through: last(page, history), time)
        addGap(through: page.sequences.upperBound, time, to: &bytes)
        return bytes
    }

    /// Returns the page with a run's last line.
    private func lastPage(of run: String, _ history: any LineHistory) throws(JournalFault) -> JournalPage? {
        guard let behind = try history.rowID(of: .max, in: run) else { return nil }
        var query = JournalQuery()
        query.isReversed = true
        let page = try history.page(query, behind: behind, bytes: 1)
        return page?.run.name == run ? page : nil
    }

    // MARK: Lines

    /// Returns the sequence number of the last line of a page's run.
    private func last(_ page: JournalPage, _ history: any LineHistory) throws(JournalFault) -> Int {
        max(page.sequences.upperBound, try lastPage(of: page.run.name, history)?.sequences.upperBound ?? 0)
    }

    /// Returns the `hello` and `stats` of a page's run for this reader.
    private mutating func greeting(
        _ page: JournalPage, first: Int, through last: Int, _ time: Timestamp
    ) throws(JournalFault) -> [UInt8] {
        end = last
        let greeting = page.run.greeting(
            page.greeting, at: time, isFiltered: filter != nil, from: first, to: last.addingSaturated(1))
        guard let greeting else { throw JournalFault(.corrupt, "the beginning of a run makes no sense") }
        return framed(greeting)
    }

    /// Lines without a number, as the reader gets them.
    private func framed(_ lines: [UInt8]) -> [UInt8] { form == .events ? EventFraming.events(of: lines) : lines }

    /// Adds a line of a page if it is new and was requested; a `gap` before it reports missing lines, which include
    /// invalid ones.
    private mutating func add(
        _ line: UnsafeRawBufferPointer, _ id: [UInt8], _ time: Timestamp, to bytes: inout [UInt8]
    ) {
        guard !isCut, line.count < LineEncoder.longestLine, let next else { return }
        guard let sequence = LineHead(line)?.sequence else {
            if let gap = Line.Gap(Bytes(line)) {
                addGap(through: gap.to, time, to: &bytes)
            }
            return
        }
        guard sequence >= next.sequence, sequence < .max,
            (try? LineHead.Decoded(line.assumingMemoryBound(to: UInt8.self))) != nil
        else { return }
        addGap(through: sequence - 1, time, to: &bytes)
        if isCut { return }
        self.next?.sequence = sequence + 1
        guard filter?.admits(line) != false, let start = line.baseAddress else { return }
        // `forEachLine` has found the newline behind the line.
        let whole = UnsafeRawBufferPointer(start: start, count: line.count + 1)
        if form == .events { EventFraming.append(whole, id, sequence, to: &bytes) } else { bytes += whole }
    }

    /// Adds a gap up to a sequence number, except for delivered lines and those that the log has.
    private mutating func addGap(through last: Int, _ time: Timestamp, to bytes: inout [UInt8]) {
        let takesFromLog = !isCutOff
        isCutOff = false
        guard let next, last >= next.sequence, last < .max else { return }
        var last = last
        if takesFromLog, let log, log.run == next.run, log.sequence <= last {
            isCut = true
            last = log.sequence - 1
            guard last >= next.sequence else { return }
        }
        bytes += gap(through: last, time)
        lastBeforeMissing = lastBeforeMissing ?? next.sequence - 1
        self.next?.sequence = last + 1
    }

    private func gap(through last: Int, _ time: Timestamp) -> [UInt8] {
        guard let next else { return [] }
        return framed(ControlLine.gap(time: time, missing: next.sequence...last, reason: "journal"))
    }

    /// Leaves the journal at its end, for the log, which reports what it lacks of its own run.
    ///
    /// - Parameters:
    ///   - fault: why the journal cannot be read; nil when it has no more.
    ///   - run: the log's run.
    /// - Returns: a gap for the missing lines of an older run, as far as known, which comes before the `hello` of the log;
    ///   and what comes behind that: a refusal, because a `gap` cannot name the lines of runs in between.
    package mutating func leave(
        because fault: JournalFault?, for run: String, at time: Timestamp
    ) -> (gap: [UInt8], refusal: [UInt8]) {
        if next?.run == run { return ([], []) }
        var gap: [UInt8] = []
        // What is later than the requested time is not missing.
        if let last = [high == nil ? end : nil, known].compactMap({ $0 }).max() {
            addGap(through: last, time, to: &gap)
        }
        guard let fault else { return (gap, []) }
        let text = "the journal cannot be read: \(fault.reason); more may be missing than a gap tells"
        return (gap, ControlLine.refusal(.disk, text, time: time))
    }

    private static let circle = JournalFault(.corrupt, "the lines have no order")
}
