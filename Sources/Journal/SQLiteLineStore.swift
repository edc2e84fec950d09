internal import Feed
package import Reactor

/// A journal in a file of SQLite's, in WAL mode.
///
/// Unchecked: used by one thread at a time, as `LineStore` says.
package final class SQLiteLineStore: LineStore, @unchecked Sendable {
    private let path: String
    private let settings: JournalSettings
    private var database: SQLiteDatabase?
    private var insert: SQLiteStatement?
    /// Whose lines come; of a `greeting`.
    private var run: JournalRun?

    package init(path: String, _ settings: JournalSettings = .init()) {
        self.path = path
        self.settings = settings
    }

    package func open() throws(JournalFault) -> JournalOpening {
        close()
        do throws(SQLiteFault) {
            let database = try SQLiteDatabase(path, .write)
            try database.run(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = \(settings.sync.rawValue); PRAGMA cache_size = -512")
            if try database.integer("PRAGMA user_version") == 0 {
                try database.run(
                    "BEGIN IMMEDIATE; PRAGMA application_id = \(JournalSchema.applicationID);"
                        + "PRAGMA user_version = \(JournalSchema.version);\(JournalSchema.statements) COMMIT")
            }
            let opening = JournalOpening(lastRun: try lastRun(in: database))
            insert = try database.prepare("INSERT OR IGNORE INTO lines VALUES (?, ?, ?, ?, ?, ?, ?)")
            self.database = database
            return opening
        } catch {
            throw JournalFault(error)
        }
    }

    private func lastRun(in database: SQLiteDatabase) throws(SQLiteFault) -> LastRun? {
        let runs = try database.prepare("SELECT run, name, base, ended FROM runs ORDER BY run DESC LIMIT 1")
        guard try runs.step() else { return nil }
        let (number, base) = (runs.integer(0), Int(runs.integer(2)))
        let (first, behind) = (number << JournalPlace.bits, (number + 1) << JournalPlace.bits)
        let last = try database.integer("SELECT max(id) FROM lines WHERE id >= \(first) AND id < \(behind)")
        return LastRun(
            name: runs.string(1), durable: last.map { base + Int(JournalPlace(id: $0).offset) } ?? 0,
            ended: runs.integerIfAny(3) == nil ? nil : runs.string(3))
    }

    package func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
        guard let database else { throw JournalFault(.disk, "the journal is not open") }
        let before = run
        do throws(SQLiteFault) {
            try database.run("BEGIN IMMEDIATE")
            for piece in pieces { try write(piece, at: time, in: database) }
            try database.run("COMMIT")
        } catch {
            try? database.run("ROLLBACK")
            run = before
            throw JournalFault(error)
        }
    }

    private func write(_ piece: JournalPiece, at time: Timestamp, in database: SQLiteDatabase) throws(SQLiteFault) {
        switch piece {
        case .greeting(let lines): try begin(lines, at: time, in: database)
        case .lines(let span):
            var sequence = span.sequences.lowerBound
            try span.withUnsafeBytes { bytes throws(SQLiteFault) in
                var rest = bytes[...]
                while let end = rest.firstIndex(of: 0x0A) {
                    try insert(UnsafeRawBufferPointer(rebasing: rest[..<end]), as: sequence)
                    sequence += 1
                    rest = rest[(end + 1)...]
                }
            }
        case .gap(let missing, let line):
            try line.span.bytes.withUnsafeBytes { bytes throws(SQLiteFault) in
                try insert(UnsafeRawBufferPointer(rebasing: bytes.dropLast()), as: missing.lowerBound)
            }
        case .end(let line):
            guard let run, let bye = try? LineDecoder.decode(line[...]), case .bye(let said) = bye.body else { return }
            let statement = try database.prepare("UPDATE runs SET ended = ? WHERE run = ?")
            statement.bind(1, said.reason ?? "")
            statement.bind(2, run.number)
            try statement.run()
        }
    }

    private func begin(_ lines: [UInt8], at time: Timestamp, in database: SQLiteDatabase) throws(SQLiteFault) {
        let parts = lines.split(separator: 0x0A)
        guard let first = parts.first, let line = try? LineDecoder.decode(first), case .hello(let hello) = line.body
        else { return }
        if run?.name != hello.run { run = try newestRun(in: database) }
        if run?.name != hello.run || (run?.base ?? 0) > hello.firstSeq {
            let number = (run?.number ?? 0) + 1
            let base = hello.firstSeq
            run = JournalRun(number: number, name: hello.run, base: base, ended: nil, hello: Array(first))
            let statement = try database.prepare(
                "INSERT INTO runs (run, name, base, begun, hello) VALUES (?, ?, ?, ?, ?)")
            statement.bind(1, number)
            statement.bind(2, hello.run)
            statement.bind(3, Int64(base))
            statement.bind(4, time.microseconds)
            statement.bind(5, String(decoding: first, as: UTF8.self))
            try statement.run()
        }
        guard let run, parts.count > 1 else { return }
        let statement = try database.prepare("INSERT OR REPLACE INTO stats VALUES (?, ?)")
        statement.bind(1, JournalPlace(run: run.number, offset: Int64(max(0, hello.nextSeq - run.base))).id)
        statement.bind(2, String(decoding: parts[1], as: UTF8.self))
        try statement.run()
    }

    private func newestRun(in database: SQLiteDatabase) throws(SQLiteFault) -> JournalRun? {
        let runs = try database.prepare("SELECT run, name, base, ended, hello FROM runs ORDER BY run DESC LIMIT 1")
        guard try runs.step() else { return nil }
        return JournalRun(
            number: runs.integer(0), name: runs.string(1), base: Int(runs.integer(2)), ended: nil,
            hello: Array(runs.text(4)))
    }

    package var firstSequence: Int? {
        guard let database, let run else { return nil }
        let (first, behind) = (run.number << JournalPlace.bits, (run.number + 1) << JournalPlace.bits)
        let oldest = try? database.integer("SELECT min(id) FROM lines WHERE id >= \(first) AND id < \(behind)")
        return oldest.map { run.base + Int(JournalPlace(id: $0).offset) }
    }

    private func insert(_ line: UnsafeRawBufferPointer, as sequence: Int) throws(SQLiteFault) {
        guard let run, let insert, let index = try? LineIndex(line.bindMemory(to: UInt8.self)) else { return }
        defer { insert.reset() }
        insert.bind(1, JournalPlace(run: run.number, offset: Int64(sequence - run.base)).id)
        insert.bind(2, index.time.microseconds)
        insert.bind(3, index.type)
        insert.bind(4, index.source)
        insert.bind(5, index.series)
        insert.bind(6, index.value)
        insert.bind(7, line)
        _ = try insert.step()
    }

    package func tidy(at time: Timestamp) throws(JournalFault) -> Bool { false }

    package func close() {
        insert = nil
        database = nil
        run = nil
    }
}

extension JournalFault {
    init(_ fault: SQLiteFault) { self.init(fault.isCorruption ? .corrupt : .disk, fault.reason) }
}
