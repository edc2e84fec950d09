import Glibc
import Reactor
import TestSupport
import Testing

@testable import Feed

/// Writes feeds that nobody would think of, and what they are folded into here, for Tests/page/twin.test.mjs to fold as well:
/// vectors as in Tests/Vectors/board, into the folder that CATWATCH_TWIN_FEEDS names. Tests/run.sh runs both.
@Suite(.limited, .enabled(if: getenv("CATWATCH_TWIN_FEEDS") != nil)) struct BoardTwinTests {
    @Test func writesFeedsAndWhatTheyFoldInto() throws {
        let folder = String(cString: try #require(getenv("CATWATCH_TWIN_FEEDS")))
        for seed in 0..<UInt64(LongRun.rounds(short: 150, long: 5_000)) {
            var feed = TwinFeed(seed: seed)
            let file = try #require(fopen("\(folder)/seed-\(seed).json", "w"))
            #expect(fputs(feed.vector().text, file) >= 0 && fclose(file) == 0)
        }
    }
}

/// One feed: lines of every kind, some of them hostile, as an agent sends them: mended, and without those that are none.
private struct TwinFeed {
    private var json: JSONGenerator
    private var sequence = 0
    private var seconds = 1_772_366_400.0
    private let limits: [String: Int]

    init(seed: UInt64) {
        json = JSONGenerator(seed: seed)
        var limits: [String: Int] = [:]
        let most = [
            "series": 9, "points": 20, "windows": 12, "errors": 12, "points_per_series": 12, "windows_per_series": 4,
            "endpoints": 5, "sources": 7, "memory": 4,
            "lines": 30, "gaps": 3, "data_per_event": 60, "outputs": 2, "errors_per_source": 4, "agents": 3,
            "alerts": 4,
        ]
        for (name, limit) in most.sorted(by: { $0.key < $1.key }) where Bool.random(using: &json.random) {
            limits[name] = Int.random(in: limit / 2...limit, using: &json.random)
        }
        self.limits = limits
    }

    mutating func vector() -> VectorJSON {
        let given = VectorJSON.object(limits.mapValues { .int($0) })
        var board = Board(limits: BoardVectorTests().limits(given))
        var lines: [VectorJSON] = []
        for _ in 0..<Int.random(in: 1...200, using: &json.random) {
            guard let line = Self.sent(Bytes(Array(line().utf8))) else { continue }
            board.apply(line.line)
            lines.append(.string(String(decoding: line.bytes, as: UTF8.self)))
        }
        let width = pick([1_000_000, 10_000_000, 7_000_000, 60_000_000, 1, 333_333])
        let (from, to) = (1_772_366_390_000_000, 1_772_366_400_000_000 + Int(pick([0, 5_000_000, 900_000_000])))
        let range = Timestamp(microseconds: Int64(from))..<Timestamp(microseconds: Int64(to))
        return .object([
            "limits": given, "lines": .array(lines), "width_us": .int(width),
            "from_us": .int(from), "to_us": .int(to),
            "state": board.vectorState(width: .microseconds(width), over: range),
        ])
    }

    /// What an agent sends for a line of another one; nil for nothing.
    private static func sent(_ bytes: Bytes) -> RelayedLine? {
        guard let line = try? LineDecoder.decode(bytes) else { return nil }
        let relayed = RelayedLine(line, bytes: bytes)
        guard !line.flaws.isEmpty else { return relayed }
        guard let mended = LineMending.mended(relayed) else { return nil }
        return (try? LineDecoder.decode(mended)).map { RelayedLine($0, bytes: mended) }
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        // There is no empty array here.
        elements.randomElement(using: &json.random) ?? elements[0]
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &json.random) < percent }

    private mutating func name() -> String {
        chance(4)
            ? String(repeating: pick(["n", "é", "😺"]), count: Int.random(in: 500...2_100, using: &json.random))
            : pick([
                "fact", "aqi", "dog", "s1", "__proto__", "constructor", "café", "cafe\u{301}", "猫", "\u{202e}x",
                "fact\\u0041", "\\ud800", "😺", "",
            ])
    }

    private mutating func time() -> String {
        if chance(3) {
            return pick(["2026-03-01T12:00:00+02:00", "2026-02-28T23:59:60Z", "1969-12-31T23:59:59.5Z", "x"])
        }
        let micros = Int64((seconds + (chance(20) ? Double(Int.random(in: -90...5, using: &json.random)) : 0)) * 1e6)
        return Self.text(micros)
    }

    /// Without quotes.
    private static func text(_ microseconds: Int64) -> String {
        var text = TimestampText()
        let quoted = GuardedMemory.text(atMost: 29) { text.write(Timestamp(microseconds: microseconds), to: &$0) }
        return String((quoted ?? "??").dropFirst().dropLast())
    }

    private mutating func number() -> String {
        chance(15)
            ? json.number() : pick(["1", "2.5", "-32.125", "\(Int.random(in: -9...99, using: &json.random))", "0"])
    }

    private mutating func text() -> String {
        chance(20) ? String(json.string().dropFirst().dropLast()) : pick(["a", "no answer", "Cats sleep.", "é猫😺", ""])
    }

    /// `"key":value`
    private mutating func line() -> String {
        seconds += Double(Int.random(in: 0...4, using: &json.random)) * 0.75
        var members = members()
        if chance(4) { members.append(pick(members)) }
        if chance(3) { members.removeLast() }
        if chance(3) { members.append("\"\(name())\":\(number())") }
        let space = chance(5) ? " " : ""
        let line = "{" + members.joined(separator: "," + space) + "}"
        return chance(6) ? String(decoding: json.broken(Array(line.utf8)), as: UTF8.self) : line
    }

    private mutating func members() -> [String] {
        let head = "\"time\":\"\(time())\""
        switch Int.random(in: 0..<100, using: &json.random) {
        case 0..<3:
            return [
                "\"type\":\"hello\"", head, "\"format\":1", "\"run\":\"\(pick(["a", "a", "a", "b"]))\"",
                "\"filtered\":\(chance(30))", "\"history_s\":\(pick(["30", "120", "0", "1e9", "0.5"]))",
                "\"first_seq\":1", "\"next_seq\":1",
            ]
        case 3..<7: return ["\"type\":\"stats\"", head] + stats()
        case 7..<10:
            let from = max(sequence + Int.random(in: -3...3, using: &json.random), 1)
            sequence = max(sequence, from + Int.random(in: 0...4, using: &json.random))
            return ["\"type\":\"gap\"", head, "\"from\":\(from)", "\"to\":\(sequence)", "\"reason\":\"\(text())\""]
        case 10..<11: return ["\"type\":\"bye\"", head, "\"reason\":\"\(text())\""]
        case 11..<14:
            let kept = ["\"seq\":\(pick([0, 0, 1, sequence]))", head] + alert() + (chance(40) ? origin() : [])
            return [
                "\"type\":\"kept\"", head, "\"run\":\"\(pick(["a", "a", "b"]))\"",
                "\"line\":{\(kept.joined(separator: ","))}",
            ]
        default: break
        }
        sequence += chance(5) ? Int.random(in: -2...4, using: &json.random) : 1
        return ["\"seq\":\(sequence)", head] + numbered() + (chance(40) ? origin() : [])
    }

    private mutating func origin() -> [String] {
        let agent = pick(["web1", "web2", "web10", "-", "__proto__", "no agent", "", "\\u0061"])
        return ["\"agent\":\"\(agent)\""]
            + (chance(70) ? ["\"origin_seq\":\(pick(["1", "7", "0", "-1", "null", "\"7\"", "1.5"]))"] : [])
    }

    private mutating func peer() -> [String] {
        let state = pick(["live", "live", "away", "silent", "forgotten", "new", "\(text())"])
        var members = ["\"state\":\"\(state)\"", "\"since\":\"\(time())\""]
        if chance(60) { members.append("\"heard\":\"\(time())\"") }
        if chance(60) {
            members.append("\"run\":\"\(pick(["a", "b", "!"]))\"")
            members.append("\"host\":{\"name\":\"\(text())\",\"os\":\"\(name())\"}")
            members.append("\"app\":{\"version\":\"\(text())\"}")
        }
        if chance(60) { members.append("\"skew_ms\":\(number())") }
        return members + ["\"lost\":\(pick(["0", "3", "-1", "null"]))"]
    }

    private mutating func stats() -> [String] {
        let endpoints = (0..<Int.random(in: 0...3, using: &json.random)).map { _ in
            let numbers = ["last", "mean", "min", "p50", "p90", "p95", "p99", "max"].map { "\"\($0)_ms\":\(number())" }
            return "{\"endpoint\":\"GET \(name())\",\"source\":\"\(name())\",\"count\":\(pick([0, 1, 3, 150])),"
                + "\"errors\":\(pick([0, 2])),\(numbers.joined(separator: ","))}"
        }
        let sources = (0..<Int.random(in: 0...3, using: &json.random)).map { _ in
            let letter = pick(["l", "👩‍🚀", "e\u{301}", "é"])
            let bands =
                chance(40)
                ? ",\"bands\":[{\"name\":\"low\",\"letter\":\"\(letter)\",\"color\":\"#00Ff00\",\"up_to\":\(number())},{\"name\":\"\(pick(["high", "é猫"]))\",\"letter\":\"h\",\"color\":\"#ff0000\"}]"
                : ""
            return "{\"source\":\"\(name())\",\"state\":\"\(pick(["ok", "failing", "starting", "new"]))\""
                + (chance(70) ? ",\"since\":\"\(time())\"" : "")
                + (chance(50) ? ",\"unit\":\"\(pick(["AQI", "µg/m³"]))\"" : "")
                + (chance(30) ? ",\"type\":\(json.string())" : "")
                + (chance(30) ? ",\"every_s\":\(pick(["10", "60", "0.5"]))" : "")
                + (chance(40) ? ",\"answered_at\":\"\(time())\"" : "")
                + (chance(60) ? ",\"code\":\"\(text())\"" : "") + (chance(60) ? ",\"message\":\"\(text())\"" : "")
                + (chance(40) ? ",\"attempt\":\(pick([1, 7]))" : "") + (chance(40) ? ",\"retry_at\":\"\(time())\"" : "")
                + (chance(20) ? ",\"runs_once\":true" : "")
                + (chance(30)
                    ? ",\"value_pointer\":\(pick(["\"/a\"", "7", "\"\(String(repeating: "é", count: 129))\""]))" : "")
                + bands + "}"
        }
        return [
            "\"as_of\":\(max(sequence - (chance(30) ? 2 : 0), 0))",
            "\"endpoints\":[\(endpoints.joined(separator: ","))]",
            "\"sources\":[\(sources.joined(separator: ","))]", "\"more_sources\":\(pick([0, 0, 3]))",
        ]
    }

    private mutating func alert() -> [String] {
        let long = String(repeating: "é", count: Int.random(in: 900...1_100, using: &json.random))
        let (condition, about) = (
            pick(["hot", "hot", "cold", name()]), pick(["fact/a", "fact", "latency:fact", name()])
        )
        var members = ["\"type\":\"alert\"", "\"source\":\"fact\"", "\"about\":\"\(about)\""]
        members.append("\"condition\":\"\(condition)\"")
        members.append("\"state\":\"\(pick(["firing", "firing", "reminder", "resolved", "new"]))\"")
        members += ["\"id\":\"\(pick(["1", "2", long]))\"", "\"at\":\"\(time())\"", "\"since\":\"\(time())\""]
        members.append("\"test\":\"\(chance(5) ? long : text())\"")
        if chance(50) { members.append("\"op\":\"\(pick([">", "<=", "in", "not in", "~"]))\"") }
        for key in ["value", "threshold", "threshold_to"] where chance(50) { members.append("\"\(key)\":\(number())") }
        for key in ["text", "severity", "note"] where chance(40) { members.append("\"\(key)\":\"\(text())\"") }
        let worst = chance(50) ? ",\"worst\":\(sequence)" : ""
        return members + ["\"evidence\":{\"run\":\"\(pick(["a", long]))\",\"from\":1,\"to\":\(sequence)\(worst)}"]
    }

    private mutating func numbered() -> [String] {
        if chance(12) { return alert() }
        let source = name()
        let from = "\"source\":\"\(source)\""
        switch Int.random(in: 0..<100, using: &json.random) {
        case 0..<8: return ["\"type\":\"peer\"", from] + peer()
        case 8..<40:
            var members = ["\"type\":\"fact\"", from, "\"series\":\"\(source)\(pick(["", "", "/a", "/b"]))\""]
            if chance(80) { members.append("\"value\":\(number())") }
            if chance(50) { members.append("\"text\":\"\(text())\"") }
            if chance(50) { members.append("\"data\":" + String(decoding: json.document(), as: UTF8.self)) }
            if chance(5) { members.append("\"truncated\":true") }
            return members
        case 40..<55:
            return [
                "\"type\":\"latency\"", from, "\"endpoint\":\"GET \(name())\"", "\"status\":\(pick([200, 304, 500]))",
                "\"ms\":\(number())",
            ]
        case 55..<60:
            return ["\"type\":\"memory\"", from]
                + ["rss", "peak", "private"].map { "\"\($0)_bytes\":\(pick([0, 4_096, 1 << 40]))" }
        case 60..<75:
            let start = Int64(seconds / 10 - Double(Int.random(in: 0...9, using: &json.random))) * 10_000_000
            return [
                "\"type\":\"window\"", from, "\"series\":\"\(source)\"", "\"start\":\"\(Self.text(start))\"",
                "\"seconds\":\(pick(["10", "10", "10", "5", "2.5e1"]))", "\"last\":\(number())", "\"last_seq\":1",
                "\"count\":\(pick([1, 2, 5, 70]))", "\"min\":\(number())", "\"max\":\(number())",
                "\"mean\":\(number())",
                "\"band\":\"\(text())\"",
            ]
        case 75..<88:
            return [
                "\"type\":\"error\"", from, "\"code\":\"\(text())\"", "\"message\":\"\(text())\"",
                "\"attempt\":\(pick([1, 3, 0]))",
            ] + (chance(50) ? ["\"endpoint\":\"GET \(name())\""] : [])
                + (chance(50) ? ["\"retry_in_ms\":\(number())"] : [])
        case 88..<92:
            return [
                "\"type\":\"progress\"", from, "\"done\":\(pick([0, 5]))", "\"total\":\(pick(["9", "null", "-1"]))",
            ] + (chance(50) ? ["\"items\":\(pick(["0", "3", "null", "-1", "0.5"]))"] : [])
                + (chance(50)
                    ? ["\"gone\":\(pick(["[]", "[\"a\"]", "[\"b\",\"a\",\"a\"]", "null", "[1]", "\"a\""]))"] : [])
        case 92..<94: return ["\"type\":\"recovered\"", from, "\"down_s\":\(number())", "\"attempts\":\(pick([1, 7]))"]
        case 95..<96: return ["\"type\":\"lost\"", from, "\"from\":\(pick([1, 4]))", "\"to\":\(pick([0, 4, 90]))"]
        case 96..<97: return ["\"type\":\"peer\"", from] + peer()
        case 94..<95: return ["\"type\":\"agent\"", from, "\"events\":\(sequence)", "\"outputs\":[]"]
        default: return ["\"type\":\"\(pick(["new", "restart", "error"]))\"", from]
        }
    }
}
