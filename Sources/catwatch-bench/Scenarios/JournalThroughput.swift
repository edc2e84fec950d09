internal import CSQLite
internal import Feed
internal import Glibc
internal import Journal
internal import Reactor

/// Lines into a journal, in commits of 4,096 as under load, each followed by `tidy`; and the same rows in plain SQLite:
/// one prepared statement, one index, a transaction for each 4,096 rows.
///
/// `normal` by the thread's processor time, which is wall time on an idle core; `full` by wall time: it waits for the
/// disk.
enum JournalThroughput: Scenario {
    static let name = "journal"
    static let summary = "durable events a second in a journal, and those of a bare loop of SQLite's inserts"

    private static let commitSize = 4_096
    private static let commits = 60

    private enum Kind: String, CaseIterable {
        case values = "values of 100 series"
        case facts = "facts with text and data"
    }

    static func measure(_ setting: Setting) throws -> [Figure] {
        var figures: [Figure] = []
        var memory: Int64 = 0
        for kind in Kind.allCases {
            var normal = JournalSettings()
            normal.sync = .normal
            var bounded = normal
            bounded.bytes = 16 << 20
            var full = normal
            full.sync = .full
            var (rates, tidied, ratios, fullRates): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
            for _ in 0..<setting.runs {
                rates.append(try journal(setting, kind, normal, &memory).rate(.processor))
                tidied.append(try journal(setting, kind, bounded, &memory).rate(.processor))
                let ours = try journal(setting, kind, full, &memory).rate(.wall)
                let bare = try bare(setting, kind).rate(.wall)
                fullRates.append(ours)
                ratios.append(ours / bare)
            }
            figures.append(
                Figure(
                    name: "\(kind.rawValue), normal", unit: "events/CPU s", runs: rates, limit: .atLeast(200_000)))
            figures.append(
                Figure(name: "the same while the oldest go", unit: "events/CPU s", runs: tidied))
            figures.append(Figure(name: "\(kind.rawValue), full", unit: "events/s", runs: fullRates))
            figures.append(
                Figure(name: "the same, ratio to a bare loop", unit: "", runs: ratios, limit: .atLeast(0.6)))
        }
        figures.append(
            Figure(
                name: "SQLite's memory at most", unit: "KiB", runs: [Double(memory) / 1_024],
                limit: .atMost(2_048)))
        return figures
    }

    /// The time for writing all events.
    private struct Taken {
        enum Clock { case wall, processor }

        var wall = 0.0
        var processor = 0.0

        /// The events per second.
        func rate(_ clock: Clock) -> Double {
            Double(commits * commitSize) / (clock == .wall ? wall : processor) * 1_000
        }

        mutating func add<Value>(_ body: () throws -> Value) rethrows -> Value {
            let (start, startOfThread) = (ContinuousClock.now, ThreadTime.now)
            defer {
                wall += start.duration(to: .now).milliseconds
                processor += ThreadTime.now - startOfThread
            }
            return try body()
        }
    }

    /// Lines as an agent writes them.
    private struct Lines: ~Copyable {
        let kind: Kind
        private var log = LineLog()
        private var next = 1

        init(_ kind: Kind) { self.kind = kind }

        private static let text =
            "Cats sleep for about two thirds of the day, most of it lightly, with an ear that listens."

        mutating func add() -> [LineSpan] {
            for index in 0..<commitSize {
                let text = Self.text
                let kind = kind
                log.append(atMost: 640, at: LoopInstant(nanoseconds: 0)) { sequence, start in
                    var writer = start
                    writer.raw("{\"seq\":")
                    writer.integer(sequence)
                    writer.raw(",\"time\":")
                    var time = TimestampText()
                    time.write(Timestamp(microseconds: 1_800_000_000_000_000 + Int64(sequence) * 10), to: &writer)
                    writer.raw(",\"type\":\"fact\",\"source\":\"fact\",\"series\":\"")
                    writer.raw(Array((kind == .facts ? "fact" : "fact/city-\(index % 100)").utf8)[...])
                    writer.raw("\",\"value\":")
                    writer.integer(sequence % 1_000)
                    if kind == .facts {
                        let members =
                            ",\"text\":\"\(text)\",\"data\":{\"fact\":\"\(text)\",\"length\":\(text.utf8.count)}"
                        writer.raw(Array(members.utf8)[...])
                    }
                    writer.raw("}\n")
                    return writer
                }
            }
            var spans: [LineSpan] = []
            while case .lines(let span) = log.read(from: next) {
                spans.append(span)
                next = span.sequences.upperBound + 1
            }
            return spans
        }
    }

