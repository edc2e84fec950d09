/// The schema of a journal's file; docs/journal.md describes it for people who query it with SQL.
enum JournalSchema {
    /// The application id in the file's header: "CATW".
    static let applicationID: Int64 = 0x4341_5457
    /// The version of the tables; a file with another version is moved aside.
    static let version: Int64 = 2

    /// The tables and the index by name, with the SQL that creates them, exactly as the file stores it.
    static let tables: KeyValuePairs = [
        "runs": """
        CREATE TABLE runs (
            run INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            base INTEGER NOT NULL,
            begun INTEGER NOT NULL,
            ended TEXT,
            gone INTEGER NOT NULL
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
        "greetings": """
        CREATE TABLE greetings (
            id INTEGER PRIMARY KEY,
            lines TEXT NOT NULL
        ) STRICT
        """,
        "states": """
        CREATE TABLE states (
            id INTEGER PRIMARY KEY,
            lines TEXT NOT NULL
        ) STRICT
        """,
        "alerts": """
        CREATE TABLE alerts (
            condition TEXT NOT NULL,
            about TEXT NOT NULL,
            run TEXT NOT NULL,
            line TEXT NOT NULL,
            PRIMARY KEY (condition, about)
        ) STRICT
        """,
        "marks": """
        CREATE TABLE marks (
            id INTEGER PRIMARY KEY,
            time INTEGER NOT NULL
        ) STRICT
        """,
        "positions": """
        CREATE TABLE positions (
            member TEXT NOT NULL,
            run TEXT NOT NULL,
            seq INTEGER NOT NULL,
            stored INTEGER,
            PRIMARY KEY (member, run)
        ) STRICT
        """,
        "lines_time": "CREATE INDEX lines_time ON lines (time)",
        "lines_alerts": "CREATE INDEX lines_alerts ON lines (id) WHERE type = 'alert'",
    ]

    /// The view for people; the program itself does not use it.
    private static let view = """
        CREATE VIEW feed AS SELECT r.name AS run, l.id - r.base AS seq,
            strftime('%Y-%m-%dT%H:%M:%S', (l.time - l.part) / 1000000, 'unixepoch') || printf('.%06dZ', l.part) AS time,
            l.type, l.source, l.series, l.value, l.line, l.time AS at, l.id
            FROM (SELECT *, (time % 1000000 + 1000000) % 1000000 AS part FROM lines) l
            JOIN runs r ON r.run = (SELECT max(run) FROM runs WHERE run <= l.id)
        """

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
            case .version(let found) where found > 0:
                JournalFault(
                    .corrupt,
                    "written by an earlier version of catwatch: its schema is \(found), and "
                        + "\(JournalSchema.version) is what this one reads")
            case .version: JournalFault(.corrupt, "no journal: nothing has a schema of version 0")
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
        return .journal
    }

    /// Creates the tables in an empty file.
    static func make(in database: SQLiteDatabase) throws(JournalFault) {
        let statements = (Self.tables.map(\.value) + [view]).joined(separator: ";\n")
        try database.run(
            "BEGIN IMMEDIATE; PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version);"
                + statements + "; COMMIT")
    }
}
