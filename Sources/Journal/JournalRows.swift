internal import CSQLite
internal import Glibc
package import Reactor

/// Goes through the rows of a journal one after the other, for a program that is no agent: it blocks.
///
/// A piece of them is a read transaction of its own, so that whoever writes the journal is not held up, and nothing of a row
/// is copied that nobody asks for. Used by one thread.
package final class JournalRows {
    private let path: String
    private let identity: FileIdentity?
    /// As it was once it was open; nil when it had gone by then.
    package let trace: JournalTrace?
    private let database: SQLiteDatabase
    private let forwards: SQLiteStatement
    private let backwards: SQLiteStatement

    /// Opens it for reading.
    ///
    /// - Parameter earlier: of the one whose place it has taken, for who goes on with it.
    /// - Throws: `JournalFault`, whose reason says what that file is instead of a journal, or why it cannot be read.
    package init(path: String, after earlier: JournalTrace? = nil) throws(JournalFault) {
        self.path = path
        let file = try Self.file(path)
        let journal = try JournalFile(file)
        if let earlier, try earlier.isLeft(beside: JournalTrace(journal)) {
            throw JournalFault(.disk, "the log of the journal before still lies beside it")
        }
        // Before it is opened: the other way round a file that takes its place meanwhile would be missed.
        identity = try? FileIdentity(at: file)
        do throws(SQLiteFault) {
            database = try Self.database(file)
            let columns =
                "SELECT id, time, type, source, series, value, line FROM lines WHERE id BETWEEN ? AND ? ORDER BY id"
            forwards = try database.prepare(columns)
            backwards = try database.prepare(columns + " DESC")
        } catch {
            throw JournalFault(error.kind, Self.reason(error, file))
        }
        trace = try? JournalTrace(journal)
    }

    private static func database(_ file: String) throws(SQLiteFault) -> SQLiteDatabase {
        do throws(SQLiteFault) {
            let database = try SQLiteDatabase(file, .read)
            try check(database)
            return database
        } catch {
            // Where nothing can be written, or there is no room, a journal that nobody writes is read as it is.
            guard [SQLITE_CANTOPEN, SQLITE_READONLY].contains(error.code & 0xFF) || error.isWantOfRoom, isAtRest(file)
            else { throw error }
            let database = try SQLiteDatabase(file, .readAtRest)
            try check(database)
            return database
        }
    }

    /// The file's own path: SQLite follows no links, and who reads a journal has named one if they like.
    private static func file(_ path: String) throws(JournalFault) -> String {
        let file = try resolved(path)
        var status = stat()
        guard stat(file, &status) == 0 else { throw JournalFault(.disk, words(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw JournalFault(.disk, "no journal: it is no ordinary file")
        }
        do throws(SystemError) {
            // Opened and not only asked after: who may read it is more than its mode says.
            _ = try Descriptor.open(file, flags: O_RDONLY | O_NONBLOCK)
        } catch {
            throw JournalFault(.disk, "\(error.reason); it is \(owner(status))'s")
        }
        guard status.st_size > 0 else { throw JournalFault(.disk, "no journal yet: it is empty") }
        // SQLite takes one of a byte for an empty database.
        guard status.st_size > 1 else { throw JournalFault(.disk, "no journal: it is no SQLite database") }
        return file
    }

    private static func resolved(_ path: String) throws(JournalFault) -> String {
        guard let resolved = realpath(path, nil) else { throw JournalFault(.disk, words(errno)) }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func owner(_ status: stat) -> String {
        guard let entry = getpwuid(status.st_uid) else { return "user \(status.st_uid)" }
        return String(cString: entry.pointee.pw_name)
    }

    private static func words(_ code: Int32) -> String { SystemError(code: code, call: "").reason }

    /// Whether nothing is left in a log beside the file: it holds all there is.
    private static func isAtRest(_ file: String) -> Bool {
        var status = stat()
        return stat(file + "-wal", &status) != 0 || status.st_size == 0
    }

    private static func reason(_ fault: SQLiteFault, _ file: String) -> String {
        switch fault.code & 0xFF {
        case SQLITE_NOTADB: "no journal: it is no SQLite database"
        case SQLITE_CANTOPEN, SQLITE_READONLY:
            if isAtRest(file) {
                fault.reason
            } else {
                "its newest lines are in \(file)-wal, which can be read only where files can be made beside it: copy both"
            }
        default: fault.reason
        }
    }

    /// - Throws: when it is no journal of this version, as far as it is read here.
    private static func check(_ database: SQLiteDatabase) throws(SQLiteFault) {
        let reason: String
        switch try JournalSchema.look(at: database) {
        // What has another index is moved aside, and read all the same.
        case .journal, .changed("marks"), .changed("lines_time"), .changed("positions"): return
        case .nothing, .stranger: reason = "no journal, but another program's database"
        case .version(let found) where found > JournalSchema.version:
            reason =
                "written by a later version of catwatch: its schema is \(found), and \(JournalSchema.version) is what this one reads"
        case .version(let found): reason = "no journal: nothing has a schema of version \(found)"
        case .changed(let name): reason = "no journal: its table \(name) is another one, or missing"
        }
        throw SQLiteFault(code: SQLITE_ERROR, reason: reason)
    }

    /// Whether another file is in its place by now, or none, or its log is another one: what comes goes elsewhere.
    package var hasMoved: Bool {
        // Not opened: closing it again would end what SQLite has locked of it in this process.
        guard let file = try? Self.resolved(path), let journal = try? JournalFile(file),
            let now = try? JournalTrace(journal)
        else { return true }
        return now.file != identity || now != trace
    }

    /// Whether it is the same file as of then, with another log.
    package func isFile(of earlier: JournalTrace?) -> Bool { identity == earlier?.file }

    // MARK: Rows

    /// One of them, for as long as the call lasts that it is handed to.
    package struct Row {
        fileprivate let statement: SQLiteStatement

        package var place: JournalPlace { JournalPlace(id: statement.integer(0)) }
        package var time: Timestamp { Timestamp(microseconds: statement.integer(1)) }
        package var type: UnsafeRawBufferPointer { statement.text(2) }
        /// Empty for none.
        package var source: UnsafeRawBufferPointer { statement.text(3) }
        /// Empty for none.
        package var series: UnsafeRawBufferPointer { statement.text(4) }
        package var value: Double? { statement.doubleIfAny(5) }
        /// Without its newline.
        package var line: UnsafeRawBufferPointer { statement.text(6) }
    }

    /// Hands out the rows of these places, in their order, until there are no more, the call says false, or it is time for others.
    ///
    /// - Parameter isReversed: whether the newest come first.
    /// - Returns: where the last one was that was handed out; nil when there is none.
    package func rows(
        in places: ClosedRange<JournalPlace>, isReversed: Bool = false, atMost most: Int = 4_096,
        _ take: (Row) throws(SQLiteFault) -> Bool
    ) throws(SQLiteFault) -> JournalPlace? {
        let statement = isReversed ? backwards : forwards
        statement.bind(1, places.lowerBound.id)
        statement.bind(2, places.upperBound.id)
        defer { statement.reset() }
        let row = Row(statement: statement)
        var last: JournalPlace?
        for _ in 0..<most {
            guard try statement.step() else { return last }
            last = row.place
            guard try take(row) else { return last }
        }
        return last
    }

    /// Between which places lines of these times are; nil for none.
    ///
    /// - Parameter until: not included.
    package func places(
        from: Timestamp?, until: Timestamp?
    ) throws(SQLiteFault) -> ClosedRange<JournalPlace>? {
        guard from != nil || until != nil else { return JournalPlace(id: 0)...JournalPlace(id: .max) }
        let statement = try database.prepare("SELECT min(id), max(id) FROM lines WHERE time >= ? AND time < ?")
        statement.bind(1, from?.microseconds ?? .min)
        statement.bind(2, until?.microseconds ?? .max)
        guard try statement.step(), let first = statement.integerIfAny(0), let last = statement.integerIfAny(1),
            0...last ~= first
        else { return nil }
        return JournalPlace(id: first)...JournalPlace(id: last)
    }

    /// How far it is from one of these places to another: runs of many lines have many places.
    package func reach(of places: ClosedRange<JournalPlace>) throws(SQLiteFault) -> JournalReach {
        var reach = JournalReach()
        let runs = try database.prepare(
            """
            SELECT (SELECT min(id) FROM lines WHERE id BETWEEN max(run << 36, ?1) AND min((run + 1 << 36) - 1, ?2)),
                   (SELECT max(id) FROM lines WHERE id BETWEEN max(run << 36, ?1) AND min((run + 1 << 36) - 1, ?2))
            FROM runs ORDER BY run
            """)
        runs.bind(1, places.lowerBound.id)
        runs.bind(2, places.upperBound.id)
        while try runs.step() {
            guard let first = runs.integerIfAny(0), let last = runs.integerIfAny(1), first <= last else { continue }
            guard reach.add(first...last) else { break }
        }
        return reach
    }

    /// A run by its number; nil when nothing is known of it.
    package func run(_ number: Int64) throws(SQLiteFault) -> JournalRun? {
        let runs = try database.prepare("SELECT name, base, ended, hello FROM runs WHERE run = ?")
        runs.bind(1, number)
        guard try runs.step() else { return nil }
        return JournalRun(
            number: number, name: runs.string(0), base: Int(runs.integer(1)),
            ended: runs.integerIfAny(2) == nil ? nil : runs.string(2), hello: runs.bytes(3) + [0x0A])
    }

    /// Where the line with this number of this run is, or would be; nil when nothing of that run is kept.
    package func place(of sequence: Int, in run: String) throws(SQLiteFault) -> JournalPlace? {
        try database.place(of: sequence, in: run)
    }

    /// Up to which number of a run lines were let go of; 0 for none, nil when nothing is known of it.
    package func gone(of run: Int64) throws(SQLiteFault) -> Int? {
        try database.integer("SELECT gone FROM runs WHERE run = \(run)").map { Int($0) }
    }

    /// The last place of a run that has lines; of the newest one, which may go on, the last that it may come to have.
    package func end(of run: Int64) throws(SQLiteFault) -> JournalPlace {
        let end = JournalPlace(run: run, offset: JournalPlace.most)
        guard try database.integer("SELECT id FROM lines WHERE id > \(end.id) LIMIT 1") != nil else { return end }
        return try database.integer("SELECT max(id) FROM lines WHERE id <= \(end.id)").map(JournalPlace.init(id:))
            ?? end
    }

    /// From where on another `stats` line holds than at a place of the same run; nil for nowhere.
    package func nextStats(behind place: JournalPlace) throws(SQLiteFault) -> JournalPlace? {
        try database.integer(
            "SELECT min(id) FROM stats WHERE id > \(place.id) AND id <= \(place.id | JournalPlace.most)"
        ).map(JournalPlace.init(id:))
    }

    /// The `stats` line that holds at a place; nil when there is none.
    package func stats(at place: JournalPlace) throws(SQLiteFault) -> [UInt8]? {
        let stats = try database.prepare("SELECT line FROM stats WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1")
        stats.bind(1, place.run << JournalPlace.bits)
        stats.bind(2, place.id)
        return try stats.step() ? stats.bytes(0) + [0x0A] : nil
    }
}
