import Feed
import Reactor
import Testing

@testable import Conditions

/// A feed for conditions, by seconds since its beginning.
struct ConditionStage {
    static let start = Timestamp(seconds: 1_780_000_000)

    private var unsettled: ConditionEvaluator
    /// Answers end with their batch: here, once somebody looks, or time passes.
    var evaluator: ConditionEvaluator {
        get {
            var evaluator = unsettled
            evaluator.settle(at: moment)
            return evaluator
        }
        set { unsettled = newValue }
    }
    private var sequence = 0
    private var now = start

    /// - Parameter sources: the members of each object of `sources` in the first `stats`.
    init(_ lines: String..., sources: [String] = [], isEvaluating: Bool = true, reportsChanges: Bool = false) throws {
        unsettled = ConditionEvaluator(
            try lines.map { try Condition($0) }, at: Self.moment(Self.start), isEvaluating: isEvaluating,
            reportsChanges: reportsChanges)
        try greet(sources)
    }

    /// The clock that does not step has the same time.
    private static func moment(_ time: Timestamp) -> Moment {
        Moment(wall: time, now: LoopInstant(nanoseconds: (time - start).nanoseconds + 1_000_000_000))
    }

    var moment: Moment { Self.moment(now) }
    var isMet: Bool { evaluator.isMet(0) }

    /// What the first condition comes to, in words.
    var finding: String? {
        mutating get { evaluator.finding(of: 0).map { "\($0.name) \($0.text)" } }
    }

    private mutating func greet(_ sources: [String]) throws {
        try send(
            #"{"type":"hello","time":"\#(time)","format":1,"run":"r","filtered":false,"interval_s":10,"history_s":120,"first_seq":1,"next_seq":1,"host":{"name":"h","device":"","os":"","kernel":"","arch":""},"app":{"name":"catwatch","version":"0.1.0","started":"\#(time)"}}"#
        )
        let list = sources.map { "{\($0)}" }.joined(separator: ",")
        try send(
            #"{"type":"stats","time":"\#(time)","as_of":\#(sequence),"endpoints":[],"sources":[\#(list)]}"#)
    }

    /// To the microsecond.
    private static func time(_ seconds: Double) -> Timestamp {
        start + .microseconds(Int64((seconds * 1_000_000).rounded()))
    }

    /// Lets time pass until so many seconds after the beginning.
    mutating func pass(to seconds: Double) {
        let end = Self.moment(Self.time(seconds))
        if end.wall > now { unsettled.settle(at: moment) }
        while unsettled.isEvaluating, let due = unsettled.nextDue, due <= end.now {
            unsettled.tick(at: Moment(wall: end.wall - due.duration(to: end.now), now: due))
        }
        now = end.wall
    }

    /// Sends a data line of a source, or of one of its series, at a time.
    mutating func data(_ series: String, _ seconds: Double, _ members: String, time: Double? = nil) throws {
        let source = series.split(separator: "/")[0]
        try send(seconds, "x", String(source), #""series":"\#(series)",\#(members)"#, time: time)
    }

    mutating func value(_ series: String, _ seconds: Double, _ value: Double) throws {
        try data(series, seconds, #""value":\#(value)"#)
    }

    mutating func latency(_ source: String, _ seconds: Double, status: Int = 200, ms: Double = 5) throws {
        try send(
            seconds, "latency", source,
            #""endpoint":"GET http://h/","status":\#(status),"ms":\#(ms),"dns_ms":0,"connect_ms":0,"tls_ms":0,"wait_ms":1,"receive_ms":1,"bytes":2,"reused":true,"late_ms":0"#
        )
    }

    mutating func error(_ source: String, _ seconds: Double, code: String = "connect") throws {
        try send(
            seconds, "error", source,
            #""code":"\#(code)","message":"Connection refused","endpoint":"GET http://h/","attempt":1"#)
    }

    mutating func recovered(_ source: String, _ seconds: Double) throws {
        try send(seconds, "recovered", source, #""down_s":1,"attempts":1"#)
    }

    /// Sends a numbered line at a time.
    ///
    /// - Parameter time: of the line, if it is another one.
    mutating func send(
        _ seconds: Double, _ type: String, _ source: String, _ members: String, time: Double? = nil
    ) throws {
        pass(to: seconds)
        sequence += 1
        let written = time.map { Self.time($0) } ?? now
        try send(
            #"{"seq":\#(sequence),"time":"\#(written.text)","type":"\#(type)","source":"\#(source)",\#(members)}"#)
    }

    mutating func evaluate() { evaluator.evaluateAll(at: moment) }

    mutating func peer(_ agent: String, _ second: Double, _ state: String, heard: Double) throws {
        let heard = (Self.start + .seconds(heard)).text
        try send(
            second, "peer", agent,
            #""state":"\#(state)","since":"\#(heard)","heard":"\#(heard)","lost":0,"agent":"\#(agent)""#)
    }

    /// Sends a data line of an agent of a fleet.
    mutating func forwarded(_ agent: String, _ source: String, _ seconds: Double, _ value: Double) throws {
        try send(
            seconds, "x", "\(agent).\(source)",
            #""series":"\#(agent).\#(source)","value":\#(value),"agent":"\#(agent)","origin_run":"o","origin_seq":1"#)
    }

    /// The time of the feed, as lines write it.
    private var time: String { now.text }

    private mutating func send(_ line: String) throws {
        let decoded = try LineDecoder.decode(Array(line.utf8)[...])
        if case .unknown = decoded.body { Issue.record("no line of the format: \(line)") }
        unsettled.apply(decoded, at: moment)
    }
}

extension Timestamp {
    var text: String {
        var text = TimestampText()
        let quoted = LineWriter.bytes(atMost: 32) { text.write(self, to: &$0) }
        return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self)
    }
}
