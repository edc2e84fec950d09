internal import Reactor

private let millisecond = 1_000.0
private let second = 1_000_000.0

extension LatencySample {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            endpoint: try members.string(.endpoint), status: try members.int(.status),
            ms: try members.milliseconds(.ms),
            dns: try members.millisecondsIfAny(.dnsMs) ?? 0, connect: try members.millisecondsIfAny(.connectMs) ?? 0,
            tls: try members.millisecondsIfAny(.tlsMs) ?? 0, wait: try members.millisecondsIfAny(.waitMs) ?? 0,
            receive: try members.millisecondsIfAny(.receiveMs) ?? 0, bytes: try members.intIfAny(.bytes) ?? 0,
            reused: try members.boolIfAny(.reused) ?? false, late: try members.millisecondsIfAny(.lateMs) ?? 0)
    }
}

extension MemorySample {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            resident: try members.int(.rssBytes), peak: try members.int(.peakBytes),
            privateBytes: try members.int(.privateBytes))
    }
}

extension Failure {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            Code(rawValue: try members.string(.code)), try members.string(.message),
            endpoint: try members.stringIfAny(.endpoint), attempt: try members.intIfAny(.attempt, from: 1),
            retryIn: try members.durationIfAny(.retryInMs, unit: millisecond))
    }
}

extension Progress {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            done: try members.int(.done), total: try members.intIfAny(.total), page: try members.intIfAny(.page) ?? 0,
            items: try members.intIfAny(.items),
            gone: try members.strings(.gone, atMost: Self.mostGone, bytes: Self.mostGoneBytes))
    }
}

extension Recovery {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            down: try members.duration(.downS, unit: second), attempts: try members.int(.attempts, from: 1))
    }
}

extension Restart {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            lastRun: try members.stringIfAny(.lastRun), lastSequence: try members.intIfAny(.lastSeq),
            ended: try members.stringIfAny(.ended))
    }
}

extension Lost {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        let from = try members.int(.from, from: 1)
        self.init(run: try members.stringIfAny(.originRun), numbers: from...(try members.int(.to, from: from)))
    }
}

extension Alert {
    /// Nil for a state that this version does not know.
    init?(_ members: borrowing LineMembers) throws(LineFault) {
        let evidence = try members.objectIfAny(.evidence) { evidence throws(LineFault) in
            Evidence(run: try evidence.string(.run), from: try evidence.int(.from), to: try evidence.int(.to))
        }
        guard let evidence else { throw members.wrong(.evidence, "an object") }
        guard let state = State(rawValue: try members.string(.state)) else { return nil }
        self.init(
            about: try members.string(.about), condition: try members.string(.condition), state: state,
            id: try members.string(.id), at: try members.time(.at), since: try members.time(.since),
            severity: try members.stringIfAny(.severity), value: try members.doubleIfAny(.value),
            text: try members.stringIfAny(.text), worst: try members.doubleIfAny(.worstValue),
            test: try members.string(.test),
            limit: try Limit(members), note: try members.stringIfAny(.note),
            down: try members.durationIfAny(.downS, unit: second),
            reason: try members.stringIfAny(.reason).flatMap { Reason(rawValue: $0) }, evidence: evidence)
    }
}

extension Alert.Limit {
    /// Nil without one, or if this version does not know its comparison.
    fileprivate init?(_ members: borrowing LineMembers) throws(LineFault) {
        let (value, upper) = (try members.doubleIfAny(.threshold), try members.doubleIfAny(.thresholdTo))
        guard let comparison = try members.stringIfAny(.op).flatMap({ Comparison(rawValue: $0) }), let value,
            (upper != nil) == comparison.isOfRange
        else { return nil }
        self.init(comparison, value, upper)
    }
}

extension ClockChange {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        let step = try members.double(.stepS)
        guard abs(step) <= 31_556_952_000 else { throw members.wrong(.stepS, "at most 1,000 years") }
        self.init(step: .microseconds(step * second), slept: try members.duration(.sleptS, unit: second))
    }
}

extension Line.Peer {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        state = try members.string(.state)
        since = try members.time(.since)
        heard = try members.timeIfAny(.heard)
        run = members.value(.run) == nil ? nil : try members.runName()
        host = try members.objectIfAny(.host) { host throws(LineFault) in try AgentIdentity.Host(host) } ?? .init()
        app = try members.objectIfAny(.app) { app throws(LineFault) in try Line.App(app) } ?? .init()
        skew = try members.doubleIfAny(.skewMs)
        lost = try members.intIfAny(.lost) ?? 0
    }
}

