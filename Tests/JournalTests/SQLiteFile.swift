import CSQLite
import Testing

/// A database asked and changed as people do, and as programs do that are no friends.
enum SQLiteFile {
    /// Runs statements; gives the rows' columns, joined by `|`.
    @discardableResult
    static func run(_ statements: String, in path: String) throws -> [String] {
        let connection = try Connection(path)
        return try connection.run(statements)
    }

    /// A connection that stays.
    final class Connection {
        private var handle: OpaquePointer?

        init(_ path: String) throws {
            guard sqlite3_open(path, &handle) == SQLITE_OK else { throw Failure(reason: "cannot open \(path)") }
            sqlite3_busy_timeout(handle, 5_000)
        }

        deinit { sqlite3_close(handle) }

        @discardableResult
        func run(_ statements: String) throws -> [String] {
            var rows: [String] = []
            var message: UnsafeMutablePointer<CChar>?
            let code = withUnsafeMutablePointer(to: &rows) { rows in
                sqlite3_exec(
                    handle, statements,
                    { rows, count, columns, _ in
                        let texts = (0..<Int(count)).map { columns?[$0].map { String(cString: $0) } ?? "" }
                        rows?.assumingMemoryBound(to: [String].self).pointee.append(texts.joined(separator: "|"))
                        return 0
                    }, rows, &message)
            }
            defer { sqlite3_free(message) }
            guard code == SQLITE_OK else { throw Failure(reason: message.map { String(cString: $0) } ?? "\(code)") }
            return rows
        }
    }

    struct Failure: Error { var reason: String }
}