    /// - Parameter memory: the most memory that SQLite has used so far, in bytes.
    private static func journal(
        _ setting: Setting, _ kind: Kind, _ settings: JournalSettings, _ memory: inout Int64
    ) throws -> Taken {
        try setting.withFolder { folder in
            sqlite3_memory_highwater(1)
            defer { memory = max(memory, sqlite3_memory_highwater(0)) }
            let store = SQLiteLineStore(path: "\(folder)/journal", settings)
            _ = try store.open()
            defer { store.close() }
            var lines = Lines(kind)
            var taken = Taken()
            let identity = AgentIdentity(run: "bench", version: "0", started: Timestamp(seconds: 0))
            let hello = ControlLine.hello(
                time: Timestamp(seconds: 0), identity: identity, isFiltered: false, interval: .seconds(10),
                history: .seconds(120), firstSequence: 1, nextSequence: 1)
            try store.commit([.greeting(hello)], at: Timestamp(seconds: 0))
            for number in 0..<commits {
                let pieces = lines.add().map { JournalPiece.lines($0) }
                try taken.add {
                    let time = Timestamp(seconds: Int64(number))
                    try store.commit(pieces, at: time)
                    _ = try store.tidy(at: time)
                }
            }
            let last = try store.open().lastRun?.durable
            guard last == commits * commitSize else { throw BenchError("\(last ?? 0) lines were kept") }
            return taken
        }
    }

    // MARK: The peer

    private static func bare(_ setting: Setting, _ kind: Kind) throws -> Taken {
        try setting.withFolder { folder in
            var handle: OpaquePointer?
            guard sqlite3_open("\(folder)/bare", &handle) == SQLITE_OK, let database = handle else {
                throw BenchError("SQLite does not open a file")
            }
            defer { sqlite3_close(database) }
            func run(_ statement: String) throws {
                guard sqlite3_exec(database, statement, nil, nil, nil) == SQLITE_OK else {
                    throw BenchError("\(statement): \(String(cString: sqlite3_errmsg(database)))")
                }
            }
            try run(
                """
                PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                CREATE TABLE lines (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, type TEXT NOT NULL, source TEXT,
                    series TEXT, value REAL, line TEXT NOT NULL) STRICT;
                CREATE INDEX lines_time ON lines (time)
                """)
            var statement: OpaquePointer?
            sqlite3_prepare_v2(database, "INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?)", -1, &statement, nil)
            defer { sqlite3_finalize(statement) }
            var lines = Lines(kind)
            var taken = Taken()
            var sequence = 0
            for _ in 0..<commits {
                let spans = lines.add()
                // The peer need not parse the lines for this.
                let series = (0..<commitSize).map { kind == .facts ? "fact" : "fact/city-\($0 % 100)" }
                let first = sequence
                try taken.add {
                    try run("BEGIN")
                    for span in spans {
                        try span.withUnsafeBytes { bytes in
                            var start = 0
                            while let base = bytes.baseAddress,
                                let end = memchr(base + start, 0x0A, bytes.count - start)
                            {
                                let length = UnsafeRawPointer(end) - (base + start)
                                sequence += 1
                                sqlite3_bind_int64(statement, 1, Int64(sequence))
                                sqlite3_bind_int64(statement, 2, 1_800_000_000_000_000 + Int64(sequence) * 10)
                                for index: Int32 in 3...4 { _ = cw_bind_copy(statement, index, "fact", 4) }
                                let name = series[sequence - first - 1]
                                _ = name.withCString { cw_bind_copy(statement, 5, $0, Int32(name.utf8.count)) }
                                sqlite3_bind_double(statement, 6, Double(sequence % 1_000))
                                cw_bind_text(statement, 7, base + start, Int32(length))
                                guard sqlite3_step(statement) == SQLITE_DONE else {
                                    throw BenchError("a bare insert failed")
                                }
                                sqlite3_reset(statement)
                                start += length + 1
                            }
                        }
                    }
                    try run("COMMIT")
                }
            }
            return taken
        }
    }
}
