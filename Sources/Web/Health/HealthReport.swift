internal import Feed
internal import Reactor

/// A health report: names and states, without secrets.
struct HealthReport {
    let isGood: Bool
    /// JSON.
    let body: [UInt8]

    // Sources that `/readyz` names, unready first: 100, names of 128 bytes; counted in `more_sources`.
    static let mostSources = 100
    /// The most bytes of a name, of a reason, and of the text around them.
    private static let longestName = 128
    private static let longestReason = 96
    private static let mostAround = 128

    /// Whether the loop runs and every poll, even a failed one, ended in time: the watchdog's question too.
    static func liveness(of polls: PollRequests) -> HealthReport {
        let isGood = polls.assumeIsolated { $0.isOnTime }
        return HealthReport(
            isGood: isGood,
            body: Array((isGood ? #"{"alive":true}"# : #"{"alive":false,"reason":"a poll hangs"}"#).utf8) + [0x0A])
    }

    /// Whether every source has delivered good data in time; with an attached feed, also whether that arrives. For a
    /// fleet: its own sources, and whether any connection to agents is open, because an agent that is away or silent is
    /// not the hub's fault.
    static func readiness(of store: EventStore) -> HealthReport { store.assumeIsolated { readiness($0) } }

    private static func readiness(_ store: isolated EventStore) -> HealthReport {
        var good: [SourceNumbers] = []
        var bad: [SourceNumbers] = []
        var (goodCount, badCount) = (0, 0)
        for source in store.sources {
            guard source.isListed, source.name != EventStore.ownName, store.agent(ofSource: source.name) == nil else {
                continue
            }
            if source.timeliness.isGood {
                goodCount += 1
                if good.count < mostSources { good.append(source) }
            } else {
                badCount += 1
                if bad.count < mostSources { bad.append(source) }
            }
        }
        let numbers = store.numbers
        let complaint = numbers.attachment.flatMap { why($0, isLateAfter: numbers.interval * 2) }
        let connections = store.connections
        let isReady = badCount == 0 && complaint == nil && connections?.open != 0
        let named = (bad + good).prefix(mostSources)
        let most = (named.count + 3) * (LineWriter.mostEscaped(longestName + longestReason) + mostAround)
        let body = LineWriter.bytes(atMost: most) { line in
            line.raw("{\"ready\":")
            line.bool(isReady)
            if numbers.attachment != nil {
                line.raw(",\"agent\":{")
                write(complaint == nil, complaint ?? "connected", to: &line)
            }
            if let (open, all) = connections {
                line.raw(",\"agents\":{")
                write(open > 0, "\(open) of \(all) connected", to: &line)
            }
            line.raw(",\"sources\":[")
            for (index, source) in named.enumerated() {
                if index > 0 { line.raw(",") }
                line.raw("{\"source\":")
                line.string(LineEncoder.cut(source.name, at: longestName))
                line.raw(",")
                write(source.timeliness.isGood, source.timeliness.reason, to: &line)
            }
            line.raw("],\"more_sources\":")
            line.integer(goodCount + badCount - named.count)
            line.raw("}\n")
        }
        return HealthReport(isGood: isReady, body: body)
    }

    /// Writes the end of an object.
    private static func write(_ isReady: Bool, _ reason: String, to line: inout LineWriter) {
        line.raw("\"ready\":")
        line.bool(isReady)
        line.raw(",\"reason\":")
        line.string(LineEncoder.cut(reason, at: longestReason))
        line.raw("}")
    }

    /// Why an attached feed is not ready; nil when it is. An agent sends something in every window.
    private static func why(_ attachment: AgentNumbers.Attachment, isLateAfter limit: Duration) -> String? {
        guard attachment.isConnected, let silence = attachment.silence else { return "not connected" }
        return silence <= limit ? nil : "nothing for \(silence.shortText)"
    }
}

extension Timeliness {
    /// For a person.
    fileprivate var reason: String {
        switch self {
        case .inTime: "in time"
        case .ended: "ended"
        case .starting: "nothing has come yet"
        case .late(let silence, let expected):
            "nothing for \(silence.shortText), expected every \(expected.shortText)"
        case .failing(let code): "fails: \(code)"
        }
    }
}
