package import Feed
package import Reactor

/// Reports on stderr what fails upstream, and which number is the value of a source without a configured pointer: a
/// reader of the feed that decodes few of its lines.
package actor FailureReporter {
    private let store: EventStore
    private let notices: Notices
    private let loop: EventLoop
    private let wall: any WallClock
    private let everyRequest: Bool
    private var rate: RateLimit
    private var values: RateLimit
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - wall: the machine's clock, even in a replay.
    ///   - everyRequest: whether to report `latency` lines too, and everything without a limit.
    package init(
        store: EventStore, notices: Notices, on loop: EventLoop, wall: any WallClock, everyRequest: Bool
    ) {
        self.store = store
        self.notices = notices
        self.loop = loop
        self.wall = wall
        self.everyRequest = everyRequest
        // Errors and recoveries on stderr: 10, then one a second; no limit with `-v`; counted in the next report.
        rate = RateLimit(burst: 10, every: .seconds(1), now: loop.clock.now)
        values = RateLimit(burst: 100, every: .seconds(1), now: loop.clock.now)
    }

    /// Reports until the feed ends or the task is cancelled.
    package func run() async throws(CancellationError) {
        let (reader, _) = await store.open(nil)
        while true {
            switch try await store.next(for: reader) {
            case .lines(let span):
                guard await store.mayHoldReports(span, orAnswers: everyRequest) else { continue }
                for text in span.withUnsafeBytes({ texts(of: $0) }) { await notices.say(text) }
            case .gap, .greeting, .ended, .kept, .interrupted: break  // the lines are in the feed anyway
            case .end: return await store.close(reader)
            }
        }
    }

    private func texts(of bytes: UnsafeRawBufferPointer) -> [String] {
        var texts: [String] = []
        bytes.forEachLine { line in
            guard let type = LineHead(line)?.type else { return }
            let mayMatter =
                type == "error" || type == "recovered" || (everyRequest && type == "latency")
                || line.range(of: "\"value_pointer\":") != nil
            if mayMatter, let text = text(of: line) { texts.append(text) }
        }
        return texts
    }

    private func text(of line: UnsafeRawBufferPointer) -> String? {
        guard let decoded = try? LineDecoder.decode(Array(line)[...]) else { return nil }
        let name = decoded.source ?? "?"
        // Every message starts with the agent's own name.
        let source = name == EventStore.ownName ? "" : Sanitizer.visible(name, limit: 100) + ": "
        let time = Self.time(decoded.time, now: wall.now)
        switch decoded.body {
        case .error(let failure):
            let next = time.isEmpty ? failure.retryIn.map { "; next try in \($0.shortText)" } ?? "" : ""
            return limited("\(time)\(source)\(Sanitizer.visible(failure.message, limit: 1_000))\(next)")
        case .recovered(let recovery):
            let attempts = recovery.attempts == 1 ? "one failed attempt" : "\(recovery.attempts) failed attempts"
            let what = name == EventStore.ownName ? "goes on" : "answers again"
            return limited("\(time)\(source)\(what) after \(recovery.down.shortText) and \(attempts)")
        case .latency(let sample) where everyRequest:
            let endpoint = Sanitizer.visible(sample.endpoint, limit: 300)
            let took = Duration.microseconds(sample.ms * 1_000).shortText
            return "catwatch: \(time)\(source)\(endpoint) \(sample.status) \(took)\n"
        case .data(let data):
            // A separate limit from failures: at the start, every source may have one of these.
            guard let report = data.valueReport, everyRequest || values.allow(at: loop.clock.now) else { return nil }
            return "catwatch: \(time)\(source)\(report)\n"
        default: return nil
        }
    }

    /// The time of a line that is not current, from a replay or an attached agent's past; empty for a current one.
    private static func time(_ time: Timestamp, now: Timestamp) -> String {
        let age = now - time
        guard age > .seconds(5) || age < .seconds(-5) else { return "" }
        var text = TimestampText()
        let quoted = LineWriter.bytes(atMost: 32) { text.write(time, to: &$0) }
        return String(decoding: quoted.dropFirst().prefix("2026-11-22T08:00:00".utf8.count), as: UTF8.self) + "Z "
    }

    /// Returns the message, unless there have been too many.
    private func limited(_ message: String) -> String? {
        guard everyRequest || rate.allow(at: loop.clock.now) else { return nil }
        let left = rate.resetSuppressed()
        let note = left > 0 ? " (\(left) further messages were not shown)" : ""
        return "catwatch: \(message)\(note)\n"
    }
}

extension Line.Data {
    /// The most further numbers named.
    private static let mostOthers = 3

    /// The pointers to the first number and the next ones: `value: /latency_ms; also /active`; nil without
    /// `valuePointer`.
    package var valueReport: String? {
        guard let valuePointer, valuePointer.hasPrefix("/") else { return nil }
        let numbers = data?.withUnsafeBufferPointer {
            JSONPointer.numbers(in: $0, atMost: Self.mostOthers + 2, within: 64 << 10)
        }
        let others = (numbers ?? []).map(\.text).filter { $0 != valuePointer }
        let texts = others.prefix(Self.mostOthers).map { Sanitizer.visible($0, limit: 100) }
        let also = texts.isEmpty ? "" : "; also " + texts.joined(separator: ", ")
        return "value: \(Sanitizer.visible(valuePointer, limit: 300))\(also)\(others.count > texts.count ? ", …" : "")"
    }
}

/// A token bucket: a burst at once, then one per period.
struct RateLimit: Sendable {
    private let burst: Double
    private let every: Duration
    private var tokens: Double
    private var last: LoopInstant
    private var suppressed = 0

    init(burst: Int, every: Duration, now: LoopInstant) {
        self.burst = Double(burst)
        self.every = every
        tokens = Double(burst)
        last = now
    }

    /// Whether another one may pass now; counts those that may not.
    mutating func allow(at now: LoopInstant) -> Bool {
        tokens = min(burst, tokens + last.duration(to: now) / every)
        last = now
        guard tokens >= 1 else {
            suppressed += 1
            return false
        }
        tokens -= 1
        return true
    }

    /// Returns and resets the number of those that did not pass.
    mutating func resetSuppressed() -> Int {
        defer { suppressed = 0 }
        return suppressed
    }
}
