package import Reactor

/// Encodes what the store knows to lines of format 1, into memory that the log has reserved.
///
/// Keys stand in the order of docs/wire-format.md. Every `most…` says how much its namesake may write.
package struct LineEncoder: Sendable {
    /// The longest line, its newline included, in bytes.
    package static let longestLine = 1 << 20
    /// Where `text` is cut, in bytes of UTF-8 before escaping.
    package static let longestText = 4_096
    /// Room for the fixed keys, the numbers and the times of any numbered line.
    static let fixed = 640

    var timeText = TimestampText()

    package init() {}

    /// `{"seq":N,"time":"…",`
    @inline(__always)
    mutating func head(_ sequence: Int, _ time: Timestamp, _ writer: inout LineWriter) {
        writer.raw("{\"seq\":")
        writer.integer(sequence)
        writer.raw(",\"time\":")
        timeText.write(time, to: &writer)
        writer.byte(UInt8(ascii: ","))
    }

    @inline(__always)
    func end(_ writer: inout LineWriter) {
        writer.raw("}\n")
    }

    /// The text up to 4 KiB, cut before a scalar that would lie across that.
    @inline(__always)
    static func cut(_ text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        guard text.count > longestText else { return text }
        return cut(text, at: longestText)
    }

    /// The text up to `limit` bytes of UTF-8 (at least 4), cut before a scalar that would lie across that.
    static func cut(_ text: UnsafeBufferPointer<UInt8>, at limit: Int) -> UnsafeBufferPointer<UInt8> {
        guard text.count > limit else { return text }
        var end = limit
        while end > limit - 3, text[end] & 0xC0 == 0x80 { end -= 1 }
        return UnsafeBufferPointer(rebasing: text[..<end])
    }

    /// The same for a string.
    static func cut(_ text: String, at limit: Int = longestText) -> String {
        guard text.utf8.count > limit else { return text }
        var text = text
        return text.withUTF8 { String(decoding: cut($0, at: limit), as: UTF8.self) }
    }

    /// The bytes that a line with these texts may need.
    package static func most(_ texts: Int...) -> Int {
        fixed + LineWriter.mostEscaped(texts.reduce(0, +))
    }

    package mutating func latency(
        _ sample: LatencySample, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"latency\",\"source\":")
        writer.string(source)
        writer.raw(",\"endpoint\":")
        writer.string(sample.endpoint)
        writer.raw(",\"status\":")
        writer.integer(sample.status)
        writer.raw(",\"ms\":")
        writer.milliseconds(sample.ms)
        writer.raw(",\"dns_ms\":")
        writer.milliseconds(sample.dns)
        writer.raw(",\"connect_ms\":")
        writer.milliseconds(sample.connect)
        writer.raw(",\"tls_ms\":")
        writer.milliseconds(sample.tls)
        writer.raw(",\"wait_ms\":")
        writer.milliseconds(sample.wait)
        writer.raw(",\"receive_ms\":")
        writer.milliseconds(sample.receive)
        writer.raw(",\"bytes\":")
        writer.integer(sample.bytes)
        writer.raw(",\"reused\":")
        writer.bool(sample.reused)
        writer.raw(",\"late_ms\":")
        writer.milliseconds(sample.late)
        end(&writer)
        return writer
    }

    package mutating func memory(
        _ sample: MemorySample, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"memory\",\"source\":")
        writer.string(source)
        writer.raw(",\"rss_bytes\":")
        writer.integer(sample.resident)
        writer.raw(",\"peak_bytes\":")
        writer.integer(sample.peak)
        writer.raw(",\"private_bytes\":")
        writer.integer(sample.privateBytes)
        end(&writer)
        return writer
    }

    package mutating func failure(
        _ failure: Failure, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"error\",\"source\":")
        writer.string(source)
        if let endpoint = failure.endpoint {
            writer.raw(",\"endpoint\":")
            writer.string(endpoint)
        }
        writer.raw(",\"code\":")
        writer.string(failure.code.rawValue)
        writer.raw(",\"message\":")
        writer.string(failure.message)
        if let attempt = failure.attempt {
            writer.raw(",\"attempt\":")
            writer.integer(attempt)
        }
        if let retryIn = failure.retryIn {
            writer.raw(",\"retry_in_ms\":")
            writer.integer(Int(max(0, retryIn.milliseconds).rounded()))
        }
        end(&writer)
        return writer
    }

    package mutating func progress(
        _ progress: Progress, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"progress\",\"source\":")
        writer.string(source)
        writer.raw(",\"done\":")
        writer.integer(progress.done)
        if let total = progress.total {
            writer.raw(",\"total\":")
            writer.integer(total)
        }
        writer.raw(",\"page\":")
        writer.integer(progress.page)
        end(&writer)
        return writer
    }

    /// The bytes that a window line with names and a band of this length may need; they are escaped already.
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
        writer.raw(",\"start\":")
        timeText.write(Window.start(of: window.index, width: width), to: &writer)
        writer.raw(",\"seconds\":")
        writer.number(Double(width) / 1_000_000)
        writer.raw(",\"last\":")
        writer.number(window.last)
        writer.raw(",\"last_seq\":")
        writer.integer(window.lastSequence)
        writer.raw(",\"count\":")
        writer.integer(window.count)
        writer.raw(",\"min\":")
        writer.number(window.minimum)
        writer.raw(",\"max\":")
        writer.number(window.maximum)
        writer.raw(",\"mean\":")
        writer.number(window.mean)
        if let band {
            writer.raw(",\"band\":")
            writer.raw(band)
        }
        switch window.trend {
        case .none: break
        case .improving: writer.raw(",\"trend\":\"improving\"")
        case .deteriorating: writer.raw(",\"trend\":\"deteriorating\"")
        }
        if window.revision > 0 {
            writer.raw(",\"revision\":")
            writer.integer(Int(window.revision))
        }
        end(&writer)
        return writer
    }

    /// How the agent is doing: its own sample, what the store counts, and its outputs.
    package mutating func agent(
        _ sample: AgentSample, _ counts: StoreCounts, outputs: [OutputState], sequence: Int, time: Timestamp,
        source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"agent\",\"source\":")
        writer.string(source)
        writer.raw(",\"events\":")
        writer.integer(sequence - 1)
        writer.raw(",\"readers\":")
        writer.integer(counts.readers)
        writer.raw(",\"gaps\":")
        writer.integer(counts.gaps)
        writer.raw(",\"stalled\":")
        writer.integer(counts.stalledReaders)
        writer.raw(",\"late\":")
        writer.integer(counts.late)
        writer.raw(",\"future\":")
        writer.integer(counts.future)
        writer.raw(",\"series\":")
        writer.integer(counts.series)
        writer.raw(",\"refused_series\":")
        writer.integer(counts.refusedSeries)
        if counts.refusedEndpoints > 0 {
            writer.raw(",\"refused_endpoints\":")
            writer.integer(counts.refusedEndpoints)
        }
        writer.raw(",\"loop_lag_ms\":")
        writer.milliseconds(sample.loopLag)
        writer.raw(",\"cpu_ms\":")
        writer.milliseconds(sample.cpu)
        writer.raw(",\"outputs\":[")
        for (index, output) in outputs.enumerated() {
            if index > 0 { writer.byte(UInt8(ascii: ",")) }
            writer.raw("{\"output\":")
            writer.string(output.name)
            writer.raw(",\"state\":")
            writer.string(output.state)
            writer.raw(",\"behind\":")
            writer.integer(output.behind)
            writer.byte(UInt8(ascii: "}"))
        }
        writer.byte(UInt8(ascii: "]"))
        end(&writer)
        return writer
    }

    /// The bytes that `agent` may need for these outputs.
    package static func mostAgent(source: String, outputs: [OutputState]) -> Int {
        outputs.reduce(most(source.utf8.count)) { $0 + most($1.name.utf8.count, $1.state.utf8.count) }
    }
}
