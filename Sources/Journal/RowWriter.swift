internal import Feed
internal import Reactor

/// Writes the feed into a journal's tables, within the transactions of its owner.
///
/// A copy from before a transaction restores the state of that time.
struct RowWriter {
    /// The time between marks, which record when a line was written.
    private static let markPeriod = Duration.seconds(60)
    /// How far row ids may jump within a run: hostile numbers must not use them all up.
    private static let mostSkipped: Int64 = 1 << 32

    private let database: SQLiteDatabase
    private let insertLine: SQLiteStatement
    private let insertMark: SQLiteStatement
    private let insertGreeting: SQLiteStatement
    private let insertState: SQLiteStatement
    private let insertAlert: SQLiteStatement
    private let deleteAlert: SQLiteStatement
    /// The run of the current lines; nil before the first.
    private(set) var run: JournalRun?
    /// The greatest row id in the journal; 0 before the first.
    private var newest: RowID
    /// The sequence number up to which the run's lines are stored or named by a `gap`.
    private var lastKnown = 0
    /// The last greeting, until its first line comes.
    private var greeting: Greeting?
    private var lastMark: Timestamp?
    private let positions: JournalPositions

    private struct Greeting {
        var run: String
        var firstSequence: Int
        /// `hello` and `stats`.
        var lines: [UInt8]

        init?(_ lines: [UInt8]) {
            guard let first = lines.split(separator: 0x0A, maxSplits: 1).first,
                let line = try? LineDecoder.decode(first), case .hello(let hello) = line.body
            else { return nil }
            (run, firstSequence, self.lines) = (hello.run, max(1, hello.firstSeq), lines)
        }
    }

    init(_ database: SQLiteDatabase) throws(JournalFault) {
        self.database = database
        insertLine = try database.prepare("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?)")
        insertMark = try database.prepare("INSERT INTO marks VALUES (?, ?)")
        insertGreeting = try database.prepare("INSERT OR REPLACE INTO greetings VALUES (?, ?)")
        // A state takes at most a quarter of the bytes of the lines behind the one before it, at 100 bytes a line.
        insertState = try database.prepare(
            """
            INSERT OR REPLACE INTO states SELECT ?1, ?2
            WHERE (?1 - coalesce((SELECT max(id) FROM states), 0)) * 25 >= length(?2)
            """)
        insertAlert = try database.prepare("INSERT OR REPLACE INTO alerts VALUES (?, ?, ?, ?)")
        deleteAlert = try database.prepare("DELETE FROM alerts WHERE condition = ? AND about = ?")
        positions = JournalPositions(database)
        // Deleted lines had row ids as well.
        newest =
            try database.integer(
                """
                SELECT max(id) FROM (SELECT max(id) AS id FROM lines UNION ALL SELECT max(id) FROM marks
                UNION ALL SELECT max(id) FROM greetings UNION ALL SELECT max(max(run, base + gone)) FROM runs)
                """) ?? 0
        guard newest >= 0 else { throw JournalFault(.corrupt, "it has a line that cannot be") }
    }

    mutating func write(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
        for piece in pieces { try write(piece, at: time) }
    }

    private mutating func write(_ piece: JournalPiece, at time: Timestamp) throws(JournalFault) {
        switch piece {
        case .greeting(let lines):
            // Written with its first line, so that a feed that only sends greetings takes no room.
            greeting = Greeting(lines) ?? greeting
        case .lines(let span):
            var sequence = span.sequences.lowerBound
            try span.withUnsafeBytes { bytes throws(JournalFault) in
                try bytes.forEachLine { line throws(JournalFault) in
                    try write(line, sequence...sequence, at: time)
                    sequence = sequence.addingSaturated(1)
                }
            }
        case .state(let lines):
            insertState.bind(1, newest)
            insertState.bind(2, String(decoding: lines, as: UTF8.self))
            try insertState.run()
        case .positions(let new): try positions.write(new)
        case .gap(let missing, let line):
            try write(gap: line, missing, at: time)
        case .end(let line):
            // The run may have been greeted again before this line, or another one may have begun since.
            guard let bye = try? LineDecoder.decode(line[...]), case .bye(let said) = bye.body,
                let name = said.run, let run = try database.run(named: name)
            else { return }
            try database.execute("UPDATE runs SET ended = ?2 WHERE run = ?1", run.first, said.reason ?? "")
        }
    }

    private mutating func write(
        gap line: [UInt8], _ missing: ClosedRange<Int>, at time: Timestamp
    ) throws(JournalFault) {
        try line.span.bytes.withUnsafeBytes { bytes throws(JournalFault) in
            let end = bytes.last == 0x0A ? bytes.count - 1 : bytes.count
            try write(UnsafeRawBufferPointer(rebasing: bytes[..<end]), missing, at: time)
        }
    }

