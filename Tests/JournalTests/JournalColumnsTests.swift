import Feed
import Glibc
import Journal
import Reactor
import TestSupport
import Testing

/// Columns of a series out of a file, against those that are made of its lines one by one.
@Suite(.limited) struct JournalColumnsTests: JournalSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let start = Timestamp(seconds: 1_000_000)

    private static func query(
        _ series: String, _ source: String, width: Int64, _ from: Double = -10_000, _ until: Double = 10_000
    ) -> ColumnQuery {
        func time(_ seconds: Double) -> Timestamp { start + .microseconds(Int64(seconds * 1e6)) }
        return ColumnQuery(
            of: series, source: source, width: width * 1_000_000, from: time(from), until: time(until))
    }

    /// All columns, and how often the journal was asked.
    private static func read(_ history: SQLiteHistory, _ query: ColumnQuery) throws -> ([Column], Int) {
        var (query, columns, pages) = (query, [Column](), 0)
        while true {
            let page = try history.columns(query)
            pages += 1
            for part in page.columns {
                if columns.last?.start == part.start {
                    columns[columns.count - 1].absorb(part)
                } else {
                    columns.append(part)
                }
            }
            guard let next = page.next else { return (columns, pages) }
            #expect(next > query.from && next < query.until)
            query.from = next
        }
    }

    /// The same, line by line.
    private static func expected(_ history: SQLiteHistory, _ query: ColumnQuery) throws -> [Column] {
        var lines: [(time: Timestamp, bytes: ArraySlice<UInt8>)] = []
        for page in try LineReader.pages(history) {
            for bytes in page.lines.split(separator: 0x0A) {
                let time = try LineDecoder.decode(bytes).time
                if query.from..<query.until ~= time { lines.append((time, bytes)) }
            }
        }
        var columns: [Column] = []
        // Stable: of equal times the later number is the last one.
        for (_, line) in lines.enumerated().sorted(by: { ($0.1.time, $0.0) < ($1.1.time, $1.0) }) {
            guard let part = query.column(line.bytes, at: line.time) else { continue }
            if columns.last?.start == part.start {
                columns[columns.count - 1].absorb(part)
            } else {
                columns.append(part)
            }
        }
        return columns
    }

    /// Whether they are the same but for the rounding of means.
    private static func areEqual(_ some: [Column], _ others: [Column]) -> Bool {
        some.count == others.count
            && zip(some, others).allSatisfy { one, other in
                var one = one
                let (mean, expected) = (one.values?.mean ?? 0, other.values?.mean ?? 0)
                one.values?.mean = expected
                return one == other && abs(mean - expected) <= 1e-9 * max(1, abs(expected))
            }
    }

    private static let series = [
        ("s", "s"), ("s/a", "s"), ("latency:s", "s"), ("memory:catwatch", "catwatch"), ("count:s", "s"), ("t'\"é", "t"),
        ("s", "t"), ("none", "none"),
    ]

    /// A line of some kind; its members behind the time.
    private static func members(_ random: inout SeededGenerator) -> String {
        let value = Double(Int(random.next() % 2_000)) / 8 - 100
        switch random.next() % 12 {
        case 0: return #""type":"s","source":"s","series":"s","value":\#(value)"#
        case 1: return #""type":"s","source":"s","series":"s","value":1e300"#
        case 2: return #""type":"s","source":"s","series":"s/a","value":\#(value)"#
        case 3: return #""type":"t","source":"t","series":"t'\"é","value":\#(value)"#
        case 4: return #""type":"s","source":"s","series":"s","text":"no value"}"#.replacing("}", with: "")
        case 5:
            return #""type":"latency","source":"s","endpoint":"e","status":200,"ms":\#(abs(value)),"dns_ms":0,"#
                + #""connect_ms":0,"tls_ms":0,"wait_ms":0,"receive_ms":0,"bytes":1,"reused":true,"late_ms":0"#
        case 6:
            return
                #""type":"memory","source":"catwatch","rss_bytes":\#(Int(abs(value))),"peak_bytes":9,"private_bytes":1"#
        case 7: return #""type":"progress","source":"s","done":1,"items":\#(Int(abs(value)))"#
        case 8: return #""type":"progress","source":"s","done":1,"page":1"#
        case 9: return #""type":"error","source":"s","code":"timeout","message":"late""#
        case 10: return #""type":"error","source":"t","code":"timeout","message":"late""#
        default:
            return #""type":"window","source":"s","series":"s","start":"1970-01-12T13:46:40.000000Z","seconds":10,"#
                + #""last":5,"last_seq":1,"count":1,"min":5,"max":5,"mean":5"#
        }
    }

    @Test(arguments: 1...UInt64(LongRun.rounds(short: 1, long: 20)))
    func areThoseOfTheLines(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let store = try openStore()
        for run in ["one", "two"] {
            var feed = FeedOfLines(run: run)
            var pieces = [feed.greeting]
            for _ in 0..<300 {
                // Often at the same time, and often back.
                let seconds = Double(random.next() % 2_000) / 4 - 250
                feed.add(time: Self.start + .microseconds(Int64(seconds * 1e6)), Self.members(&random))
            }
            pieces += feed.pieces()
            pieces.append(feed.skip(301...310))
            try store.commit(pieces, at: now)
        }
        let whole = SQLiteHistory(path: path)
        for (series, source) in Self.series {
            for (width, from, until) in [
                (1, -250.0, 250.0), (7, -33.3, 100.000001), (1_000, -1_000_010, 1_000), (60, 0, 0.25),
            ] {
                let query = Self.query(series, source, width: Int64(width), from, until)
                let expected = try Self.expected(whole, query)
                for most in [10, 100_000] {
                    let (columns, pages) = try Self.read(SQLiteHistory(path: path, atMost: most), query)
                    let isEqual = Self.areEqual(columns, expected)
                    #expect(isEqual, "seed \(seed), \(series) of \(source), width \(width), \(most) at once")
                    #expect((pages > 1) == (most < 100_000 && until - from > 1))
                }
            }
        }
        store.close()
    }

    @Test func sayWhenTheOldestLineWas() throws {
        let store = try openStore()
        let history = SQLiteHistory(path: path)
        #expect(try history.columns(Self.query("fact", "fact", width: 60)).oldest == nil)
        var feed = FeedOfLines(run: "one")
        try store.commit([feed.greeting] + feed.add(5, from: Self.start + .seconds(50)), at: now)
        feed.add(time: Self.start, #""type":"fact","source":"fact","series":"fact","value":1"#)
        try store.commit(feed.pieces(), at: now)
        let page = try history.columns(Self.query("fact", "fact", width: 60, 100, 200))
        #expect(page.columns.isEmpty && page.next == nil && page.oldest == Self.start)
        store.close()
    }

    /// The greatest and the least numbers, and times at the ends of what there is.
    @Test func haveFiniteNumbers() throws {
        let store = try openStore()
        var feed = FeedOfLines(run: "one")
        for value in [
            "1.7976931348623157e308", "1.7976931348623157e308", "-1.7976931348623157e308", "-1.7976931348623157e308",
        ] {
            feed.add(time: Self.start, #""type":"s","source":"s","series":"s","value":\#(value)"#)
        }
        try store.commit([feed.greeting] + feed.pieces(), at: now)
        let ends = Timestamp(microseconds: -62_167_219_200_000_000)..<Timestamp(microseconds: 253_402_300_799_999_999)
        let query = ColumnQuery(
            of: "s", source: "s", width: 31_622_400_000_000, from: ends.lowerBound, until: ends.upperBound)
        let (columns, _) = try Self.read(SQLiteHistory(path: path), query)
        #expect(columns.count == 1 && columns[0].values?.count == 4)
        #expect(columns[0].values.map { $0.mean.isFinite && $0.minimum <= $0.mean && $0.mean <= $0.maximum } == true)
        store.close()
    }
}