extension Line.Window {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        series = try members.string(.series)
        start = try members.time(.start)
        let width = try members.duration(.seconds, unit: second)
        guard width > .zero else { throw members.wrong(.seconds, "more than 0") }
        self.width = width
        last = try members.double(.last)
        lastSeq = try members.int(.lastSeq, from: 1)
        count = try members.int(.count, from: 1)
        min = try members.double(.min)
        max = try members.double(.max)
        mean = try members.double(.mean)
        band = try members.stringIfAny(.band)
        trend = try members.stringIfAny(.trend)
    }
}

extension Line.Kept {
    /// The number and run of a line of an earlier run of its agent; nil for any other.
    var earlier: LineID? {
        guard line.seq == 0, line.agent == nil, line.isForwarded else { return nil }
        let found = try? bytes.withUnsafeBufferPointer { bytes throws(LineFault) in
            try LineMembers.with(line: bytes) { members throws(LineFault) in
                LineID(try members.string(.originRun), try members.int(.originSeq, from: 1))
            }.value
        }
        return found.flatMap { RunName.isValid($0.run) ? $0 : nil }
    }
}

extension Line.Window {
    /// The windows of a `kept` line, one a row.
    static func rows(_ members: borrowing LineMembers) throws(LineFault) -> [Line.Window] {
        let series = try members.string(.series)
        let width = try members.duration(.seconds, unit: second)
        guard width > .zero else { throw members.wrong(.seconds, "more than 0") }
        let sequence = try members.int(.seq, from: 1)
        return try members.rows(.rows, of: 6, atMost: WindowSpan.most).map { row throws(LineFault) in
            guard -62_135_596_800...253_402_300_799 ~= row[0], let count = Int(exactly: row[4]),
                1...(1 << 53) - 1 ~= count, row[2] <= row[1], row[1] <= row[3]
            else {
                throw members.wrong(.rows, "a start in the years 1 to 9999, a last value from min to max, and a count")
            }
            return Line.Window(
                series: series, start: Timestamp(microseconds: Int64(row[0] * second)), width: width, last: row[1],
                lastSeq: sequence, count: count, min: row[2], max: row[3],
                mean: Swift.min(Swift.max(row[5], row[2]), row[3]), band: nil, trend: nil,
                isKept: true)
        }
    }
}

extension Line.Gap {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        from = try members.int(.from, from: 1)
        to = try members.int(.to, from: from)
        reason = try members.stringIfAny(.reason)
    }
}

extension Line.Bye {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        run = members.value(.run) == nil ? nil : try members.runName()
        lastSeq = try members.intIfAny(.lastSeq)
        reason = try members.stringIfAny(.reason)
        oldest = try? members.timeIfAny(.oldest)
    }
}

extension Line.Hello {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        format = try members.int(.format)
        guard format == 1 else {
            throw LineFault(offset: members.range(.format)?.lowerBound ?? members.offset, reason: .format(format))
        }
        run = try members.runName()
        filtered = try members.boolIfAny(.filtered) ?? false
        interval = try members.durationIfAny(.intervalS, unit: second) ?? .seconds(10)
        history = try members.durationIfAny(.historyS, unit: second) ?? .seconds(120)
        firstSeq = try members.int(.firstSeq, from: 1)
        nextSeq = try members.int(.nextSeq, from: 1)
        journalFirstSeq = try members.intIfAny(.journalFirstSeq, from: 1)
        keptSeq = try members.intIfAny(.keptSeq, from: 1)
        isFleet = try members.boolIfAny(.fleet) ?? false
        host = try members.objectIfAny(.host) { host throws(LineFault) in try AgentIdentity.Host(host) } ?? .init()
        app = try members.objectIfAny(.app) { app throws(LineFault) in try Line.App(app) } ?? Line.App()
    }
}

extension AgentIdentity.Host {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        name = try members.stringIfAny(.name) ?? ""
        device = try members.stringIfAny(.device) ?? ""
        os = try members.stringIfAny(.os) ?? ""
        kernel = try members.stringIfAny(.kernel) ?? ""
        arch = try members.stringIfAny(.arch) ?? ""
    }
}

extension Line.App {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        name = try members.stringIfAny(.name)
        version = try members.stringIfAny(.version)
        started = try members.timeIfAny(.started)
    }
}

extension Line.Stats {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        asOf = try members.int(.asOf)
        endpoints = try members.list(.endpoints) { members throws(LineFault) in try Line.Endpoint(members) }
        sources = try members.list(.sources) { members throws(LineFault) in try SourceStatus?(members) }
            .compactMap { $0 }
        moreEndpoints = try members.intIfAny(.moreEndpoints) ?? 0
        moreSources = try members.intIfAny(.moreSources) ?? 0
    }
}

