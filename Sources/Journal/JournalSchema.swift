/// The schema of a journal's file; docs/journal.md describes it for people who query it with SQL.
enum JournalSchema {
    /// The application id in the file's header: "CATW".
    static let applicationID: Int64 = 0x4341_5457
    /// The version of the tables; a file with another version is moved aside.
    static let version: Int64 = 1

    /// The tables and the index by name, with the SQL that creates them, exactly as the file stores it.
    static let tables: KeyValuePairs = [
        "runs": """
        CREATE TABLE runs (
            run INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            base INTEGER NOT NULL,
            begun INTEGER NOT NULL,
            ended TEXT,
            gone INTEGER NOT NULL DEFAULT 0,
            hello TEXT NOT NULL
        ) STRICT
        """,
        "lines": """
        CREATE TABLE lines (
            id INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            type TEXT NOT NULL,
            source TEXT,
            series TEXT,
            value REAL,
            line TEXT NOT NULL
        ) STRICT
        """,
        "stats": """
        CREATE TABLE stats (
            id INTEGER PRIMARY KEY,
            line TEXT NOT NULL
        ) STRICT
        """,
        "marks": """
        CREATE TABLE marks (
            id INTEGER PRIMARY KEY,
            time INTEGER NOT NULL
        ) STRICT
        """,
        "lines_time": "CREATE INDEX lines_time ON lines (time)",
    ]

    /// The table of a fleet's positions, created when first needed; exactly as the file stores it.
    static let positions = """
        CREATE TABLE positions (
            member TEXT NOT NULL,
            run TEXT NOT NULL,
            seq INTEGER NOT NULL,
            stored INTEGER,
            PRIMARY KEY (member, run)
        ) STRICT
        """

    /// What a journal of an earlier version lacks, created by its next writer. An index of the `alert` lines would take long to
    /// create in a large journal, so there is a table of their ids.
    static let additions = """
        CREATE TABLE IF NOT EXISTS alerts (id INTEGER PRIMARY KEY) STRICT;
        CREATE INDEX IF NOT EXISTS runs_name ON runs (name, base)
        """

    /// The microseconds within a second, also before 1970.
    private static let fraction = "((l.time % 1000000 + 1000000) % 1000000)"
    /// The run, sequence number and time (number and text) of a line `l` and its run `r`.
    private static let identity = """
        r.name AS run, r.base + (l.id & \(JournalPlace.most)) AS seq, l.time AS at,
            strftime('%Y-%m-%dT%H:%M:%S', (l.time - \(fraction)) / 1000000, 'unixepoch')
                || printf('.%06dZ', \(fraction)) AS time
        """
    private static let from = "FROM lines l JOIN runs r ON r.run = l.id >> \(JournalPlace.bits)"

    private static func members(_ names: String...) -> String {
        names.map { "l.line ->> '$.\($0)' AS \($0)" }.joined(separator: ", ")
    }

    /// The types of lines that this program writes about itself; data events have other types.
    static let reserved = """
        'latency', 'window', 'memory', 'agent', 'error', 'recovered', 'progress', 'restart', 'lost', 'peer', 'gap',
        'alert', 'clock', '?'
        """

    /// Views for people; the program itself does not use them.
    static let views = [
        """
        CREATE VIEW events AS SELECT \(identity), l.type, l.source, l.series, l.value, \(members("text", "data")), l.id
            \(from) WHERE l.type NOT IN (\(reserved))
        """,
        """
        CREATE VIEW windows AS SELECT \(identity), l.source, l.series,
            \(members("start", "seconds", "last", "last_seq", "count", "min", "max", "mean", "band", "trend")), l.id
            \(from) WHERE l.type = 'window'
        """,
        """
        CREATE VIEW latencies AS SELECT \(identity), l.source,
            \(members("endpoint", "status", "ms", "dns_ms", "connect_ms", "tls_ms", "wait_ms", "receive_ms", "bytes",
                "reused", "late_ms")), l.id
            \(from) WHERE l.type = 'latency'
        """,
        """
        CREATE VIEW errors AS SELECT \(identity), l.source,
            \(members("endpoint", "code", "message", "attempt", "retry_in_ms")), l.id
            \(from) WHERE l.type = 'error'
        """,
    ]

    /// The kind of database found in a file.
    enum Finding: Equatable {
        case nothing
        case journal
        /// Another program's database.
        case stranger
        /// A journal of another version.
        case version(Int64)
        /// A journal in which this table or index differs; those before it in the list are as expected.
        case changed(String)

        /// The reason why the file is no journal to write to; nil when it is.
        var fault: JournalFault? {
            switch self {
            case .journal: nil
            case .nothing: JournalFault(.corrupt, "no journal yet: it is empty")
            case .stranger: JournalFault(.corrupt, "no journal, but another program's database")
            case .version(let found) where found > JournalSchema.version:
                JournalFault(
                    .corrupt,
                    "written by a later version of catwatch: its schema is \(found), and "
                        + "\(JournalSchema.version) is what this one reads")
            case .version(let found): JournalFault(.corrupt, "no journal: nothing has a schema of version \(found)")
            case .changed(let name):
                JournalFault(.corrupt, "no journal: its table \(name) is another one, or missing")
            }
        }
    }

    static func look(at database: SQLiteDatabase) throws(JournalFault) -> Finding {
        let (application, found) = (
            try database.integer("PRAGMA application_id"), try database.integer("PRAGMA user_version")
        )
        if application == 0, found == 0, try database.integer("SELECT count(*) FROM sqlite_schema") == 0 {
            return .nothing
        }
        guard application == applicationID else { return .stranger }
        guard found == version else { return .version(found ?? 0) }
        let tables = try database.prepare("SELECT count(*) FROM sqlite_schema WHERE name = ? AND sql = ?")
        for (name, sql) in Self.tables {
            tables.bind(1, name)
            tables.bind(2, sql)
            guard try tables.step(), tables.integer(0) == 1 else { return .changed(name) }
            tables.reset()
        }
        let others = try database.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'positions' AND sql <> ?")
        others.bind(1, positions)
        guard try others.step(), others.integer(0) == 0 else { return .changed("positions") }
        return .journal
    }

    /// Creates the tables in an empty file.
    static func make(in database: SQLiteDatabase) throws(JournalFault) {
        let statements = (Self.tables.map(\.value) + views).joined(separator: ";\n")
        try database.run(
            "BEGIN IMMEDIATE; PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version);"
                + statements + "; COMMIT")
    }
}
