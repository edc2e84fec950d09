package import Reactor

/// Encodes the store's values as lines of format 1, into memory that the log has reserved.
///
/// Keys come in the order of docs/wire-format.md. Every `most…` gives the most bytes that its namesake may write.
package struct LineEncoder: Sendable {
    // Bound: a line | 1 MiB, 30 levels of objects and arrays, numbers that a double can hold | `data` is left out,
    //   `"truncated":true` is set; a relayed line loses anything else that is too much, or becomes a `gap`
    /// The longest line, its newline included, in bytes.
    package static let longestLine = 1 << 20
    /// How many levels of arrays and objects a line may have, its own object included (decision 0026).
    package static let mostLevels = 30
    // Bound: `text` of an event | 4 KiB | cut, `"truncated":true`
    /// Where `text` is cut, in bytes of UTF-8 before escaping.
    package static let longestText = 4_096
    // Bound: message of an `error` | 1,000 characters (code points) | cut, the last one is `…`
    /// The longest `message` of an `error` line, in characters.
    static let longestMessage = 1_000
    /// Room for the fixed keys, the numbers and the times of any numbered line.
    static let fixed = 640

    var timeText = TimestampText()
    /// The last members of lines that a hub relays, each after a comma; empty for the agent's own lines.
    private(set) var tail: [UInt8] = []
    /// The number of bytes in `tail`.
    private(set) var tailCount = 0

    package init() {}

    /// Ends all further lines with these members.
    mutating func setTail(_ tail: [UInt8]) {
        self.tail = tail
        tailCount = tail.count
    }

    /// The last members of a line that came from an agent of a fleet.
    ///
    /// - Parameters:
    ///   - place: the line's run and sequence number at that agent.
    ///   - stream: the number of the stream message that carried the line.
    ///   - time: the line's original time, if the hub gave it another.
    static func tail(
        agent: String, _ place: LineID? = nil, stream: Int? = nil, time: Timestamp? = nil
    ) -> [UInt8] {
        LineWriter.bytes(atMost: 200 + LineWriter.mostEscaped(agent.utf8.count + (place?.run.utf8.count ?? 0))) {
            $0.byte(UInt8(ascii: ","))
            $0.raw("\"agent\":")
            $0.string(agent)
            $0.string("origin_run", place?.run)
            // A line about several lines has no sequence number of its own.
            $0.integer("origin_seq", place.flatMap { $0.sequence > 0 ? $0.sequence : nil })
            $0.integer("origin_stream", stream)
            $0.time("origin_time", time)
        }
    }

    /// The last member of the first line whose value came from this pointer.
    static func tail(valuePointer: String) -> [UInt8] {
        LineWriter.bytes(atMost: 32 + LineWriter.mostEscaped(valuePointer.utf8.count)) {
            $0.raw(",\"value_pointer\":")
            $0.string(valuePointer)
        }
    }

    /// `{"seq":N,"time":"…",`
    @inline(__always)
    mutating func head(_ sequence: Int, _ time: Timestamp, _ writer: inout LineWriter) {
        writer.raw("{\"seq\":")
        writer.integer(sequence)
        writer.raw(",\"time\":")
        timeText.write(time, to: &writer)
        writer.byte(UInt8(ascii: ","))
    }

    /// `{"seq":N,"time":"…","type":"…","source":"…"`
    private mutating func head(
        _ type: StaticString, _ sequence: Int, _ time: Timestamp, _ source: String, _ start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"")
        writer.raw(type)
        writer.raw("\"")
        writer.string("source", source)
        return writer
    }

    @inline(__always)
    func end(_ writer: LineWriter) -> LineWriter {
        var writer = writer
        if tailCount > 0 { tail.withUnsafeBufferPointer { writer.raw($0) } }
        writer.raw("}\n")
        return writer
    }

    /// The first 4 KiB of the text, cut before a scalar that would cross that limit.
    @inline(__always)
    static func cut(_ text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        guard text.count > longestText else { return text }
        return cut(text, at: longestText)
    }

    /// The first `limit` bytes of UTF-8 (at least 4), cut before a scalar that would cross that limit.
    static func cut(_ text: UnsafeBufferPointer<UInt8>, at limit: Int) -> UnsafeBufferPointer<UInt8> {
        guard text.count > limit else { return text }
        var end = limit
        while end > limit - 3, text[end] & 0xC0 == 0x80 { end -= 1 }
        return UnsafeBufferPointer(rebasing: text[..<end])
    }

    /// The same for a string.
    package static func cut(_ text: String, at limit: Int = longestText) -> String {
        guard text.utf8.count > limit else { return text }
        var text = text
        return text.withUTF8 { String(decoding: cut($0, at: limit), as: UTF8.self) }
    }

    /// A message as `error` lines have it: at most 1,000 characters (code points); a longer one is cut and ends with
    /// `…`.
    static func message(_ text: String) -> String {
        // A character takes at least one byte.
        guard text.utf8.count > longestMessage, text.unicodeScalars.count > longestMessage else { return text }
        return String(text.unicodeScalars.prefix(longestMessage - 1)) + "…"
    }

    /// The most bytes that a line with texts of these lengths may need.
    package static func most(_ texts: Int...) -> Int {
        fixed + LineWriter.mostEscaped(texts.reduce(0, +))
    }

    package mutating func latency(
        _ sample: LatencySample, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("latency", sequence, time, source, start)
        writer.string("endpoint", sample.endpoint)
        writer.integer("status", sample.status)
        writer.milliseconds("ms", sample.ms)
        writer.milliseconds("dns_ms", sample.dns)
        writer.milliseconds("connect_ms", sample.connect)
        writer.milliseconds("tls_ms", sample.tls)
        writer.milliseconds("wait_ms", sample.wait)
        writer.milliseconds("receive_ms", sample.receive)
        writer.integer("bytes", sample.bytes)
        writer.bool("reused", sample.reused)
        writer.milliseconds("late_ms", sample.late)
        return end(writer)
    }

    package mutating func memory(
        _ sample: MemorySample, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("memory", sequence, time, source, start)
        writer.integer("rss_bytes", sample.resident)
        writer.integer("peak_bytes", sample.peak)
        writer.integer("private_bytes", sample.privateBytes)
        return end(writer)
    }

    package mutating func failure(
        _ failure: Failure, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("error", sequence, time, source, start)
        writer.string("endpoint", failure.endpoint)
        writer.string("code", failure.code.rawValue)
        writer.string("message", failure.message)
        writer.integer("attempt", failure.attempt)
        writer.integer("retry_in_ms", failure.retryIn.map { Int(max(0, $0.milliseconds).rounded()) })
        return end(writer)
    }

    package mutating func progress(
        _ progress: Progress, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("progress", sequence, time, source, start)
        writer.integer("done", progress.done)
        writer.integer("total", progress.total)
        writer.integer("page", progress.page)
        return end(writer)
    }

    package mutating func recovered(
        _ recovery: Recovery, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("recovered", sequence, time, source, start)
        writer.milliseconds("down_s", recovery.down.milliseconds.rounded() / 1_000)
        writer.integer("attempts", recovery.attempts)
        return end(writer)
    }

    /// The most bytes of a window line with names and a band of these lengths, both escaped already.
    package static func mostWindow(names: Int, band: Int = 0) -> Int { fixed + names + band }

    /// A closed window. `names` is `"source":"…","series":"…"`, `band` the name of its band with its quotes.
    package mutating func window(
        _ window: Window, width: Int64, sequence: Int, time: Timestamp, names: UnsafeBufferPointer<UInt8>,
        band: Bytes? = nil, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"window\",")
        writer.raw(names)
        writer.key("start")
        timeText.write(Window.start(of: window.index, width: width), to: &writer)
        writer.number("seconds", Double(width) / 1_000_000)
        writer.number("last", window.last)
        writer.integer("last_seq", window.lastSequence)
        writer.integer("count", window.count)
        writer.number("min", window.minimum)
        writer.number("max", window.maximum)
        writer.number("mean", window.mean)
        if let band {
            writer.key("band")
            writer.raw(band)
        }
        writer.string(
            "trend",
            window.trend == .improving ? "improving" : window.trend == .deteriorating ? "deteriorating" : nil)
        writer.integer("revision", window.revision > 0 ? Int(window.revision) : nil)
        return end(writer)
    }

    /// The state in which the agent found its journal. `restart.lastRun` is a valid run name; `restart.ended` is cut as
    /// texts are.
    package mutating func restart(
        _ restart: Restart, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("restart", sequence, time, source, start)
        writer.string("last_run", restart.lastRun)
        writer.integer("last_seq", restart.lastSequence)
        writer.string("ended", restart.ended)
        return end(writer)
    }

    /// Lines of a fleet's agent that are missing. The tail names the agent and the run.
    package mutating func lost(
        _ lost: Lost, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("lost", sequence, time, source, start)
        writer.integer("from", lost.numbers.lowerBound)
        writer.integer("to", lost.numbers.upperBound)
        return end(writer)
    }

    /// The most bytes that the texts of a `peer` line may need.
    static func mostPeer(_ peer: Line.Peer) -> Int {
        let (host, app) = (peer.host, peer.app)
        let texts = [peer.state, peer.run ?? "", host.name, host.device, host.os, host.kernel, host.arch]
        return most((texts + [app.name ?? "", app.version ?? ""]).reduce(0) { $0 + $1.utf8.count })
    }

    /// The state of an agent of a fleet. The tail names the agent.
    package mutating func peer(
        _ peer: Line.Peer, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("peer", sequence, time, source, start)
        writer.string("state", peer.state)
        writer.time("since", peer.since)
        writer.time("heard", peer.heard)
        if let run = peer.run {
            writer.string("run", run)
            writer.object("host") { peer.host.write(to: &$0) }
            writer.object("app") {
                $0.string("name", peer.app.name)
                $0.string("version", peer.app.version)
                $0.time("started", peer.app.started)
            }
        }
        writer.number("skew_ms", peer.skew)
        writer.integer("lost", peer.lost)
        return end(writer)
    }

    /// The self-metrics of another agent, from its own `agent` line.
    package mutating func foreignAgent(
        _ agent: Line.Agent, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var counts = StoreCounts()
        (counts.readers, counts.gaps, counts.stalledReaders) = (agent.readers, agent.gaps, agent.stalled)
        (counts.late, counts.future, counts.series) = (agent.late, agent.future, agent.series)
        (counts.refusedSeries, counts.refusedEndpoints) = (agent.refusedSeries, agent.refusedEndpoints)
        return self.agent(
            AgentSample(loopLag: agent.loopLag, cpu: agent.cpu), counts, events: agent.events,
            outputs: OutputState.of(agent), sequence: sequence, time: time, source: source, to: start)
    }

    /// The agent's self-metrics: its own sample, the store's counts, and its outputs.
    ///
    /// - Parameter events: the number of lines with a sequence number so far; nil for all before this one.
    package mutating func agent(
        _ sample: AgentSample, _ counts: StoreCounts, events: Int? = nil, outputs: [OutputState], sequence: Int,
        time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = head("agent", sequence, time, source, start)
        writer.integer("events", events ?? sequence - 1)
        writer.integer("readers", counts.readers)
        writer.integer("gaps", counts.gaps)
        writer.integer("stalled", counts.stalledReaders)
        writer.integer("late", counts.late)
        writer.integer("future", counts.future)
        writer.integer("series", counts.series)
        writer.integer("refused_series", counts.refusedSeries)
        writer.integer("refused_endpoints", counts.refusedEndpoints > 0 ? counts.refusedEndpoints : nil)
        writer.milliseconds("loop_lag_ms", sample.loopLag)
        writer.milliseconds("cpu_ms", sample.cpu)
        writer.list("outputs", outputs) { output, writer in
            writer.string("output", output.name)
            writer.string("state", output.state)
            writer.integer("behind", output.behind)
            writer.integer("durable_seq", output.durable)
        }
        return end(writer)
    }

    /// The most bytes that `agent` may write for these outputs.
    package static func mostAgent(source: String, outputs: [OutputState]) -> Int {
        outputs.reduce(most(source.utf8.count)) { $0 + most($1.name.utf8.count, $1.state.utf8.count) }
    }
}