extension Line.Endpoint {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        endpoint = try members.string(.endpoint)
        source = try members.stringIfAny(.source) ?? ""
        summary = try LatencySummary(members)
    }
}

extension LatencySummary {
    /// Values that the line does not give are 0.
    init(_ members: borrowing LineMembers) throws(LineFault) {
        count = try members.int(.count)
        errors = try members.intIfAny(.errors) ?? 0
        last = try members.millisecondsIfAny(.lastMs) ?? 0
        mean = try members.millisecondsIfAny(.meanMs) ?? 0
        minimum = try members.millisecondsIfAny(.minMs) ?? 0
        p50 = try members.millisecondsIfAny(.p50Ms) ?? 0
        p90 = try members.millisecondsIfAny(.p90Ms) ?? 0
        p95 = try members.millisecondsIfAny(.p95Ms) ?? 0
        p99 = try members.millisecondsIfAny(.p99Ms) ?? 0
        maximum = try members.millisecondsIfAny(.maxMs) ?? 0
    }
}

extension SourceStatus? {
    /// Nil for a state that this version does not know.
    init(_ members: borrowing LineMembers) throws(LineFault) {
        let source = try members.string(.source)
        let state = SourceStatus.State(rawValue: try members.string(.state))
        let since = try members.timeIfAny(.since)
        self = state.map { SourceStatus(source: source, state: $0, since: since) }
        // A source without these is better than none: mistakes in them do not make the line unreadable.
        if state == .failing { self?.failure = try? SourceFailure(members) }
        self?.answered = try? members.timeIfAny(.answeredAt)
        self?.type = try? members.stringIfAny(.type)
        self?.unit = (try? members.stringIfAny(.unit)).map { LineEncoder.cut($0, at: SourceTable.longestUnit) }
        self?.bands = try? BandScale(members)
        self?.valuePointer = SourceStatus.valuePointer(try? members.stringIfAny(.valuePointer))
        if let period = try? members.durationIfAny(.everyS, unit: second), period > .zero {
            self?.rhythm = .every(period)
        } else if (try? members.boolIfAny(.runsOnce)) == true {
            self?.rhythm = .once
        }
    }
}

extension SourceFailure {
    /// Mistakes in its parts do not make the code unknown.
    fileprivate init(_ members: borrowing LineMembers) throws(LineFault) {
        self.init(
            code: try members.string(.code), message: try? members.stringIfAny(.message),
            attempt: try? members.intIfAny(.attempt, from: 1), retryAt: try? members.timeIfAny(.retryAt))
    }
}

extension BandScale {
    /// Nil when there are no bands, or invalid ones.
    fileprivate init?(_ members: borrowing LineMembers) throws(LineFault) {
        let most = BandScale.mostBands + 1
        let bands = try members.list(.bands, atMost: most) { members throws(LineFault) in try Band(members) }
        self.init(bands, higherIsBetter: try members.boolIfAny(.higherIsBetter) ?? false)
    }
}

extension Band {
    fileprivate init(_ members: borrowing LineMembers) throws(LineFault) {
        let letter = try members.string(.letter)
        guard letter.utf8.count <= BandScale.longestLetter, letter.count == 1, let first = letter.first else {
            throw members.wrong(.letter, "one character")
        }
        guard let color = Color(hex: try members.string(.color)) else { throw members.wrong(.color, "#rrggbb") }
        self.init(
            name: try members.string(.name), letter: first, color: color, upTo: try members.doubleIfAny(.upTo))
    }
}

extension Line.Agent {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        events = try members.int(.events)
        readers = try members.intIfAny(.readers) ?? 0
        gaps = try members.intIfAny(.gaps) ?? 0
        stalled = try members.intIfAny(.stalled) ?? 0
        late = try members.intIfAny(.late) ?? 0
        future = try members.intIfAny(.future) ?? 0
        series = try members.intIfAny(.series) ?? 0
        refusedSeries = try members.intIfAny(.refusedSeries) ?? 0
        refusedEndpoints = try members.intIfAny(.refusedEndpoints) ?? 0
        keptDropped = try members.intIfAny(.keptDropped) ?? 0
        loopLag = try members.millisecondsIfAny(.loopLagMs) ?? 0
        cpu = try members.millisecondsIfAny(.cpuMs) ?? 0
        outputs = try members.list(.outputs) { members throws(LineFault) in try Line.Output(members) }
    }
}

extension Line.Output {
    init(_ members: borrowing LineMembers) throws(LineFault) {
        output = try members.string(.output)
        state = try members.string(.state)
        behind = try members.intIfAny(.behind) ?? 0
        durable = try members.intIfAny(.durableSeq)
    }
}
