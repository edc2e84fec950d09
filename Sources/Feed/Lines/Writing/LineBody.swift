internal import Reactor

/// The members of a numbered line after its source.
protocol LineBody {
    /// The line's `type`.
    static var type: StaticString { get }
    /// The number of bytes of its texts before they are escaped.
    var textBytes: Int { get }
    /// Writes the members: fixed keys, numbers and times of at most `LineEncoder.fixed` bytes, and the texts.
    func write(to writer: inout LineWriter)
}

extension LineBody {
    var textBytes: Int { 0 }
}

extension LatencySample: LineBody {
    static var type: StaticString { "latency" }
    var textBytes: Int { endpoint.utf8.count }

    func write(to writer: inout LineWriter) {
        writer.string("endpoint", endpoint)
        writer.integer("status", status)
        writer.milliseconds("ms", ms)
        writer.milliseconds("dns_ms", dns)
        writer.milliseconds("connect_ms", connect)
        writer.milliseconds("tls_ms", tls)
        writer.milliseconds("wait_ms", wait)
        writer.milliseconds("receive_ms", receive)
        writer.integer("bytes", bytes)
        writer.bool("reused", reused)
        writer.milliseconds("late_ms", late)
    }
}

extension MemorySample: LineBody {
    static var type: StaticString { "memory" }

    func write(to writer: inout LineWriter) {
        writer.integer("rss_bytes", resident)
        writer.integer("peak_bytes", peak)
        writer.integer("private_bytes", privateBytes)
    }
}

extension Failure: LineBody {
    static var type: StaticString { "error" }
    var textBytes: Int { (endpoint?.utf8.count ?? 0) + code.rawValue.utf8.count + message.utf8.count }

    func write(to writer: inout LineWriter) {
        writer.string("endpoint", endpoint)
        writer.string("code", code.rawValue)
        writer.string("message", message)
        writer.integer("attempt", attempt)
        writer.integer("retry_in_ms", retryIn.map { Int(max(0, $0.milliseconds).rounded()) })
    }
}

extension Progress: LineBody {
    static var type: StaticString { "progress" }
    /// The quotes and the comma of a key take less than a byte's longest escape.
    var textBytes: Int { gone.reduce(0) { $0 + $1.utf8.count + 1 } }

    func write(to writer: inout LineWriter) {
        writer.integer("done", done)
        writer.integer("total", total)
        writer.integer("page", page)
        writer.integer("items", items)
        guard let first = gone.first else { return }
        writer.key("gone")
        writer.raw("[")
        writer.string(first)
        for key in gone.dropFirst() {
            writer.byte(UInt8(ascii: ","))
            writer.string(key)
        }
        writer.byte(UInt8(ascii: "]"))
    }
}

extension Recovery: LineBody {
    static var type: StaticString { "recovered" }

    func write(to writer: inout LineWriter) {
        writer.milliseconds("down_s", down.milliseconds.rounded() / 1_000)
        writer.integer("attempts", attempts)
    }
}

extension Alert: LineBody {
    static var type: StaticString { "alert" }
    var textBytes: Int {
        [about, condition, id, severity ?? "", text ?? "", test, note ?? "", evidence.run].reduce(0) {
            $0 + $1.utf8.count
        }
    }

    func write(to writer: inout LineWriter) {
        writer.string("about", about)
        writer.string("condition", condition)
        writer.string("state", state.rawValue)
        writer.string("id", id)
        writer.time("at", at)
        writer.time("since", since)
        writer.string("severity", severity)
        writer.number("value", value)
        writer.string("text", text)
        writer.number("worst_value", worst)
        writer.string("test", test)
        writer.string("op", limit?.comparison.rawValue)
        writer.number("threshold", limit?.value)
        writer.number("threshold_to", limit?.upper)
        writer.string("note", note)
        writer.number("down_s", down?.seconds)
        writer.string("reason", reason?.rawValue)
        writer.evidence(evidence)
    }
}

extension LineWriter {
    mutating func evidence(_ evidence: Alert.Evidence) {
        object("evidence") {
            $0.string("run", evidence.run)
            $0.integer("from", evidence.from)
            $0.integer("to", evidence.to)
        }
    }
}

extension ClockChange: LineBody {
    static var type: StaticString { "clock" }

    func write(to writer: inout LineWriter) {
        writer.number("step_s", step.seconds)
        writer.number("slept_s", slept.seconds)
    }
}

extension Restart: LineBody {
    static var type: StaticString { "restart" }
    var textBytes: Int { (lastRun?.utf8.count ?? 0) + (ended?.utf8.count ?? 0) }

    func write(to writer: inout LineWriter) {
        writer.string("last_run", lastRun)
        writer.integer("last_seq", lastSequence)
        writer.string("ended", ended)
    }
}

/// The line's tail names the agent and the run.
extension Lost: LineBody {
    static var type: StaticString { "lost" }

    func write(to writer: inout LineWriter) {
        writer.integer("from", numbers.lowerBound)
        writer.integer("to", numbers.upperBound)
    }
}

/// The line's tail names the agent.
extension Line.Peer: LineBody {
    static var type: StaticString { "peer" }
    var textBytes: Int {
        state.utf8.count + (run?.utf8.count ?? 0) + host.textBytes + (app.name?.utf8.count ?? 0)
            + (app.version?.utf8.count ?? 0)
    }

    func write(to writer: inout LineWriter) {
        writer.string("state", state)
        writer.time("since", since)
        writer.time("heard", heard)
        if let run {
            writer.string("run", run)
            writer.object("host") { host.write(to: &$0) }
            writer.object("app") {
                $0.string("name", app.name)
                $0.string("version", app.version)
                $0.time("started", app.started)
            }
        }
        writer.number("skew_ms", skew)
        writer.integer("lost", lost)
    }
}

extension Line.Agent: LineBody {
    static var type: StaticString { "agent" }
    var textBytes: Int {
        // The keys and numbers of an output take as much as 20 escaped bytes.
        outputs.reduce(0) { $0 + $1.output.utf8.count + $1.state.utf8.count + 20 }
    }

    func write(to writer: inout LineWriter) {
        writer.integer("events", events)
        writer.integer("readers", readers)
        writer.integer("gaps", gaps)
        writer.integer("stalled", stalled)
        writer.integer("late", late)
        writer.integer("future", future)
        writer.integer("series", series)
        writer.integer("refused_series", refusedSeries)
        writer.integer("refused_endpoints", refusedEndpoints > 0 ? refusedEndpoints : nil)
        writer.integer("kept_dropped", keptDropped > 0 ? keptDropped : nil)
        writer.milliseconds("loop_lag_ms", loopLag)
        writer.milliseconds("cpu_ms", cpu)
        writer.list("outputs", outputs) { output, writer in
            writer.string("output", output.output)
            writer.string("state", output.state)
            writer.integer("behind", output.behind)
            writer.integer("durable_seq", output.durable)
        }
    }
}
