internal import Feed
internal import Reactor

/// Splits and decodes the bytes of one connection to another agent into lines, from its first greeting on.
struct PeerLines {
    enum Item {
        case line(Line, Bytes)
        /// A line that cannot be decoded.
        case fault(LineFault)
        /// Abandon the connection: the peer is not an agent, or refuses us.
        case refused(String)
        /// Abandon the connection: the peer breaks the protocol.
        case breach(String)
    }

    // A line of an attached agent: 1 MiB; the connection ends; pauses grow.
    private var splitter = LineSplitter(limit: LineEncoder.longestLine)
    // Lines in a row of an attached agent that cannot be read: 100,000; the connection ends; pauses grow.
    private static let mostUnreadable = 100_000
    private var unreadable = 0
    private let isResuming: Bool
    /// Whether the agent has greeted us.
    private(set) var hasHello = false
    /// Whether lines are skipped until the answer to our resume request: the replay may begin behind lines that the
    /// agent's journal has.
    private var isEarly = false
    /// The greeting that preceded the skipped lines.
    private var early: Item?
    /// The next item: a line held back until the greeting was returned.
    private var held: Item?
    private let greetsFirst: Bool
    /// Whether the agent has announced the end of its run.
    private var isLeaving = false

    static let tooLong = "a line has more than \(LineEncoder.longestLine >> 20) MiB"

    /// - Parameters:
    ///   - isResuming: whether we asked the agent to resume behind a line.
    ///   - greetsFirst: whether the agent greets before it reads that request.
    init(isResuming: Bool, greetsFirst: Bool) { (self.isResuming, self.greetsFirst) = (isResuming, greetsFirst) }

    mutating func push(_ bytes: Bytes) { splitter.push(bytes) }

    /// Whether the unfinished line is too long already: its end may never come.
    var isTooLong: Bool { splitter.isSkipping }

    /// Returns the next item, or nil when more bytes are needed.
    mutating func next() -> Item? {
        if let held = held.take() { return held }
        while let item = splitter.next() {
            guard case .line(let bytes) = item else { return .breach(Self.tooLong) }
            let line: Line
            do throws(LineFault) {
                line = try LineDecoder.decode(bytes)
            } catch {
                // The run would become part of our requests.
                if case .wrong("run", _) = error.reason { return .breach("\(error)") }
                if hasHello {
                    unreadable += 1
                    let isTooMuch = unreadable > Self.mostUnreadable
                    return isTooMuch ? .breach("\(unreadable) lines in a row cannot be read") : .fault(error)
                }
                if case .format = error.reason { return .refused("\(error.reason)") }
                return .refused(Self.stranger)
            }
            unreadable = 0
            // No number follows this one, so what resumes behind it would get nothing.
            var last = line.seq
            if case .gap(let gap) = line.body { last = gap.to }
            guard last != .max else { return .breach("it counts up to \(Int.max), which is no number of a line") }
            if case .hello = line.body {
                isEarly = !hasHello && greetsFirst && isResuming
                hasHello = true
                early = isEarly ? .line(line, bytes) : nil
            } else if !hasHello {
                return .refused(Self.refusal(line) ?? Self.stranger)
            }
            // Nothing else answers our request after a refusal: the following lines belong to the run of the greeting.
            if case .refusal = line.body, let early {
                (self.early, held, isEarly) = (nil, .line(line, bytes), false)
                return early
            }
            if case .bye = line.body { isLeaving = true }
            if !isEarly { return .line(line, bytes) }
        }
        return nil
    }

    /// Returns why the connection ended, after the peer closed it.
    mutating func ending() -> String {
        if isLeaving { return "the agent has ended" }
        let closed = "the agent closed the connection"
        guard !hasHello, let rest = splitter.finish() else { return closed }
        guard case .line(let bytes) = rest, zip(bytes, Self.greeting).allSatisfy({ $0 == $1 }) else {
            return Self.stranger
        }
        return closed
    }

    /// The start of a greeting, to recognize one that was cut off.
    private static let greeting = Array("{\"type\":\"hello\"".utf8)

    /// The agent's message if the line refuses us or our request; nil for any other line.
    static func refusal(_ line: Line) -> String? {
        if case .refusal(let failure) = line.body { return Sanitizer.visible(failure.message, limit: 200) }
        return nil
    }

    private static let stranger = "what answers there is not catwatch"
}
