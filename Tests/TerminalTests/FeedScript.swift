import Reactor
import TestSupport

@testable import Feed
@testable import Terminal

/// Makes the lines of a feed, one after the other, and a view that has taken them in.
struct FeedScript {
    static let noon = Timestamp(seconds: 1_772_366_400)  // 2026-03-01T12:00:00Z

    var view: TerminalView
    private(set) var sequence = 0
    var now = FeedScript.noon

    init(columns: Int = 80, rows: Int = 24, connection: TerminalView.Connection = .open) {
        view = TerminalView(size: ScreenSize(columns: columns, rows: rows), connection: connection)
    }

    /// A line came from somewhere else.
    mutating func skip() { sequence += 1 }

    mutating func pass(_ seconds: Double) { now = now + .microseconds(Int64(seconds * 1e6)) }

    mutating func hello(run: String = "1", interval: Int = 10, history: Int = 120) {
        let host = AgentIdentity.Host(
            name: "observatory", device: "QEMU Standard PC", os: "Debian GNU/Linux 12 (bookworm)",
            kernel: "6.1.0-18-amd64",
            arch: "x86_64")
        let app = Line.App(name: "catwatch", version: "0.5.0", started: now - .seconds(7_384))
        apply(
            nil, "hello", nil,
            .hello(
                Line.Hello(
                    format: 1, run: run, filtered: false, interval: .seconds(interval), history: .seconds(history),
                    firstSeq: 1,
                    nextSeq: 1, host: host, app: app)))
    }

    mutating func apply(_ seq: Int?, _ type: String, _ source: String?, _ body: Line.Body) {
        view.apply(Line(seq: seq, time: now, type: type, source: source, body: body), now: now)
    }

    mutating func add(_ type: String, _ source: String, _ body: Line.Body) {
        sequence += 1
        apply(sequence, type, source, body)
    }

    mutating func alert(
        _ about: String, _ condition: String = "hot", value: Double? = 1_130, severity: String? = nil,
        limit: Alert.Limit? = Alert.Limit(.greater, 1_000), note: String? = nil, from: Int = 640, to: Int = 811,
        isOver: Bool = false
    ) {
        let alert = Alert(
            about: about, condition: condition, state: isOver ? .resolved : .firing, id: "1", at: now, since: now,
            severity: severity, value: value, test: about + " > 1000", limit: limit, note: note,
            down: isOver ? .seconds(1) : nil, reason: isOver ? .until : nil,
            evidence: Alert.Evidence(run: "1", from: from, to: to))
        add("alert", String(about.prefix { $0 != "/" }), .alert(alert))
    }

    mutating func data(
        _ source: String, key: String? = nil, _ value: Double? = nil, text: String? = nil, json: String? = nil,
        pointer: String? = nil
    ) {
        let series = key.map { source + "/" + $0 } ?? source
        let bytes = json.map { Bytes(Array($0.utf8)) }
        var data = Line.Data(series: series, value: value, text: text, data: bytes, truncated: false)
        data.valuePointer = pointer
        add(source, source, .data(data))
    }

    mutating func latency(_ source: String, _ endpoint: String, ms: Double, reused: Bool = true) {
        var sample = LatencySample(endpoint: endpoint, status: 200, ms: ms)
        sample.reused = reused
        if !reused { (sample.dns, sample.connect, sample.tls) = (1.1, ms * 0.15, ms * 0.3) }
        sample.receive = 0.5
        sample.wait = ms - sample.dns - sample.connect - sample.tls - 0.5
        add("latency", source, .latency(sample))
    }

    mutating func fail(_ source: String, _ failure: Failure) { add("error", source, .error(failure)) }

    mutating func frame() -> CellGrid { view.frame(now: now) }

    mutating func press(_ keys: Key...) { for key in keys { _ = view.handle(key, now: now) } }

    mutating func type(_ text: String) {
        for scalar in text.unicodeScalars { _ = view.handle(.character(scalar), now: now) }
    }

    /// Moves to a series by its name.
    mutating func choose(_ series: String) {
        view.state.selected = view.board.series(named: series).map { .series($0) }
    }

    // MARK: Feeds

    static let bands = BandScale(
        [
            Band(name: "good", letter: "G", color: .init(red: 0, green: 0xB0, blue: 0x50), upTo: 50),
            Band(name: "satisfactory", letter: "S", color: .init(red: 0x92, green: 0xD0, blue: 0x50), upTo: 100),
            Band(name: "moderate", letter: "M", color: .init(red: 0xFF, green: 0xE0, blue: 0x30), upTo: 200),
            Band(name: "poor", letter: "P", color: .init(red: 0xFF, green: 0x99, blue: 0), upTo: 300),
            Band(name: "very poor", letter: "V", color: .init(red: 0xF0, green: 0x30, blue: 0x30), upTo: 400),
            Band(name: "severe", letter: "X", color: .init(red: 0xC0, green: 0, blue: 0), upTo: nil),
        ], higherIsBetter: false)

