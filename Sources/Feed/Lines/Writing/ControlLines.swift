package import Reactor

/// The identity of the agent that writes the feed; part of every `hello` line.
package struct AgentIdentity: Sendable, Equatable {
    /// The name of this run of the agent. Each run has its own name, and its sequence numbers start again.
    package var run: String
    package var version: String
    package var started: Timestamp
    package var host: Host

    /// The machine's names for a person to read; empty where the system does not say.
    package struct Host: Sendable, Equatable {
        package var name = ""
        package var device = ""
        package var os = ""
        package var kernel = ""
        package var arch = ""

        package init(name: String = "", device: String = "", os: String = "", kernel: String = "", arch: String = "") {
            (self.name, self.device, self.os, self.kernel, self.arch) = (name, device, os, kernel, arch)
        }

        /// The number of bytes of its texts.
        var textBytes: Int {
            name.utf8.count + device.utf8.count + os.utf8.count + kernel.utf8.count + arch.utf8.count
        }

        /// Writes the members of the `host` object.
        func write(to writer: inout LineWriter) {
            writer.string("name", name)
            writer.string("device", device)
            writer.string("os", os)
            writer.string("kernel", kernel)
            writer.string("arch", arch)
        }
    }

    package init(run: String, version: String, started: Timestamp, host: Host = Host()) {
        self.run = run
        self.version = version
        self.started = started
        self.host = host
    }
}

