internal import Feed
internal import Glibc
internal import Reactor

/// What a `SQLiteLineStore` has while its file is open: a connection, and whose lines come.
///
/// Its calls each are one transaction: what they throw changes nothing.
final class JournalWriter {
    /// From how many bytes on the log of changes is put into the file, when those who read allow that.
    private static let loggedBytes: Int64 = 4 << 20
    /// At how many bytes of the log nothing more is committed.
    private static let mostLoggedBytes: Int64 = 32 << 20
    /// How often it is marked which line was written when.
    private static let markPeriod = Duration.seconds(60)

    let database: SQLiteDatabase
    private let file: JournalFile
    private let identity: FileIdentity
    /// Which file its log is.
    let log: FileIdentity?
    /// Whose lines this process gave to a file that was in its place before.
    private let earlier: JournalRun?
    private let pageSize: Int64
    private let begin: SQLiteStatement
    private let commit: SQLiteStatement
    private let rollback: SQLiteStatement
    private let pageCount: SQLiteStatement
    private let insert: SQLiteStatement
    private let mark: SQLiteStatement
    private let retention: JournalRetention
    private var scan = JournalScan()
    /// How many pages were in use when something was let go of last.
    private var used: Int64?
    private var state = State()

    /// What a transaction that fails has to leave as it was.
    private struct State {
        /// Whose lines come.
        var run: JournalRun?
        /// Who has said that its lines come now, when none has come yet.
        var greeting: Greeting?
        var lastMark: Timestamp?
    }

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

    /// - Parameters:
    ///   - settings: how it is to be kept.
    ///   - earlier: whose lines came last, when that was to this file or to another in its place.
    /// - Throws: `.corrupt` for what is not a journal of this version.
    init(
        _ file: JournalFile, _ settings: JournalSettings, after earlier: JournalRun?
    ) throws(JournalFault) {
        self.file = file
        self.earlier = earlier
        do throws(SQLiteFault) {
            database = try Self.database(file)
            let mode = try database.prepare("PRAGMA journal_mode = WAL")
            guard try mode.step(), mode.string(0) == "wal" else {
                throw SQLiteFault(notHere: "its file system does not let memory be shared")
            }
            mode.reset()
            if try JournalSchema.look(at: database) == .nothing { try JournalSchema.make(in: database) }
            pageSize = try database.integer("PRAGMA page_size") ?? 4_096
            try database.run(
                "PRAGMA synchronous = \(settings.sync.rawValue);"
                    + "PRAGMA journal_size_limit = \(2 * Self.loggedBytes);"
                    // Pages that are let go of are not written once more for it.
                    + "PRAGMA secure_delete = OFF")
            // How much of a log that is large already somebody reads, this connection does not know yet.
            if file.loggedBytes >= Self.mostLoggedBytes { try database.checkpoint() }
            begin = try database.prepare("BEGIN IMMEDIATE")
            commit = try database.prepare("COMMIT")
            rollback = try database.prepare("ROLLBACK")
            pageCount = try database.prepare("PRAGMA page_count")
            insert = try database.prepare("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING")
            mark = try database.prepare("INSERT INTO marks VALUES (?, ?) ON CONFLICT (id) DO NOTHING")
            retention = try JournalRetention(database, settings, pageSize: pageSize)
            database.keepLogAtClose(false)
        } catch {
            throw JournalFault(error)
        }
        identity = try file.identity()
        log = file.logIdentity
    }

    /// Whose lines come; nil when none has come yet.
    var run: JournalRun? { state.run }

    /// Whether the file still has its name.
    var isInPlace: Bool { (try? file.identity()) == identity }

    /// Whether the log still has its name, and the pages that were written to it.
    var hasItsLog: Bool {
        let pages = Int64(database.loggedPages)
        // A header, and one before each page.
        return file.logIdentity == log && (pages == 0 || file.loggedBytes >= 32 + pages * (pageSize + 24))
    }

    private static func database(_ file: JournalFile) throws(SQLiteFault) -> SQLiteDatabase {
        do throws(SQLiteFault) {
            let database = try SQLiteDatabase(file.path, .write)
            if case .other(let words) = try JournalSchema.look(at: database) { throw SQLiteFault(notOurs: words) }
            return database
        } catch {
            guard error.isOutOfMemory else { throw error }
            throw SQLiteFault(notOurs: "its schema takes more memory than a journal's")
        }
    }

    // MARK: Commits

    func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(SQLiteFault) {
        try checkFile()
        try inTransaction { () throws(SQLiteFault) in
            for piece in pieces { try write(piece, at: time) }
        }
    }

