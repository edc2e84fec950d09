/// Lines of a malicious agent: of every type, with the largest, smallest and oddest values that format 1 allows, and
/// random choices for keys. The same for the same seed.
struct HostileFeed {
    private var state: UInt64
    private var sequence = 0

    init(seed: UInt64) { state = seed }

    /// SplitMix64.
    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `count` - 1.
    mutating func number(_ count: Int) -> Int { Int(next() % UInt64(count)) }

    mutating func one<Element>(of elements: [Element]) -> Element { elements[number(elements.count)] }

    // MARK: Values

    private mutating func time() -> String {
        one(of: [
            "0000-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999Z",
            "9999-12-31T23:59:59.999998Z", "9999-12-31T23:59:59-23:59", "2026-03-01T12:00:\(10 + number(50)).000001Z",
            "2026-03-01T12:0\(number(10)):00Z", "2026-03-01T12:00:00Z",
        ])
    }

    private mutating func integer() -> String {
        one(of: ["0", "1", "2", "7", "60", "9223372036854775807", "9223372036854775806", "4611686018427387904", "1e18"])
    }

    private mutating func double() -> String {
        one(of: [
            "0", "-0", "1", "-1", "0.5", "106", "1e308", "-1e308", "1.7976931348623157e308", "5e-324", "-5e-324",
            "1e15",
            "123456789.25", "1e-9", "1e300", "9e15", "1e999",
        ])
    }

    private mutating func seconds() -> String {
        one(of: ["0.000001", "0.000003", "0.5", "1", "10", "60", "3600", "31556952000", "31556951999.999999", "0"])
    }

    /// A JSON string with its quotes.
    private mutating func text() -> String {
        let text = one(of: [
            "a", "b", "x", "fact", "catwatch", "latency:a", "memory:a", "a/b", "", "\\u001b[2J", "\\u202eabc",
            "\u{9B}31m",
            "猫猫猫", "🏴‍☠️🇩🇪👩‍👩‍👧‍👦", "e\u{301}\u{301}\u{301}", "\\ud800", "\u{200B}\u{FEFF}", "שלום", "\\r\\n\\t", " ", "/", "a/",
        ])
        return number(16) == 0 ? "\"" + String(repeating: text, count: 1 + number(200)) + "\"" : "\"" + text + "\""
    }

    private mutating func source() -> String { number(8) == 0 ? text() : one(of: ["\"a\"", "\"b\"", "\"catwatch\""]) }

    private mutating func list(_ most: Int, _ element: (inout HostileFeed) -> String) -> String {
        var elements: [String] = []
        for _ in 0..<number(most + 1) { elements.append(element(&self)) }
        return "[" + elements.joined(separator: ",") + "]"
    }

    private mutating func bands() -> String {
        let ends = one(of: [["1"], ["-1e308", "1e308"], ["0", "5e-324"], ["50", "100", "200"]])
        let all = ends.map { ",\"up_to\":\($0)" } + [""]
        return "["
            + all.map { "{\"name\":\"n\",\"letter\":\"猫\",\"color\":\"#00ff00\"\($0)}" }.joined(separator: ",") + "]"
    }

