import Feed
import Journal
import Reactor
import TestSupport
import Testing

/// What docs/journal.md says of the file, asked of one.
@Suite(.limited) struct JournalDocumentTests: JournalSuite {
    private static let document: String = {
        let folder = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        guard let file = try? Descriptor.open("/\(folder)/docs/journal.md", flags: 0),
            let text = try? file.bytes(limit: 1 << 20)
        else { return "" }
        return String(decoding: text, as: UTF8.self)
    }()

    private static var questions: [String] {
        document.split(separator: "```sql\n").dropFirst().compactMap {
            $0.split(separator: "```").first.map(String.init)
        }
    }

    let folder: TemporaryFolder

    /// A journal with something of everything, of now.
    init() throws {
        folder = try TemporaryFolder()
        let store = try openStore()
        let now = SystemWallClock().now - .seconds(60)
        var feed = FeedOfLines(run: "one")
        let fact = String(repeating: "x", count: 120)
        feed.add(
            time: now,
            #""type":"fact","source":"fact","series":"fact","value":120,"text":"\#(fact)","data":{"fact":"\#(fact)","length":120}"#
        )
        for ms in 1...20 {
            feed.add(time: now, #""type":"latency","source":"fact","endpoint":"GET /","status":200,"ms":\#(ms)"#)
        }
        feed.add(time: now, #""type":"error","source":"fact","code":"dns","message":"no such host","attempt":1"#)
        feed.add(
            time: now,
            #""type":"window","source":"fact","series":"fact","start":"2026-01-01T00:00:00.000000Z","seconds":10,"last":120,"last_seq":1,"count":1,"min":120,"max":120,"mean":120"#
        )
        try store.commit([feed.greeting] + feed.pieces() + [feed.skip(24...30)] + [feed.end("SIGTERM")], at: now)
        store.close()
    }

    @Test func tenQuestionsHaveAnswers() throws {
        #expect(Self.questions.count == 10)
        for question in Self.questions { #expect(!(try SQLiteFile.run(question, in: path).isEmpty), "\(question)") }
    }

    @Test func answersAreWhatTheySay() throws {
        let answers = try Self.questions.map { try SQLiteFile.run($0, in: path) }
        #expect(answers[0].count == 1 && answers[0][0].contains("|fact|120.0|xxx"))
        #expect(answers[4] == ["GET /|19.0"])
        #expect(answers[5].first?.hasPrefix("fact|dns|1|") == true)
        #expect(answers[7].first?.hasPrefix("one|") == true && answers[7].first?.hasSuffix("|SIGTERM") == true)
        #expect(answers[9] == ["one|24|30|journal"])
    }

    @Test func namesEveryColumn() throws {
        let columns = try SQLiteFile.run(
            """
            SELECT DISTINCT p.name FROM sqlite_schema s JOIN pragma_table_info(s.name) p
            WHERE s.type IN ('table', 'view')
            """, in: path)
        for column in columns { #expect(Self.document.contains("`\(column)`"), "\(column)") }
        for name in try SQLiteFile.run("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'", in: path) {
            #expect(Self.document.contains("`\(name)`"), "\(name)")
        }
    }

    @Test func viewsHaveTimesToTheMicrosecond() throws {
        let row = try SQLiteFile.run("SELECT time, at, run, seq FROM feed ORDER BY id", in: path).first?.split(
            separator: "|")
        let parts = try #require(row)
        let time = Array(parts[0].utf8).withUnsafeBufferPointer { RFC3339.parse($0) }
        #expect(time.map { "\($0.microseconds)" } == String(parts[1]) && parts[2] == "one" && parts[3] == "1")
    }
}
