internal import Feed
internal import Glibc
internal import Reactor

/// Writes the feed into a journal's tables, within the transactions of its owner: finds the run and place of each line,
/// and records gaps.
///
/// A copy from before a transaction restores the state of that time.
struct RowWriter {
    /// The time between marks, which record when a line was written.
    private static let markPeriod = Duration.seconds(60)

    private let database: SQLiteDatabase
    /// The run of the lines that this process wrote to an earlier file in this place.
    private let earlier: JournalRun?
    private let insert: SQLiteStatement
    private let mark: SQLiteStatement
    /// The run of the current lines; nil before the first.
    private(set) var run: JournalRun?
    /// The last greeting, until its first line comes.
    private var greeting: Greeting?
    private var lastMark: Timestamp?
    private let noteAlert: SQLiteStatement
    private let positions: JournalPositions

    private struct Greeting {
        var run: String
        var firstSequence: Int
        var nextSequence: Int
        var hello: Bytes
        var stats: Bytes?

        init?(_ lines: [UInt8]) {
            let parts = lines.split(separator: 0x0A)
            guard let first = parts.first, let line = try? LineDecoder.decode(first), case .hello(let hello) = line.body
            else { return nil }
            (run, firstSequence, nextSequence) = (hello.run, max(0, hello.firstSeq), max(0, hello.nextSeq))
            self.hello = first
            stats = parts.count > 1 ? parts[1] : nil
        }
    }

    /// - Parameter earlier: the run of the lines that this process wrote last, to this file or to another in its place.
    init(_ database: SQLiteDatabase, after earlier: JournalRun?) throws(JournalFault) {
        self.database = database
        self.earlier = earlier
        insert = try database.prepare("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING")
        positions = JournalPositions(database)
        noteAlert = try database.prepare("INSERT INTO alerts VALUES (?) ON CONFLICT (id) DO NOTHING")
        mark = try database.prepare("INSERT INTO marks VALUES (?, ?) ON CONFLICT (id) DO NOTHING")
    }