    private mutating func status() -> String {
        "{\"source\":\(source()),\"state\":\"\(one(of: ["ok", "failing", "starting", "ended"]))\",\"since\":\"\(time())\","
            + "\"unit\":\(text()),\"type\":\(text()),\"takes_n\":true,\(one(of: ["\"every_s\":\(seconds())", "\"runs_once\":true"])),"
            + "\"bands\":\(bands()),\"higher_is_better\":\(one(of: ["true", "false"]))}"
    }

    private mutating func endpoint() -> String {
        "{\"endpoint\":\(text()),\"source\":\(source()),\"count\":\(integer()),\"errors\":\(integer()),"
            + ["last", "mean", "min", "p50", "p90", "p95", "p99", "max"].map { "\"\($0)_ms\":\(double())" }
            .joined(separator: ",") + "}"
    }

    // MARK: Lines

    /// One line without its end; sometimes an invalid one.
    mutating func line() -> String {
        let start = "{\"time\":\"\(time())\",\"type\":"
        switch number(20) {
        case 0:
            return start
                + "\"hello\",\"format\":1,\"run\":\"\(number(3))\",\"filtered\":false,\"interval_s\":\(seconds()),"
                + "\"history_s\":\(seconds()),\"first_seq\":1,\"next_seq\":\(number(2) == 0 ? "1" : integer()),"
                + "\"host\":{\"name\":\(text()),\"os\":\(text()),\"device\":\(text())},"
                + "\"app\":{\"name\":\(text()),\"version\":\(text()),\"started\":\"\(time())\"}}"
        case 1:
            return start + "\"stats\",\"as_of\":\(one(of: ["0", "\(sequence)", integer()])),"
                + "\"endpoints\":\(list(4) { $0.endpoint() }),\"sources\":\(list(4) { $0.status() }),"
                + "\"more_endpoints\":\(integer())}"
        case 2: return start + "\"gap\",\"from\":\(integer()),\"to\":\(integer()),\"reason\":\(text())}"
        case 3:
            return start
                + "\"\(one(of: ["bye", "later"]))\",\"run\":\"1\",\"last_seq\":\(integer()),\"reason\":\(text())}"
        default: return numbered(start)
        }
    }

    private mutating func numbered(_ start: String) -> String {
        sequence += number(30) == 0 ? 1_000 : 1
        let number = number(500) == 0 ? integer() : "\(sequence)"
        let head = "{\"seq\":\(number)," + start.dropFirst()
        let tail = ",\"source\":\(source()),"
        switch self.number(12) {
        case 0:
            let phases = ["dns", "connect", "tls", "wait", "receive", "late"].map { "\"\($0)_ms\":\(double())" }
            return head + "\"latency\"" + tail
                + "\"endpoint\":\(text()),\"status\":\(one(of: ["200", "304", integer()])),"
                + "\"ms\":\(double()),\(phases.joined(separator: ",")),\"bytes\":\(integer())}"
        case 1:
            return head + "\"memory\"" + tail
                + "\"rss_bytes\":\(integer()),\"peak_bytes\":\(integer()),\"private_bytes\":\(integer())}"
        case 2, 3:
            return head + "\"window\"" + tail
                + "\"series\":\(source()),\"start\":\"\(time())\",\"seconds\":\(seconds()),"
                + "\"last\":\(double()),\"last_seq\":1,\"count\":\(integer()),\"min\":\(double()),\"max\":\(double()),"
                + "\"mean\":\(double()),\"band\":\(text()),\"trend\":\(text()),\"revision\":\(integer())}"
        case 4:
            return head + "\"error\"" + tail + "\"code\":\(text()),\"message\":\(text()),\"endpoint\":\(text()),"
                + "\"attempt\":\(integer()),\"retry_in_ms\":\(double())}"
        case 5:
            return head + "\"progress\"" + tail + "\"done\":\(integer()),\"total\":\(integer()),\"page\":\(integer())}"
        case 6:
            return head + "\"agent\"" + tail + "\"events\":\(integer()),\"readers\":\(integer()),\"gaps\":\(integer()),"
                + "\"late\":\(integer()),\"series\":\(integer()),\"refused_series\":\(integer()),"
                + "\"refused_endpoints\":\(integer()),\"loop_lag_ms\":\(double()),\"cpu_ms\":\(double()),"
                + "\"outputs\":\(list(3) { "{\"output\":\($0.text()),\"state\":\($0.text()),\"behind\":\($0.integer())}" })}"
        case 7: return head + "\"recovered\"" + tail + "\"down_s\":\(double()),\"attempts\":\(integer())}"
        case 8:
            let digits = String(repeating: "9", count: 1 + self.number(500))
            let data = one(of: ["\"f\":\"\(digits)\"", "\"ms\":\(double())"])
            return head + "\"fibonacci\"" + tail + "\"series\":\(source()),\"data\":{\"n\":\(integer()),\(data)}}"
        default:
            return head + "\"fact\"" + tail + "\"series\":\(number == "\(sequence)" ? source() : text()),"
                + "\"value\":\(double()),\"text\":\(text()),\"data\":{\"url\":\(text()),\"k\":[\(double()),{\"x\":\(text())}]}}"
        }
    }
}
