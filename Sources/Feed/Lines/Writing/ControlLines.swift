package import Reactor

/// Who writes the feed; in every `hello` line.
package struct AgentIdentity: Sendable, Equatable {
    /// Names this run of the agent; another run has another one, and its numbers start again.
    package var run: String
    package var version: String
    package var started: Timestamp
    package var host: Host

    /// The machine, in words a person knows; empty where the system does not say.
    package struct Host: Sendable, Equatable {
        package var name = ""
        package var device = ""
        package var os = ""
        package var kernel = ""
        package var arch = ""

        package init() {}
    }

    package init(run: String, version: String, started: Timestamp, host: Host = Host()) {
        self.run = run
        self.version = version
        self.started = started
        self.host = host
    }
}

/// The lines that belong to one connection and have no number: `hello`, `stats`, `gap` and `bye`.
package enum ControlLine {
    /// Runs `body` over room for `most` bytes and returns what it wrote.
    private static func line(atMost most: Int, _ body: (inout LineWriter) -> Void) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var writer = LineWriter(start)
            body(&writer)
            count = writer.next - start
            precondition(count <= most, "a control line is longer than was reserved for it")
        }
    }

    private static func write(_ type: StaticString, _ time: Timestamp, _ writer: inout LineWriter) {
        writer.raw("{\"type\":\"")
        writer.raw(type)
        writer.raw("\",\"time\":")
        write(time, &writer)
    }

    static func write(_ time: Timestamp, _ writer: inout LineWriter) {
        var text = TimestampText()
        text.write(time, to: &writer)
    }

    /// The first line of a connection.
    package static func hello(
        time: Timestamp, identity: AgentIdentity, isFiltered: Bool, interval: Duration, history: Duration,
        firstSequence: Int, nextSequence: Int
    ) -> [UInt8] {
        let host = identity.host
        let texts = [identity.run, identity.version, host.name, host.device, host.os, host.kernel, host.arch]
        let most = 1_024 + LineWriter.mostEscaped(texts.reduce(0) { $0 + $1.utf8.count })
        return line(atMost: most) { writer in
            write("hello", time, &writer)
            writer.raw(",\"format\":1,\"run\":")
            writer.string(identity.run)
            writer.raw(",\"filtered\":")
            writer.bool(isFiltered)
            writer.raw(",\"interval_s\":")
            writer.number(interval.seconds)
            writer.raw(",\"history_s\":")
            writer.number(history.seconds)
            writer.raw(",\"first_seq\":")
            writer.integer(firstSequence)
            writer.raw(",\"next_seq\":")
            writer.integer(nextSequence)
            writer.raw(",\"host\":{\"name\":")
            writer.string(host.name)
            writer.raw(",\"device\":")
            writer.string(host.device)
            writer.raw(",\"os\":")
            writer.string(host.os)
            writer.raw(",\"kernel\":")
            writer.string(host.kernel)
            writer.raw(",\"arch\":")
            writer.string(host.arch)
            writer.raw("},\"app\":{\"name\":\"catwatch\",\"version\":")
            writer.string(identity.version)
            writer.raw(",\"started\":")
            write(identity.started, &writer)
            writer.raw("}}\n")
        }
    }

    /// The second line of a connection: what all lines up to number `asOf` came to.
    ///
    /// Endpoints take up to three quarters of the longest line, sources the rest; what does not fit is left out.
    package static func stats(
        time: Timestamp, asOf: Int, endpoints: [EndpointStatistics], sources: [SourceStatus]
    ) -> [UInt8] {
        var most = 256
        for endpoint in endpoints {
            most += LineEncoder.most(endpoint.endpoint.utf8.count, endpoint.source.utf8.count)
        }
        for source in sources { most += source.mostEncoded }
        return line(atMost: min(most, LineEncoder.longestLine)) { writer in
            let start = writer.next
            write("stats", time, &writer)
            writer.raw(",\"as_of\":")
            writer.integer(asOf)
            writer.raw(",\"endpoints\":[")
            for (index, endpoint) in endpoints.enumerated() {
                let most = LineEncoder.most(endpoint.endpoint.utf8.count, endpoint.source.utf8.count)
                guard writer.next - start + most <= LineEncoder.longestLine / 4 * 3 else { break }
                if index > 0 { writer.byte(UInt8(ascii: ",")) }
                write(endpoint, &writer)
            }
            writer.raw("],\"sources\":[")
            for (index, source) in sources.enumerated() {
                guard writer.next - start + source.mostEncoded + 16 <= LineEncoder.longestLine else { break }
                if index > 0 { writer.byte(UInt8(ascii: ",")) }
                source.write(to: &writer)
            }
            writer.raw("]}\n")
        }
    }

    private static func write(_ endpoint: EndpointStatistics, _ writer: inout LineWriter) {
        let histogram = endpoint.histogram
        writer.raw("{\"endpoint\":")
        writer.string(endpoint.endpoint)
        writer.raw(",\"source\":")
        writer.string(endpoint.source)
        writer.raw(",\"count\":")
        writer.integer(histogram.count)
        writer.raw(",\"errors\":")
        writer.integer(histogram.errors)
        if histogram.count > 0 {
            writer.raw(",\"last_ms\":")
            writer.milliseconds(histogram.last)
            writer.raw(",\"mean_ms\":")
            writer.milliseconds(histogram.mean)
            writer.raw(",\"min_ms\":")
            writer.milliseconds(histogram.minimum)
            writer.raw(",\"p50_ms\":")
            writer.milliseconds(histogram.percentile(50))
            writer.raw(",\"p90_ms\":")
            writer.milliseconds(histogram.percentile(90))
            writer.raw(",\"p95_ms\":")
            writer.milliseconds(histogram.percentile(95))
            writer.raw(",\"p99_ms\":")
            writer.milliseconds(histogram.percentile(99))
            writer.raw(",\"max_ms\":")
            writer.milliseconds(histogram.maximum)
        }
        writer.byte(UInt8(ascii: "}"))
    }

    /// Names the lines that a reader does not get.
    package static func gap(time: Timestamp, missing: ClosedRange<Int>, reason: StaticString) -> [UInt8] {
        line(atMost: 256) { writer in
            write("gap", time, &writer)
            writer.raw(",\"from\":")
            writer.integer(missing.lowerBound)
            writer.raw(",\"to\":")
            writer.integer(missing.upperBound)
            writer.raw(",\"reason\":\"")
            writer.raw(reason)
            writer.raw("\"}\n")
        }
    }

    /// An `error` line without a number, for one connection: what it asked for cannot be had.
    package static func refusal(_ code: Failure.Code, _ message: String, time: Timestamp) -> [UInt8] {
        line(atMost: 256 + LineWriter.mostEscaped(message.utf8.count + code.rawValue.utf8.count)) { writer in
            write("error", time, &writer)
            writer.raw(",\"code\":")
            writer.string(code.rawValue)
            writer.raw(",\"message\":")
            writer.string(message)
            writer.raw("}\n")
        }
    }

    /// The last line of a connection that ends in order.
    package static func bye(time: Timestamp, run: String, lastSequence: Int, reason: String) -> [UInt8] {
        line(atMost: 256 + LineWriter.mostEscaped(run.utf8.count + reason.utf8.count)) { writer in
            write("bye", time, &writer)
            writer.raw(",\"run\":")
            writer.string(run)
            writer.raw(",\"last_seq\":")
            writer.integer(lastSequence)
            writer.raw(",\"reason\":")
            writer.string(reason)
            writer.raw("}\n")
        }
    }
}

/// How long the requests to one endpoint took.
package struct EndpointStatistics: Sendable, Equatable {
    package var endpoint: String
    package var source: String
    package var histogram: LatencyHistogram

    package init(endpoint: String, source: String, histogram: LatencyHistogram) {
        self.endpoint = endpoint
        self.source = source
        self.histogram = histogram
    }
}
