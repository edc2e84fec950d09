internal import Reactor

/// Encodes the store's values as lines of format 1, into memory that the log has reserved.
///
/// Keys come in the order of docs/wire-format.md. Every `most…` gives the most bytes that its namesake may write.
package struct LineEncoder: Sendable {
    // A line: 1 MiB, 30 levels of objects and arrays, numbers that a double can hold; `data` left out,
    // `"truncated":true`; a relayed line may lose more, or become a `gap`.
    /// The longest line, its newline included, in bytes.
    package static let longestLine = 1 << 20
    /// How many levels of arrays and objects a line may have, its own object included (decision 0026).
    package static let mostLevels = 30
    // `text` of an event: 4 KiB; cut, `"truncated":true`.
    /// Where `text` is cut, in bytes of UTF-8 before escaping.
    package static let longestText = 4_096
    // Message of an `error`: 1,000 code points; cut, ending in `…`.
    /// The longest `message` of an `error` line, in characters.
    static let longestMessage = 1_000
    /// Room for the fixed keys, the numbers and the times of any numbered line, and a word.
    static let fixed = 640

    var timeText = TimestampText()
    /// Apart, because it is seldom the time of the line.
    private var sinceText = TimestampText()
    /// The members behind the value of the next line, if that stands for a word, and their bytes.
    private var word: [UInt8] = []
    private(set) var wordCount = 0
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

    /// Makes the value of the next line stand for a word, which its series has since then.
    mutating func setWord(_ text: UnsafeBufferPointer<UInt8>, since: Timestamp) {
        word = LineWriter.bytes(atMost: 64 + LineWriter.mostEscaped(text.count)) {
            $0.raw(",\"word\":")
            $0.string(text)
            $0.raw(",\"since\":")
            sinceText.write(since, to: &$0)
        }
        wordCount = word.count
    }

    /// Writes the word that the line's value stands for.
    @inline(never)
    mutating func endValue(_ start: LineWriter) -> LineWriter {
        var writer = start
        writer.raw(word[...])
        wordCount = 0
        return writer
    }

    /// The last members of a line that came from an agent of a fleet.
    ///
    /// - Parameters:
    ///   - place: the line's run and sequence number at that agent.
    ///   - time: the line's original time, if the hub gave it another.
    static func tail(agent: String, _ place: LineID? = nil, time: Timestamp? = nil) -> [UInt8] {
        LineWriter.bytes(atMost: 200 + LineWriter.mostEscaped(agent.utf8.count + (place?.run.utf8.count ?? 0))) {
            $0.byte(UInt8(ascii: ","))
            $0.raw("\"agent\":")
            $0.string(agent)
            $0.string("origin_run", place?.run)
            // A line about several lines has no sequence number of its own.
            $0.integer("origin_seq", place.flatMap { $0.sequence > 0 ? $0.sequence : nil })
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

    @inline(__always)
    func end(_ writer: LineWriter) -> LineWriter {
        var writer = writer
        if tailCount > 0 { tail.withUnsafeBufferPointer { writer.raw($0) } }
        writer.raw("}\n")
        return writer
    }

    /// The first `limit` bytes of UTF-8, cut before a scalar that would cross that limit.
    @inline(__always)
    static func cut(_ text: UnsafeBufferPointer<UInt8>, at limit: Int = longestText) -> UnsafeBufferPointer<UInt8> {
        guard text.count > limit else { return text }
        return UnsafeBufferPointer(rebasing: text[..<JSONText.prefixCount(text, limit: limit)])
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
    static func most(_ texts: Int...) -> Int {
        fixed + LineWriter.mostEscaped(texts.reduce(0, +))
    }

    /// The most bytes that `line` may write for this body.
    func most(_ body: some LineBody, source: String) -> Int {
        Self.most(source.utf8.count, body.textBytes) + tailCount
    }

    /// A line of any type but data and windows.
    mutating func line<Body: LineBody>(
        _ body: Body, sequence: Int, time: Timestamp, source: String, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        writer.raw("\"type\":\"")
        writer.raw(Body.type)
        writer.raw("\"")
        writer.string("source", source)
        body.write(to: &writer)
        return end(writer)
    }

    /// The most bytes of a window line with names and a band of these lengths, both escaped already.
    static func mostWindow(names: Int, band: Int = 0) -> Int { fixed + names + band }

    /// A closed window. `names` is `"source":"…","series":"…"`, `band` the name of its band with its quotes.
    mutating func window(
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
        return end(writer)
    }
}