    mutating func write(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
        try keepRun(at: time)
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
                    try insert(line, as: sequence, at: time)
                    sequence = sequence.addingSaturated(1)
                }
            }
        case .positions(let new): try positions.write(new)
        case .gap(let missing, let line):
            try insertGap(missing, line, at: time)
        case .end(let line):
            // The run may have been greeted again before this line, or another one may have begun since.
            guard let bye = try? LineDecoder.decode(line[...]), case .bye(let said) = bye.body,
                let name = said.run, let run = try database.run(of: name, holding: .max)
            else { return }
            try database.execute("UPDATE runs SET ended = ?2 WHERE run = ?1", run.number, said.reason ?? "")
        }
    }

    private mutating func insert(
        _ line: UnsafeRawBufferPointer, as sequence: Int, at time: Timestamp, isGap: Bool = false
    ) throws(JournalFault) {
        let id = try rowID(of: sequence, at: time)
        let sinceMark: Duration? = lastMark.map { time - $0 }
        if sinceMark.map({ $0 >= Self.markPeriod || $0 < .zero }) ?? true {
            mark.bind(1, id)
            mark.bind(2, time.microseconds)
            try mark.run()
            lastMark = time
        }
        defer { insert.reset() }
        insert.bind(1, id)
        if let event = LineHead(line)?.event {
            insert.bind(2, event.time.microseconds)
            insert.bind(3, event.type)
            insert.bind(4, event.source)
            insert.bind(5, event.series)
            insert.bind(6, event.value)
        } else if let head = try? LineHead.Decoded(line.bindMemory(to: UInt8.self)) {
            if head.type == "alert" {
                noteAlert.bind(1, id)
                try noteAlert.run()
            }
            insert.bind(2, head.time.microseconds)
            insert.bind(3, head.type)
            insert.bind(4, head.source)
            insert.bind(5, head.series)
            insert.bind(6, head.value)
        } else {
            // An unreadable line is kept all the same, under the time when it came.
            insert.bind(2, time.microseconds)
            insert.bind(3, "?")
            for index: Int32 in 4...5 { insert.bind(index, nil as String?) }
            insert.bind(6, nil as Double?)
        }
        insert.bind(7, line)
        _ = try insert.step()
        guard database.changes == 0, !isGap else { return }
        insert.reset()
        guard let gap = try database.gap(at: id) else {
            guard try database.line(at: id) != Array(line) else { return }
            // Another line has this sequence number, for example after somebody deleted from `runs`: keep both.
            run = try makeRun(run?.name ?? "-", base: sequence, hello: (run?.hello ?? []).dropLast(), at: time)
            return try insert(line, as: sequence, at: time)
        }
        // The line was recorded as missing, but has come after all.
        try endGap(gap, at: id, before: sequence.addingSaturated(1), at: time)
        try database.execute("DELETE FROM lines WHERE id = ?1", id)
        try insert(line, as: sequence, at: time)
    }

    // MARK: Gaps

    /// Inserts a `gap` for missing lines, except those that are known to be kept or missing already.
    private mutating func insertGap(_ missing: ClosedRange<Int>, _ line: [UInt8], at time: Timestamp)
        throws(JournalFault)
    {
        let id = try rowID(of: missing.lowerBound, at: time)
        guard let row = try database.run(id >> JournalPlace.bits) else {
            throw JournalFault(.corrupt, "it has lines of a run that it does not know")
        }
        let known = try database.lastKnown(of: row)
        guard known >= missing.lowerBound else { return try insert(line, as: missing.lowerBound, at: time) }
        if let gap = try database.gap(at: id) {
            try endGap(gap, at: id, before: missing.upperBound.addingSaturated(1), at: time)
        }
        guard known < missing.upperBound, let said = Line.Gap(line[...]) else { return }
        try insertGap(known + 1...missing.upperBound, reason: said.reason, at: time)
    }

    private mutating func insertGap(_ missing: ClosedRange<Int>, reason: String?, at time: Timestamp)
        throws(JournalFault)
    {
        let line = ControlLine.gap(time: time, missing: missing, reason: reason ?? "journal")
        try insert(line, as: missing.lowerBound, at: time)
    }

    private mutating func insert(_ line: [UInt8], as sequence: Int, at time: Timestamp) throws(JournalFault) {
        try line.span.bytes.withUnsafeBytes { bytes throws(JournalFault) in
            let end = bytes.last == 0x0A ? bytes.count - 1 : bytes.count
            try insert(UnsafeRawBufferPointer(rebasing: bytes[..<end]), as: sequence, at: time, isGap: true)
        }
    }

    /// Ends a gap before this sequence number, and inserts another one from there on, which is deleted when that line
    /// comes.
    private mutating func endGap(
        _ gap: Line.Gap, at id: Int64, before sequence: Int, at time: Timestamp
    ) throws(JournalFault) {
        guard gap.from < sequence, sequence <= gap.to else { return }
        try database.execute("DELETE FROM lines WHERE id = ?1", id)
        try insertGap(gap.from...sequence - 1, reason: gap.reason, at: time)
        try insertGap(sequence...gap.to, reason: gap.reason, at: time)
    }

    // MARK: Runs

    /// The row id of the line with this sequence number in the feed's run. A run has several rows when its numbers span
    /// too much, or when it returns after another run: the one with the greatest `base` not above the number counts.
    @inline(__always)
    private mutating func rowID(of sequence: Int, at time: Timestamp) throws(JournalFault) -> Int64 {
        if greeting == nil, let run, let rowID = run.rowID(of: sequence) { return rowID.id }
        return try findRowID(of: sequence, at: time).id
    }

    private mutating func findRowID(of sequence: Int, at time: Timestamp) throws(JournalFault) -> JournalPlace {
        if let greeting {
            let known = try begin(greeting, with: sequence, at: time)
            self.greeting = nil
            if let known {
                try join(sequence, to: known, at: time)
            } else if let run, earlier?.name == run.name, max(1, run.base) < sequence {
                // Earlier lines of this run were written to another file.
                try insertGap(max(1, run.base)...sequence - 1, reason: nil, at: time)
            }
        }
        // Lines without a greeting are kept as well.
        let name = run?.name ?? "-"
        if let row = try database.run(of: name, holding: sequence), let rowID = row.rowID(of: sequence) {
            if run == nil { run = row }
            return rowID
        }
        let row = try makeRun(name, base: sequence, hello: (run?.hello ?? []).dropLast(), at: time)
        run = row
        return JournalPlace(run: row.number, offset: 0)
    }

    /// - Returns: the sequence number up to which the run's lines are kept or known to be missing; nil for a new run.
    private mutating func begin(
        _ greeting: Greeting, with sequence: Int, at time: Timestamp
    ) throws(JournalFault) -> Int? {
        let earlier = try database.run(of: greeting.run, holding: .max)
        var known: Int?
        if let earlier { known = try database.lastKnown(of: earlier) }
        if run?.name != greeting.run { run = try database.newestRun() }
        if let run, run.name == greeting.run {
            try database.execute("UPDATE runs SET ended = NULL WHERE run = ?1 AND ended IS NOT NULL", run.number)
        } else {
            // Usually `base` is 0, so that offsets are sequence numbers. A returning run continues behind its lines.
            var base = min(greeting.firstSequence, sequence)
            if let known {
                base = known.addingSaturated(1)
            } else if let earlier, earlier.name == greeting.run, earlier.rowID(of: sequence) != nil {
                base = earlier.base
            } else if Int64(base) < JournalPlace.most / 2 {
                base = 0
            }
            run = try makeRun(greeting.run, base: base, hello: greeting.hello, at: time)
        }
        guard let run, let stats = greeting.stats else { return known }
        let next =
            run.rowID(of: max(run.base, greeting.nextSequence))
            ?? JournalPlace(run: run.number, offset: JournalPlace.most)
        try database.execute(
            "INSERT OR REPLACE INTO stats VALUES (?1, ?2)", next.id, String(decoding: stats, as: UTF8.self))
        return known
    }

    /// Continues a run that returns, from this sequence number: records the gap since its last line, or ends a recorded
    /// gap where lines now come after all.
    private mutating func join(_ sequence: Int, to known: Int, at time: Timestamp) throws(JournalFault) {
        if known > 0, known.addingSaturated(1) < sequence {
            return try insertGap(known + 1...sequence - 1, reason: nil, at: time)
        }
        let id = try rowID(of: sequence, at: time)
        let before = try database.integer(
            "SELECT max(id) FROM lines WHERE id BETWEEN \(id & ~JournalPlace.most) AND \(id)")
        if let before, let gap = try database.gap(at: before) {
            try endGap(gap, at: before, before: sequence, at: time)
        }
    }

    private func makeRun(
        _ name: String, base: Int, hello: Bytes, at time: Timestamp
    ) throws(JournalFault) -> JournalRun {
        // Lines of runs that somebody deleted still occupy their row ids.
        let last = try database.integer("SELECT max(id) FROM lines").map { JournalPlace(id: $0).run } ?? 0
        let number = max(try database.newestRun()?.number ?? 0, last) + 1
        guard 1...JournalPlace.mostRuns ~= number else {
            throw JournalFault(.corrupt, "it has no numbers left for runs")
        }
        let run = JournalRun(number: number, name: name, base: base, ended: nil, hello: Array(hello) + [0x0A])
        try add(run, at: time)
        return run
    }

    private func add(_ run: JournalRun, at time: Timestamp) throws(JournalFault) {
        let statement = try database.prepare("INSERT INTO runs (run, name, base, begun, hello) VALUES (?, ?, ?, ?, ?)")
        statement.bind(1, run.number)
        statement.bind(2, run.name)
        statement.bind(3, Int64(run.base))
        statement.bind(4, time.microseconds)
        statement.bind(5, String(decoding: run.hello.dropLast(), as: UTF8.self))
        try statement.run()
    }

    /// Restores the current run's row if somebody deleted it; otherwise its lines would have no run name.
    private func keepRun(at time: Timestamp) throws(JournalFault) {
        guard let run, try database.integer("SELECT run FROM runs WHERE run = \(run.number)") == nil else { return }
        try add(run, at: time)
    }

    /// The sequence number of the current run's oldest line.
    var firstSequence: Int? {
        guard let run, greeting.map({ $0.run == run.name }) ?? true else { return nil }
        return (try? database.firstRowID(of: run)).flatMap { $0 }.map { run.sequence(at: $0) }
    }
}
