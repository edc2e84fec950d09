import Feed
import Reactor
import TestSupport
import Testing

/// Runs Tests/Vectors/board: what a twin in another language must agree with, see the README there.
@Suite(.limited) struct BoardVectorTests {
    @Test func findsItsVectors() {
        #expect(VectorFiles.names(of: "board").count >= 8)
    }

    @Test(arguments: VectorFiles.names(of: "board"))
    func foldsTheLinesIntoTheExpectedState(_ name: String) throws {
        let vector = try VectorFiles.vector(name, in: "board")
        var board = Board(limits: limits(vector["limits"]))
        for line in vector["lines"]?.elements ?? [] {
            board.apply(try LineDecoder.decode(Bytes(Array(try #require(line.string).utf8))))
        }
        let width = Duration.microseconds(Int64(try #require(vector["width_us"]?.number)))
        let from = Timestamp(microseconds: Int64(try #require(vector["from_us"]?.number)))
        let to = Timestamp(microseconds: Int64(try #require(vector["to_us"]?.number)))
        var state = board.vectorState(width: width, over: from..<to)
        if let times = vector["stale_at_us"]?.elements, case .object(var members) = state {
            members["stale"] = .array(board.vectorStale(at: times.compactMap(\.number), window: width))
            state = .object(members)
        }
        let difference = state.difference(from: try #require(vector["state"]))
        #expect(difference == nil, "\(name)")
    }

    func limits(_ given: VectorJSON?) -> Board.Limits {
        var limits = Board.Limits()
        let keys: [(String, WritableKeyPath<Board.Limits, Int>)] = [
            ("series", \.series), ("points_per_series", \.pointsPerSeries), ("points", \.points),
            ("windows", \.windows), ("errors", \.errors),
            ("windows_per_series", \.windowsPerSeries), ("endpoints", \.endpoints),
            ("sources", \.sources), ("memory", \.memory), ("lines", \.lines), ("gaps", \.gaps),
            ("data_per_event", \.dataPerEvent), ("errors_per_source", \.errorsPerSource),
            ("outputs", \.outputs), ("agents", \.agents), ("alerts", \.alerts),
        ]
        for (key, path) in keys {
            if let limit = given?[key]?.number { limits[keyPath: path] = Int(limit) }
        }
        return limits
    }
}

extension Board {
    /// The state in the form of the vectors.
    func vectorState(width: Duration, over range: Range<Timestamp>) -> VectorJSON {
        // In steps: as one literal it took the compiler seconds.
        var state: [String: VectorJSON] = [:]
        state["run"] = .optional(hello?.run)
        state["run_changes"] = .int(runChanges)
        state["last_seq"] = .int(lastSequence)
        state["clock"] = .optional(clock.map { Int($0.microseconds) })
        state["bye"] = bye.map { .string($0.reason ?? "") } ?? .null
        state["series"] = .array(series.indices.map { vectorSeries($0, width: width, over: range) })
        state["refused"] = .object([
            "series": .int(refusedSeries), "endpoints": .int(refusedEndpoints), "sources": .int(refusedSources),
        ])
        state["endpoints"] = .array(endpoints.map(\.vector))
        state["sources"] = .array(sources.indices.map(vectorSource))
        if sourceOrder != Array(sources.indices) {
            state["source_order"] = .array(sourceOrder.map { .string(sources[$0].name) })
        }
        state["data_left_out"] = .int(dataLeftOut)
        state["memory"] = .array(
            memory.map { entry in
                let sample = entry.sample
                let sizes: [VectorJSON] = [.int(sample.resident), .int(sample.peak), .int(sample.privateBytes)]
                return .array([.time(entry.time), .string(entry.source)] + sizes)
            })
        state["agent_events"] = .optional(agent?.events)
        state["lines"] = .array(lines.map(\.vector))
        state["gaps"] = .array(
            gaps.map { .array([.int($0.from), .int($0.to), .string($0.reason), .time($0.time)]) })
        state["gap_count"] = .int(gapCount)
        state["missed"] = .int(missed)
        if moreEndpoints + moreSources > 0 { state["more"] = .array([.int(moreEndpoints), .int(moreSources)]) }
        if !agents.isEmpty || refusedAgents > 0 {
            state["agents"] = .array(agents.map { $0.vector(at: range.upperBound) })
            state["refused_agents"] = .int(refusedAgents)
        }
        if !alerts.isEmpty || alerts.refused > 0 {
            state["alerts"] = .array(alerts.all.map(\.vector))
            state["refused_alerts"] = .int(alerts.refused)
        }
        return .object(state)
    }

    /// Of each source of which something came, whether that is stale at each time.
    func vectorStale(at times: [Double], window: Duration) -> [VectorJSON] {
        sources.compactMap { source in
            source.answered.map { latest in
                .array(
                    [.string(source.name)]
                        + times.map {
                            let now = Timestamp(microseconds: Int64($0))
                            return .bool(Optional(source).isStale(latest, at: now, window: window))
                        })
            }
        }
    }

    private func vectorSeries(_ index: Int, width: Duration, over range: Range<Timestamp>) -> VectorJSON {
        let series = series[index]
        var members: [String: VectorJSON] = [
            "name": .string(series.name), "source": .string(series.source), "count": .int(series.count),
            "newest": series.newest.map(\.vector) ?? .null, "events": .int(series.events),
            "event": series.event.map(\.vector) ?? .null,
            "trimmed": .bool(series.isTrimmed), "points": .array(points(of: index).map(\.vector)),
            "window_lines": .array(series.windows.map(\.vector)),
            "windows": .array(windows(of: index, width: width, over: range).map(\.vector)),
        ]
        if let time = series.goneAt { members["gone"] = .time(time) }
        return .object(members)
    }
}

extension Board {
    private func vectorSource(_ index: Int) -> VectorJSON {
        guard case .object(var members) = sources[index].vector else { return .null }
        members["error_marks"] = .array(
            errors(of: index).map {
                .array([
                    .time(Timestamp(microseconds: $0.microseconds)), .int($0.sequence), .string($0.code),
                ])
            })
        if let pointer = sources[index].valuePointer { members["value_pointer"] = .string(pointer) }
        if let answered = sources[index].answered { members["answered"] = .time(answered) }
        if let agent = sources[index].agent { members["agent_events"] = .int(agent.events) }
        if let outage = sources[index].outage {
            members["outage"] = .array([
                .time(outage.end), .int(Int(outage.recovery.down.microseconds)), .int(outage.recovery.attempts),
            ])
        }
        switch sources[index].rhythm {
        case .stream: break
        case .every(let period): members["every_us"] = .int(Int(period.microseconds))
        case .once: members["runs_once"] = .bool(true)
        }
        return .object(members)
    }
}

extension ShownAgent {
    fileprivate func vector(at now: Timestamp) -> VectorJSON {
        .object([
            "name": .string(name), "state": .optional(state), "since": .time(since), "heard": .time(heard),
            "run": .optional(run),
            "host": .array([host.name, host.device, host.os, host.kernel, host.arch].map { .string($0) }),
            "version": .optional(version), "skew": .optional(skew), "lost": .int(lost), "rate": .number(rate(at: now)),
        ])
    }
}

extension BoardAlert {
    fileprivate var vector: VectorJSON {
        var members: [String: VectorJSON] = [
            "agent": .optional(agent), "condition": .string(condition), "about": .string(about),
            "subject": .string(subject), "severity": .optional(severity), "id": .string(id), "since": .time(since),
        ]
        members["value"] = .optional(value)
        members["text"] = .optional(text)
        members["test"] = .string(test)
        members["limit"] =
            limit.map {
                .array([.string($0.comparison.rawValue), .number($0.value)] + ($0.upper.map { [.number($0)] } ?? []))
            } ?? .null
        members["note"] = .optional(note)
        members["evidence"] = .array([.string(evidence.run), .int(evidence.from), .int(evidence.to)])
        if isDoubtful { members["doubtful"] = .bool(true) }
        return .object(members)
    }
}

extension BandScale {
    fileprivate var vector: VectorJSON {
        let bands = bands.map { band in
            VectorJSON.array([
                .string(band.name), .string(String(band.letter)), .string(band.color.hex), .optional(band.upTo),
            ])
        }
        return .array([.array(bands), .bool(higherIsBetter)])
    }
}

extension BoardEvent {
    fileprivate var vector: VectorJSON {
        let parts: [VectorJSON] = [
            .time(time), .int(sequence), .optional(value), .optional(text),
            .optional(data.map { String(decoding: $0, as: UTF8.self) }), .bool(isCut),
        ]
        return .array(word == nil && since == nil ? parts : parts + [.optional(word), .time(since)])
    }
}

extension VectorJSON {
    fileprivate static func time(_ time: Timestamp?) -> VectorJSON { .optional(time.map { Int($0.microseconds) }) }
}

extension BoardPoint {
    fileprivate var vector: VectorJSON { .array([.time(time), .number(value), .int(sequence)]) }
}

extension BoardWindow {
    fileprivate var vector: VectorJSON {
        .object([
            "start": .time(start), "width": .int(Int(width)), "last": .number(last), "count": .int(count),
            "min": .number(minimum), "max": .number(maximum), "mean": .number(mean),
            "band": .optional(band), "trend": .optional(trend),
        ])
    }
}

extension BoardEndpoint {
    fileprivate var vector: VectorJSON {
        let summary = LatencySummary(histogram)
        return .object([
            "name": .string(name), "source": .string(source), "count": .int(summary.count),
            "errors": .int(summary.errors), "last": .number(summary.last), "mean": .number(summary.mean),
            "min": .number(summary.minimum), "p50": .number(summary.p50), "p90": .number(summary.p90),
            "p95": .number(summary.p95), "p99": .number(summary.p99), "max": .number(summary.maximum),
            "newest_ms": .optional(newest?.ms), "newest_status": .optional(newest?.status),
            "newest_time": .time(newestTime),
        ])
    }
}

extension BoardSource {
    fileprivate var vector: VectorJSON {
        .object([
            "name": .string(name), "state": .string(state.rawValue), "since": .time(since),
            "code": .optional(failure?.code), "message": .optional(failure?.message),
            "attempt": .optional(failure?.attempt), "retry_at": .time(failure?.retryAt),
            "progress": progress.map { .array([.int($0.done), .optional($0.total), .int($0.page)]) } ?? .null,
            "listed": .bool(isListed), "type": .optional(type), "unit": .optional(unit),
            "bands": bands.map(\.vector) ?? .null, "events": .int(events), "errors": .int(errors),
            "newest": .time(newest),
        ])
    }
}

extension BoardLine {
    fileprivate var vector: VectorJSON {
        .object([
            "seq": .int(sequence), "time": .time(time), "type": .string(type), "source": .string(source),
            "series": .optional(series), "value": .optional(value), "text": .optional(text), "code": .optional(code),
        ])
    }
}