    /// Writes a line, or the `gap` about some, unless the journal has these numbers.
    @inline(__always)
    private mutating func write(
        _ line: UnsafeRawBufferPointer, _ sequences: ClosedRange<Int>, at time: Timestamp
    ) throws(JournalFault) {
        if greeting != nil || run == nil { try begin(at: sequences.lowerBound, at: time) }
        guard sequences.upperBound > lastKnown else { return }
        let id = try rowID(of: sequences.lowerBound, at: time)
        let sinceMark: Duration? = lastMark.map { time - $0 }
        if sinceMark.map({ $0 >= Self.markPeriod || $0 < .zero }) ?? true {
            insertMark.bind(1, id)
            insertMark.bind(2, time.microseconds)
            try insertMark.run()
            lastMark = time
        }
        try insert(line, id, at: time)
        (newest, lastKnown) = (id, sequences.upperBound)
    }

    private func insert(_ line: UnsafeRawBufferPointer, _ id: RowID, at time: Timestamp) throws(JournalFault) {
        defer { insertLine.reset() }
        insertLine.bind(1, id)
        if let event = LineHead(line)?.event {
            insertLine.bind(2, event.time.microseconds)
            insertLine.bind(3, event.type)
            insertLine.bind(4, event.source)
            insertLine.bind(5, event.series)
            insertLine.bind(6, event.value)
        } else if let head = try? LineHead.Decoded(line.bindMemory(to: UInt8.self)) {
            if head.type == "alert" { try record(alert: Bytes(line)) }
            insertLine.bind(2, head.time.microseconds)
            insertLine.bind(3, head.type)
            insertLine.bind(4, head.source)
            insertLine.bind(5, head.series)
            insertLine.bind(6, head.value)
        } else {
            // An unreadable line is kept all the same, under the time when it came.
            insertLine.bind(2, time.microseconds)
            insertLine.bind(3, "?")
            for index: Int32 in 4...5 { insertLine.bind(index, nil as String?) }
            insertLine.bind(6, nil as Double?)
        }
        insertLine.bind(7, line)
        _ = try insertLine.step()
    }

    /// Keeps the newest line of each of the feed's own alerts that is not ok.
    private func record(alert bytes: Bytes) throws(JournalFault) {
        guard let line = try? LineDecoder.decode(bytes), case .alert(let alert) = line.body, line.agent == nil else {
            return
        }
        let statement = alert.state.isOver ? deleteAlert : insertAlert
        statement.bind(1, alert.condition)
        statement.bind(2, alert.about)
        if !alert.state.isOver {
            statement.bind(3, run?.name ?? "")
            statement.bind(4, String(decoding: bytes, as: UTF8.self))
        }
        try statement.run()
    }

    // MARK: Runs

    /// The row id of the next line, which has this sequence number.
    @inline(__always)
    private mutating func rowID(of sequence: Int, at time: Timestamp) throws(JournalFault) -> RowID {
        if let run {
            let id = Int64(sequence).addingReportingOverflow(run.base)
            if !id.overflow, id.partialValue > newest, id.partialValue - newest <= Self.mostSkipped {
                return id.partialValue
            }
        }
        // The numbers of a hostile feed jump: the rest of the run gets a row of its own.
        return try makeRun(run?.name ?? "-", at: sequence, at: time).first
    }

    /// Begins or continues the run of the greeting; lines without one are kept as well.
    private mutating func begin(at sequence: Int, at time: Timestamp) throws(JournalFault) {
        let name = greeting?.run ?? "-"
        if run?.name != name {
            run = try database.newestRun()
            if let run, run.name == name {
                lastKnown = try database.lastKnown(of: run)
            } else {
                lastKnown = min(sequence, greeting?.firstSequence ?? sequence) - 1
                run = try makeRun(name, at: lastKnown + 1, at: time)
            }
        }
        guard let run, sequence > lastKnown else { return }
        if sequence - lastKnown > 1 {
            // Lines before this one are lost, or were written to another file in this place. The `gap` is the first line.
            let missing = lastKnown + 1...sequence - 1
            return try write(gap: ControlLine.gap(time: time, missing: missing, reason: "journal"), missing, at: time)
        }
        try database.execute("UPDATE runs SET ended = NULL WHERE run = ?1 AND ended IS NOT NULL", run.first)
        guard let greeting = greeting.take() else { return }
        insertGreeting.bind(1, try rowID(of: sequence, at: time))
        insertGreeting.bind(2, String(decoding: greeting.lines, as: UTF8.self))
        try insertGreeting.run()
    }

    private mutating func makeRun(
        _ name: String, at sequence: Int, at time: Timestamp
    ) throws(JournalFault) -> JournalRun {
        guard newest < .max - 1 else { throw JournalFault(.corrupt, "it has no numbers left for lines") }
        let first = newest + 1
        let new = JournalRun(first: first, last: first, name: name, base: first - Int64(sequence))
        let statement = try database.prepare("INSERT INTO runs (run, name, base, begun, gone) VALUES (?, ?, ?, ?, ?)")
        statement.bind(1, new.first)
        statement.bind(2, new.name)
        statement.bind(3, new.base)
        statement.bind(4, time.microseconds)
        statement.bind(5, Int64(sequence - 1))
        try statement.run()
        run = new
        return new
    }

    /// The sequence number of the current run's oldest line.
    var firstSequence: Int? {
        guard let run, greeting.map({ $0.run == run.name }) ?? true else { return nil }
        return (try? database.gone(of: run)).flatMap { $0 }.map { $0.addingSaturated(1) }
    }
}