    /// All of `body`, or nothing of it.
    private func inTransaction(_ body: () throws(SQLiteFault) -> Void) throws(SQLiteFault) {
        if Int64(database.loggedPages) * pageSize >= Self.mostLoggedBytes, try !database.restartLog() {
            throw SQLiteFault(
                held: "somebody who reads the journal keeps its log from being put into it, which has "
                    + "\(Self.mostLoggedBytes >> 20) MiB")
        }
        let before = state
        do throws(SQLiteFault) {
            try begin.run()
            try body()
            // What is in the log has its room in the file from here on, so that a full disk does not keep it from there.
            try database.reserve(pages: try pageCount.integer() ?? 0, of: pageSize)
            try commit.run()
        } catch {
            try? rollback.run()
            state = before
            // What others have taken of the disk may be enough for a log that begins anew.
            if error.kind == .disk { _ = try? database.checkpoint() }
            throw error
        }
    }

    /// Somebody may have removed or replaced the file: what is written to it goes nowhere then.
    private func checkFile() throws(SQLiteFault) {
        guard isInPlace else { throw SQLiteFault(notHere: "it was removed or replaced") }
        guard !hasItsLog else { return }
        // Another program may have put it into the file and have begun it anew, which this tells.
        let isKnown = try? database.checkpoint()
        guard !hasItsLog else { return }
        if isKnown == false { throw SQLiteFault(held: "somebody else is putting its log into it") }
        throw SQLiteFault(notOurs: "its log \(file.path)-wal was removed, replaced or cut off")
    }

    /// - Returns: whether there is more to do.
    func tidy(at time: Timestamp) throws(SQLiteFault) -> Bool {
        try checkpointIfDue()
        let now = try retention.used
        // Twice what has come since goes, or else a feed that never rests would be faster.
        let goal = 2 * (used ?? now) - now
        used = now
        while try retention.isDue(at: time) {
            var count = 0
            try inTransaction { () throws(SQLiteFault) in count = try retention.letGo(in: database, at: time) }
            guard count > 0 else { break }
            try checkpointIfDue()
            let left = try retention.used
            used = left
            if left <= goal { return true }
        }
        return try scan.step(in: database)
    }

    private func checkpointIfDue() throws(SQLiteFault) {
        if Int64(database.pagesToCheckpoint) * pageSize >= Self.loggedBytes { try database.checkpoint() }
    }

    /// The run before this one, as it was left.
    func lastRun() throws(JournalFault) -> LastRun? {
        do throws(SQLiteFault) {
            // It goes to readers: what cannot be a name is none.
            guard let run = try database.newestRun(), RunName.isValid(run.name) else { return nil }
            return LastRun(name: run.name, durable: try database.lastKept(of: run), ended: run.ended)
        } catch {
            throw JournalFault(error)
        }
    }

    private func write(_ piece: JournalPiece, at time: Timestamp) throws(SQLiteFault) {
        switch piece {
        case .greeting(let lines):
            // With its first line it is written: a feed that only greets takes no room.
            if let greeting = Greeting(lines) { state.greeting = greeting }
        case .lines(let span):
            var sequence = span.sequences.lowerBound
            try span.withUnsafeBytes { bytes throws(SQLiteFault) in
                var start = 0
                while start < bytes.count {
                    let line = Self.firstLine(UnsafeRawBufferPointer(rebasing: bytes[start...]))
                    try insert(line, as: sequence, at: time)
                    sequence = sequence.addingSaturated(1)
                    start += line.count + 1
                }
            }
        case .gap(let missing, let line):
            try insertGap(missing, line, at: time)
        case .end(let line):
            // Also when it was greeted again before, or by who knows nothing of it yet.
            guard let bye = try? LineDecoder.decode(line[...]), case .bye(let said) = bye.body,
                let run = try database.newestRun(), run.name == said.run
            else { return }
            try database.execute("UPDATE runs SET ended = ?2 WHERE run = ?1", run.number, said.reason ?? "")
        }
    }

