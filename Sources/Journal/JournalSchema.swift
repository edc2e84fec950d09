/// What a journal's file holds; docs/journal.md describes it for people who ask it by SQL.
enum JournalSchema {
    /// In the file's header: "CATW".
    static let applicationID: Int64 = 0x4341_5457
    /// Of the tables; what a later version writes is not touched.
    static let version: Int64 = 1

    static let statements = """
        CREATE TABLE runs (
            run INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            base INTEGER NOT NULL,
            begun INTEGER NOT NULL,
            ended TEXT,
            hello TEXT NOT NULL
        ) STRICT;
        CREATE TABLE lines (
            id INTEGER PRIMARY KEY,
            time INTEGER NOT NULL,
            type TEXT NOT NULL,
            source TEXT,
            series TEXT,
            value REAL,
            line TEXT NOT NULL
        ) STRICT;
        CREATE INDEX lines_time ON lines (time);
        CREATE TABLE stats (
            id INTEGER PRIMARY KEY,
            line TEXT NOT NULL
        ) STRICT;
        CREATE TABLE marks (
            time INTEGER PRIMARY KEY,
            id INTEGER NOT NULL
        ) STRICT;
        """
}