    /// Two minutes of everything: facts, air in cities of many scripts, breeds, latencies, memory.
    static func busy(columns: Int = 80, rows: Int = 24) -> FeedScript {
        var script = FeedScript(columns: columns, rows: rows)
        script.now = noon - .seconds(121)
        script.hello()
        let sources = [("fact", nil), ("aqi", "µg/m³"), ("breeds", nil)].map { name, unit in
            SourceStatus(
                source: name, state: .starting, since: script.now, type: name, unit: unit,
                bands: name == "aqi" ? bands : nil)
        }
        script.apply(nil, "stats", nil, .stats(Line.Stats(asOf: 0, endpoints: [], sources: sources)))
        var random = SeededGenerator(seed: 1)
        let cities = [
            ("Delhi", 310.0), ("München", 32), ("東京", 48), ("القاهرة", 140), ("🐈‍⬛ Katzhausen", 88), ("São Paulo", 64),
        ]
        let facts = [
            "Cats sleep for about two thirds of the day.", "A group of cats is called a clowder.",
            "A cat has 32 muscles in each ear, which is why it hears you open the tin from three rooms away.",
            "The oldest known pet cat lived 9,500 years ago.",
        ]
        for step in 0..<61 {
            script.pass(2)
            let fact = facts[step % facts.count]
            if step < 32 || step > 36 {
                script.latency(
                    "fact", "GET https://catfact.ninja/fact", ms: 110 + Double(random.next() % 60), reused: step != 0)
                script.data(
                    "fact", Double(fact.count), text: fact, json: #"{"fact":"\#(fact)","length":\#(fact.count)}"#)
            } else {
                script.fail(
                    "fact",
                    Failure(
                        .timeout, "no answer from catfact.ninja within 1 s", endpoint: "GET https://catfact.ninja/fact",
                        attempt: step - 31, retryIn: .seconds(2)))
            }
            for (place, city) in cities.enumerated() {
                let wave = Double((step * (place + 2)) % 40) * city.1 / 80
                script.data("aqi", key: city.0, (city.1 + wave - city.1 / 4 + Double(random.next() % 7)).rounded())
            }
            if step % 5 == 0 {
                let bytes = 14_000_000 + step * 20_000
                script.add(
                    "memory", "catwatch",
                    .memory(MemorySample(resident: bytes, peak: bytes + 1_000_000, privateBytes: 5_242_880)))
                script.add(
                    "agent", "catwatch",
                    .agent(
                        Line.Agent(
                            events: script.sequence, readers: 2, gaps: 0, late: 1, series: 11, refusedSeries: 0,
                            refusedEndpoints: 0,
                            loopLag: 0.3, cpu: 412,
                            outputs: [Line.Output(output: "unix:/run/catwatch/catwatch.sock", state: "ok", behind: 0)]))
                )
            }
        }
        script.latency("breeds", "GET https://catfact.ninja/breeds", ms: 181, reused: false)
        script.add("progress", "breeds", .progress(Progress(done: 60, total: 98, page: 2)))
        for (name, country, coat) in [("Abyssinian", "Ethiopia", "Short"), ("Aegean", "Greece", "Semi-long")] {
            script.data(
                "breeds", key: name, text: "\(name), \(country)",
                json:
                    #"{"breed":"\#(name)","country":"\#(country)","origin":"Natural/Standard","coat":"\#(coat)","pattern":"Ticked"}"#
            )
        }
        return script
    }

    /// Everything that wants to do harm.
    static func hostile(columns: Int = 80, rows: Int = 24) -> FeedScript {
        var script = FeedScript(columns: columns, rows: rows)
        script.hello()
        script.pass(1)
        let names = [
            "\u{1B}[2J\u{1B}[31mred", "a\u{202E}dlrow", "e\u{301}\u{301}\u{301}", "\r\nline\ttab", "\u{9B}31m", "🏴‍☠️🇩🇪👩‍👩‍👧‍👦",
            "\u{200B}\u{FEFF}", "שלום עולם", String(repeating: "猫", count: 60),
        ]
        for (place, name) in names.enumerated() {
            script.data(
                "x", key: name, Double(place) * 1e18 - 3, text: name + "\u{7}\u{1B}]0;title\u{7}",
                json: #"{"url":"javascript:alert(1)","k\u001b[1m":"\u001b]8;;https://x\u0007"}"#)
        }
        script.fail("x", Failure(.status, "\u{1B}[2J\u{202E}503"))
        return script
    }
}