    private static func firstLine(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let start = bytes.baseAddress, let end = memchr(start, 0x0A, bytes.count) else { return bytes }
        return UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(end) - start)
    }

    private func insert(
        _ line: UnsafeRawBufferPointer, as sequence: Int, at time: Timestamp, isGap: Bool = false
    ) throws(SQLiteFault) {
        let id = try place(of: sequence, at: time)
        let sinceMark: Duration? = state.lastMark.map { time - $0 }
        if sinceMark.map({ $0 >= Self.markPeriod || $0 < .zero }) ?? true {
            mark.bind(1, id)
            mark.bind(2, time.microseconds)
            try mark.run()
            state.lastMark = time
        }
        defer { insert.reset() }
        insert.bind(1, id)
        if let glance = LineGlance(line.bindMemory(to: UInt8.self)) {
            insert.bind(2, glance.time.microseconds)
            insert.bind(3, glance.type)
            insert.bind(4, glance.source)
            insert.bind(5, glance.series)
            insert.bind(6, glance.value)
        } else if let index = try? LineIndex(line.bindMemory(to: UInt8.self)) {
            insert.bind(2, index.time.microseconds)
            insert.bind(3, index.type)
            insert.bind(4, index.source)
            insert.bind(5, index.series)
            insert.bind(6, index.value)
        } else {
            // It is kept all the same, to be found by when it came.
            insert.bind(2, time.microseconds)
            insert.bind(3, "?")
            for place: Int32 in 4...5 { insert.bind(place, nil as String?) }
            insert.bind(6, nil as Double?)
        }
        insert.bind(7, line)
        _ = try insert.step()
        guard database.changes == 0, !isGap else { return }
        insert.reset()
        guard let gap = try database.gap(at: id) else {
            guard try database.line(at: id) != Array(line) else { return }
            // Another line has its number, as when somebody deleted from `runs`: both are kept.
            let row = try makeRun(
                state.run?.name ?? "-", base: sequence, hello: (state.run?.hello ?? []).dropLast(), at: time)
            state.run = row
            return try insert(line, as: sequence, at: time)
        }
        // It was missing, and has come after all.
        try endGap(gap, at: id, before: sequence.addingSaturated(1), at: time)
        try database.execute("DELETE FROM lines WHERE id = ?1", id)
        try insert(line, as: sequence, at: time)
    }

    // MARK: What is missing

    /// Says that these are missing, but for those of which it is known already what became of them.
    private func insertGap(_ missing: ClosedRange<Int>, _ line: [UInt8], at time: Timestamp) throws(SQLiteFault) {
        let id = try place(of: missing.lowerBound, at: time)
        guard let row = try database.run(id >> JournalPlace.bits) else { return }
        let known = try database.lastKnown(of: row)
        guard known >= missing.lowerBound else { return try insert(line, as: missing.lowerBound, at: time) }
        if let gap = try database.gap(at: id) {
            try endGap(gap, at: id, before: missing.upperBound.addingSaturated(1), at: time)
        }
        guard known < missing.upperBound, case .gap(let said)? = (try? LineDecoder.decode(line[...]))?.body else {
            return
        }
        try insertGap(known + 1...missing.upperBound, reason: said.reason, at: time)
    }

    private func insertGap(_ missing: ClosedRange<Int>, reason: String?, at time: Timestamp) throws(SQLiteFault) {
        let line = ControlLine.gap(time: time, missing: missing, reason: reason ?? "journal")
        try insert(line, as: missing.lowerBound, at: time)
    }

    private func insert(_ line: [UInt8], as sequence: Int, at time: Timestamp) throws(SQLiteFault) {
        try line.span.bytes.withUnsafeBytes { bytes throws(SQLiteFault) in
            let end = bytes.last == 0x0A ? bytes.count - 1 : bytes.count
            try insert(UnsafeRawBufferPointer(rebasing: bytes[..<end]), as: sequence, at: time, isGap: true)
        }
    }

    /// Has what is said to be missing end before this number, and from there on be said by a row of its own, which goes when
    /// that line comes.
    private func endGap(
        _ gap: Line.Gap, at id: Int64, before sequence: Int, at time: Timestamp
    ) throws(SQLiteFault) {
        guard gap.from < sequence, sequence <= gap.to else { return }
        try database.execute("DELETE FROM lines WHERE id = ?1", id)
        try insertGap(gap.from...sequence - 1, reason: gap.reason, at: time)
        try insertGap(sequence...gap.to, reason: gap.reason, at: time)
    }

    // MARK: Runs

    /// Where a line with this number of the feed's run belongs. A run of which a place cannot say all numbers, or that comes
    /// again behind another one, has several rows: the one with the greatest `base` that is not above a number has it.
    @inline(__always)
    private func place(of sequence: Int, at time: Timestamp) throws(SQLiteFault) -> Int64 {
        if state.greeting == nil, let run = state.run, let place = run.place(of: sequence) { return place.id }
        return try findPlace(of: sequence, at: time).id
    }

    private func findPlace(of sequence: Int, at time: Timestamp) throws(SQLiteFault) -> JournalPlace {
        if let greeting = state.greeting {
            let known = try begin(greeting, with: sequence, at: time)
            state.greeting = nil
            if let known {
                try join(sequence, to: known, at: time)
            } else if let run = state.run, earlier?.name == run.name, max(1, run.base) < sequence {
                // What this process has kept of it went with another file.
                try insertGap(max(1, run.base)...sequence - 1, reason: nil, at: time)
            }
        }
        // Lines without a greeting are kept as well.
        let name = state.run?.name ?? "-"
        if let row = try database.run(of: name, holding: sequence), let place = row.place(of: sequence) {
            if state.run == nil { state.run = row }
            return place
        }
        let row = try makeRun(name, base: sequence, hello: (state.run?.hello ?? []).dropLast(), at: time)
        state.run = row
        return JournalPlace(run: row.number, offset: 0)
    }

    /// - Returns: up to which number it is known what became of the run's lines; nil for one that is new.
    private func begin(
        _ greeting: Greeting, with sequence: Int, at time: Timestamp
    ) throws(SQLiteFault) -> Int? {
        let earlier = try database.run(of: greeting.run, holding: .max)
        var known: Int?
        if let earlier { known = try database.lastKnown(of: earlier) }
        if state.run?.name != greeting.run { state.run = try database.newestRun() }
        if let run = state.run, run.name == greeting.run {
            try database.execute("UPDATE runs SET ended = NULL WHERE run = ?1 AND ended IS NOT NULL", run.number)
        } else {
            // Mostly numbers are places then. One that has been here before goes on behind what is there of it.
            var base = min(greeting.firstSequence, sequence)
            if let known {
                base = known.addingSaturated(1)
            } else if let earlier, earlier.name == greeting.run, earlier.place(of: sequence) != nil {
                base = earlier.base
            } else if Int64(base) < JournalPlace.most / 2 {
                base = 0
            }
            state.run = try makeRun(greeting.run, base: base, hello: greeting.hello, at: time)
        }
        guard let run = state.run, let stats = greeting.stats else { return known }
        let next =
            run.place(of: max(run.base, greeting.nextSequence))
            ?? JournalPlace(
                run: run.number, offset: JournalPlace.most)
        try database.execute(
            "INSERT OR REPLACE INTO stats VALUES (?1, ?2)", next.id, String(decoding: stats, as: UTF8.self))
        return known
    }

    /// Has a run that has been here before go on with this number: what came between is missing, and what was said to be
    /// missing may come now.
    private func join(_ sequence: Int, to known: Int, at time: Timestamp) throws(SQLiteFault) {
        if known > 0, known.addingSaturated(1) < sequence {
            return try insertGap(known + 1...sequence - 1, reason: nil, at: time)
        }
        let id = try place(of: sequence, at: time)
        let before = try database.integer(
            "SELECT max(id) FROM lines WHERE id BETWEEN \(id & ~JournalPlace.most) AND \(id)")
        if let before, let gap = try database.gap(at: before) {
            try endGap(gap, at: before, before: sequence, at: time)
        }
    }

    private func makeRun(
        _ name: String, base: Int, hello: Bytes, at time: Timestamp
    ) throws(SQLiteFault) -> JournalRun {
        // Also lines of runs that somebody deleted keep their places.
        let last = try database.integer("SELECT max(id) FROM lines").map { JournalPlace(id: $0).run } ?? 0
        let number = max(try database.newestRun()?.number ?? 0, last) + 1
        guard 1...JournalPlace.mostRuns ~= number else { throw SQLiteFault(notOurs: "it has no numbers left for runs") }
        let statement = try database.prepare("INSERT INTO runs (run, name, base, begun, hello) VALUES (?, ?, ?, ?, ?)")
        statement.bind(1, number)
        statement.bind(2, name)
        statement.bind(3, Int64(base))
        statement.bind(4, time.microseconds)
        statement.bind(5, String(decoding: hello, as: UTF8.self))
        try statement.run()
        return JournalRun(number: number, name: name, base: base, ended: nil, hello: Array(hello) + [0x0A])
    }

    /// The number of the oldest line of the run whose lines come.
    var firstSequence: Int? {
        guard let run = state.run, state.greeting.map({ $0.run == run.name }) ?? true else { return nil }
        return (try? database.firstPlace(of: run)).flatMap { $0 }.map { run.sequence(at: $0) }
    }
}