/// The lines without a sequence number, which belong to one connection: `hello`, `stats`, `gap`, `bye`, and some
/// errors.
package enum ControlLine {
    static func line(
        _ type: StaticString, _ time: Timestamp, atMost most: Int, _ body: (inout LineWriter) -> Void
    ) -> [UInt8] {
        LineWriter.bytes(atMost: most) { writer in
            writer.raw("{\"type\":\"")
            writer.raw(type)
            writer.raw("\"")
            writer.time("time", time)
            body(&writer)
            writer.raw("}\n")
        }
    }

    /// The first line of a connection.
    package static func hello(
        time: Timestamp, identity: AgentIdentity, isFiltered: Bool, interval: Duration, history: Duration,
        firstSequence: Int, nextSequence: Int, journalFirst: Int? = nil, keptSequence: Int? = nil,
        isFleet: Bool = false
    ) -> [UInt8] {
        let texts = identity.run.utf8.count + identity.version.utf8.count + identity.host.textBytes
        return line("hello", time, atMost: 1_024 + LineWriter.mostEscaped(texts)) { writer in
            writer.integer("format", 1)
            writer.string("run", identity.run)
            writer.bool("filtered", isFiltered)
            writer.number("interval_s", interval.seconds)
            writer.number("history_s", history.seconds)
            writer.integer("first_seq", firstSequence)
            writer.integer("next_seq", nextSequence)
            writer.integer("journal_first_seq", journalFirst)
            writer.integer("kept_seq", keptSequence)
            if isFleet { writer.bool("fleet", true) }
            writer.object("host") { identity.host.write(to: &$0) }
            writer.object("app") {
                $0.string("name", "catwatch")
                $0.string("version", identity.version)
                $0.time("started", identity.started)
            }
        }
    }

    /// The second line of a connection: the statistics up to and including line `asOf`.
    ///
    /// Sources take up to three quarters of the longest line, endpoints the rest. Failures of sources get the room that
    /// the sources leave. The line counts what did not fit, and
    /// adds `moreEndpoints` and `moreSources`, which an agent further upstream left out.
    ///
    /// - Parameter longest: the most bytes of the line, if that is less than the longest line.
    package static func stats(
        time: Timestamp, asOf: Int, endpoints: [EndpointStatistics], sources: [SourceStatus], moreEndpoints: Int = 0,
        moreSources: Int = 0, atMost longest: Int = .max
    ) -> [UInt8] {
        // Everything outside the two lists takes less than a quarter of this.
        let longest = max(min(longest, LineEncoder.longestLine), 1_024)
        // Sources are written after the endpoints, but get their space first.
        let (listed, sourcesLeft) = list(sources, atMost: longest / 4 * 3)
        let most = endpoints.reduce(256) { $0 + $1.mostEncoded } + listed.count
        return line("stats", time, atMost: min(most, longest)) { writer in
            // After the type and the time.
            let start = writer.next - 64
            writer.integer("as_of", asOf)
            let endpointsLeft = writer.list("endpoints", endpoints) {
                $1.next - start + $0.mostEncoded + listed.count + 96 <= longest
            } _: {
                $0.write(to: &$1)
            }
            writer.byte(UInt8(ascii: ","))
            writer.raw(listed)
            let (endpoints, sources) = (
                moreEndpoints.addingSaturated(endpointsLeft), moreSources.addingSaturated(sourcesLeft)
            )
            if endpoints > 0 { writer.integer("more_endpoints", endpoints) }
            if sources > 0 { writer.integer("more_sources", sources) }
        }
    }

    /// The `sources` member of a `stats` line, and the number of sources that did not fit.
    private static func list(_ sources: [SourceStatus], atMost longest: Int) -> (ArraySlice<UInt8>, left: Int) {
        let whole = sources.reduce(64) { $0 + $1.mostEncoded }
        guard whole > longest, sources.contains(where: { $0.failure != nil }) else {
            return encode(sources, atMost: min(whole, longest))
        }
        var fitting = sources
        for index in fitting.indices { fitting[index].failure = nil }
        // The check of the last source allows for its longest encoding.
        let spare = fitting.reduce(0) { max($0, $1.mostEncoded) }
        var room = longest - encode(fitting, atMost: longest).0.count - spare
        for index in sources.indices {
            guard let failure = sources[index].failure, failure.mostEncoded <= room else { continue }
            room -= failure.mostEncoded
            fitting[index].failure = failure
        }
        return encode(fitting, atMost: longest)
    }

    private static func encode(_ sources: [SourceStatus], atMost longest: Int) -> (ArraySlice<UInt8>, left: Int) {
        var left = 0
        let listed = LineWriter.bytes(atMost: longest + 1) { writer in
            // No comma precedes the first member of an object.
            writer.raw("{")
            let start = writer.next
            left = writer.list("sources", sources) {
                $1.next - start + $0.mostEncoded + 2 <= longest
            } _: {
                $0.write(to: &$1)
            }
        }
        return (listed.dropFirst(), left)
    }

    /// A line that the log has let go of and that is still its series' newest.
    package static func kept(time: Timestamp, run: String, line content: [UInt8]) -> [UInt8] {
        line("kept", time, atMost: keptOverhead + content.count) { writer in
            writer.string("run", run)
            writer.raw(",\"line\":")
            content.withUnsafeBufferPointer { writer.raw($0) }
        }
    }

    /// The closed windows of a series, ascending; at least one.
    ///
    /// - Parameter names: `"source":"…","series":"…"`.
    static func kept(
        time: Timestamp, run: String, windows: [Window], width: Int64, names: [UInt8]
    ) -> [UInt8] {
        guard let newest = windows.last else { return [] }
        let line = LineWriter.bytes(atMost: 256 + names.count + windows.count * 160) { writer in
            writer.raw("{\"seq\":")
            writer.integer(max(newest.lastSequence, 1))
            writer.time("time", newest.lastTime)
            writer.string("type", "window")
            writer.byte(UInt8(ascii: ","))
            names.withUnsafeBufferPointer { writer.raw($0) }
            writer.number("seconds", Double(width) / 1_000_000)
            writer.key("rows")
            for (place, window) in windows.enumerated() {
                writer.raw(place == 0 ? "[[" : ",[")
                writer.number(Double(window.start(width: width).microseconds) / 1_000_000)
                for number in [window.last, window.minimum, window.maximum, Double(window.count), window.mean] {
                    writer.byte(UInt8(ascii: ","))
                    writer.number(number)
                }
                writer.byte(UInt8(ascii: "]"))
            }
            writer.raw("]}")
        }
        return kept(time: time, run: run, line: line)
    }

    /// The same `kept` line in another run, or at another time. In another run the line in it has no number, which would be
    /// one of that run: it tells its origin.
    ///
    /// - Returns: nil if it is none, or gets too long.
    package static func kept(_ line: Bytes, of run: String, at time: Timestamp) -> RelayedLine? {
        guard case .kept(let kept)? = try? LineDecoder.decode(line).body else { return nil }
        let content = kept.run == run ? Array(kept.bytes) : withoutNumber(kept)
        guard let bytes = content.map({ self.kept(time: time, run: run, line: $0)[...] }) else { return nil }
        return (try? LineDecoder.decode(bytes)).map { RelayedLine($0, bytes: bytes) }
    }

    /// The line in a `kept` line without its number. Windows have the number 1, and no origin.
    private static func withoutNumber(_ kept: Line.Kept) -> [UInt8]? {
        guard let sequence = kept.line.seq, let comma = kept.bytes.firstIndex(of: UInt8(ascii: ",")),
            kept.bytes.starts(with: "{\"seq\":".utf8)
        else { return nil }
        return LineMending.nestable(
            LineWriter.bytes(atMost: kept.bytes.count + 128) { writer in
                writer.raw("{\"seq\":")
                writer.integer(kept.windows.isEmpty ? 0 : 1)
                kept.bytes[comma...].dropLast().withUnsafeBufferPointer { writer.raw($0) }
                if kept.windows.isEmpty, !kept.line.isForwarded {
                    writer.string("origin_run", kept.run)
                    writer.integer("origin_seq", sequence)
                }
                writer.byte(UInt8(ascii: "}"))
            })
    }

    /// The line in a `kept` line that `kept` has written.
    package static func line(inKept line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard let range = line.range(of: "\"line\":"), line.last == UInt8(ascii: "}") else { return nil }
        return UnsafeRawBufferPointer(rebasing: line[range.upperBound..<(line.count - 1)])
    }

    /// The most bytes of a `kept` line, besides the line in it.
    static let keptOverhead = 256

    /// Names the lines that a reader misses.
    package static func gap(time: Timestamp, missing: ClosedRange<Int>, reason: String) -> [UInt8] {
        line("gap", time, atMost: 256) { writer in
            writer.integer("from", missing.lowerBound)
            writer.integer("to", missing.upperBound)
            writer.string("reason", reason)
        }
    }

    /// A heartbeat on an event stream without news; not a line of the feed.
    ///
    /// - Parameters:
    ///   - rate: how much faster than real time `time` advances; written unless it is 1.
    ///   - playback: the state of a recording's playback, at most 16 bytes; nil for any other feed.
    package static func beat(
        time: Timestamp, nextSequence: Int, rate: Double = 1, playback: String? = nil
    ) -> [UInt8] {
        LineWriter.bytes(atMost: 320) { writer in
            writer.raw("{")
            writer.time("time", time)
            writer.integer("next_seq", nextSequence)
            if rate != 1 { writer.number("rate", rate) }
            writer.string("playback", playback)
            writer.raw("}\n")
        }
    }

    /// An `error` line without a sequence number, for one connection: its request cannot be fulfilled.
    package static func refusal(_ code: Failure.Code, _ message: String, time: Timestamp) -> [UInt8] {
        let failure = Failure(code, LineEncoder.message(message))
        return line("error", time, atMost: 256 + LineWriter.mostEscaped(failure.textBytes)) { failure.write(to: &$0) }
    }

    /// The last line of a connection that ends normally.
    ///
    /// - Parameter oldest: the time of the journal's oldest line, after columns of it.
    package static func bye(
        time: Timestamp, run: String, lastSequence: Int, reason: String, oldest: Timestamp? = nil
    ) -> [UInt8] {
        line("bye", time, atMost: 256 + LineWriter.mostEscaped(run.utf8.count + reason.utf8.count)) { writer in
            writer.string("run", run)
            writer.integer("last_seq", lastSequence)
            writer.string("reason", reason)
            writer.time("oldest", oldest)
        }
    }
}

/// How long the requests to one endpoint took.
package struct EndpointStatistics: Sendable, Equatable {
    package var endpoint: String
    package var source: String
    package var histogram: LatencyHistogram

    /// The most bytes that `write` may write, plus braces and a comma.
    var mostEncoded: Int { LineEncoder.most(endpoint.utf8.count, source.utf8.count) }

    /// Writes the members of one element of a `stats` line's `endpoints`.
    func write(to writer: inout LineWriter) {
        writer.string("endpoint", endpoint)
        writer.string("source", source)
        writer.integer("count", histogram.count)
        writer.integer("errors", histogram.errors)
        guard histogram.count > 0 else { return }
        writer.milliseconds("last_ms", histogram.last)
        writer.milliseconds("mean_ms", histogram.mean)
        writer.milliseconds("min_ms", histogram.minimum)
        writer.milliseconds("p50_ms", histogram.percentile(50))
        writer.milliseconds("p90_ms", histogram.percentile(90))
        writer.milliseconds("p95_ms", histogram.percentile(95))
        writer.milliseconds("p99_ms", histogram.percentile(99))
        writer.milliseconds("max_ms", histogram.maximum)
    }
}
