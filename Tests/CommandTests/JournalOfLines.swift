import Feed
import Reactor
import TestSupport

@testable import Journal

/// A journal in a folder of its own, of lines that tests write down.
struct JournalOfLines {
    let folder: TemporaryFolder
    let store: SQLiteLineStore
    var path: String { folder.path("journal") }

    init() throws {
        folder = try TemporaryFolder()
        store = SQLiteLineStore(path: folder.path("journal"))
        _ = try store.open()
    }

    /// Adds a run, or more lines of the newest one.
    ///
    /// - Parameters:
    ///   - lines: each from its time on: `"time":…}`.
    ///   - first: the number of the first of them.
    func add(_ run: String, from first: Int = 1, _ lines: [String]) throws {
        let identity = AgentIdentity(run: run, version: "1", started: Timestamp(seconds: 0))
        let hello = ControlLine.hello(
            time: Timestamp(seconds: 0), identity: identity, isFiltered: false, interval: .seconds(10),
            history: .seconds(120), firstSequence: 1, nextSequence: first)
        let stats = ControlLine.stats(time: Timestamp(seconds: 0), asOf: first - 1, endpoints: [], sources: [])
        var log = LineLog()
        for line in Array(repeating: "}", count: first - 1) + lines {
            log.append(atMost: line.utf8.count + 64, at: LoopInstant(nanoseconds: 0)) { sequence, writer in
                var writer = writer
                writer.raw("{\"seq\":")
                writer.integer(sequence)
                writer.raw(",")
                writer.raw(Array(line.utf8)[...])
                writer.raw("\n")
                return writer
            }
        }
        var pieces: [JournalPiece] = [.greeting(hello + stats)]
        var next = first
        while case .lines(let span) = log.read(from: next) {
            pieces.append(.lines(span))
            next = span.sequences.upperBound + 1
        }
        try store.commit(pieces, at: Timestamp(seconds: 0))
    }

    /// Another connection's statements, to do to the file what an agent does not.
    func alter(_ statements: String) throws { try SQLiteDatabase(path, .write).run(statements) }

    /// A file of SQLite's that is no journal.
    static func makeDatabase(_ path: String, _ statements: String) throws {
        try SQLiteDatabase(path, .write).run(statements)
    }

    /// A data event at so many seconds since 1970.
    static func event(_ second: Int, _ source: String = "fact", value: Int = 1, text: String = "Cats sleep.") -> String
    {
        "\(time(second)),\"type\":\"fact\",\"source\":\"\(source)\",\"series\":\"\(source)\",\"value\":\(value),\"text\":\"\(text)\"}"
    }

    static func latency(_ second: Int, _ source: String = "fact", ms: Double) -> String {
        "\(time(second)),\"type\":\"latency\",\"source\":\"\(source)\",\"endpoint\":\"GET http://h/\",\"status\":200,\"ms\":\(ms),\"dns_ms\":0,\"connect_ms\":0,\"tls_ms\":0,\"wait_ms\":0,\"receive_ms\":0,\"bytes\":1,\"reused\":false,\"late_ms\":0}"
    }

    static func failure(_ second: Int, _ source: String = "fact") -> String {
        "\(time(second)),\"type\":\"error\",\"source\":\"\(source)\",\"code\":\"timeout\",\"message\":\"no answer\"}"
    }

    private static func time(_ second: Int) -> String {
        "\"time\":\"1970-01-01T00:0\(second / 60):\(second % 60 < 10 ? "0" : "")\(second % 60).000000Z\""
    }
}
