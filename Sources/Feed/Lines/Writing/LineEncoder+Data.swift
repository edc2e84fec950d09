internal import Reactor

/// Data lines, by far the most frequent lines.
extension LineEncoder {
    /// The type, source and series of a line.
    struct Names {
        /// `"type":"…","source":"…","series":"…`, without the closing quote.
        let prefix: UnsafeBufferPointer<UInt8>
        /// The series' key, at most 1 KiB; nil for the source's own series.
        let key: UnsafeBufferPointer<UInt8>?
        /// Whether the key needs no escapes.
        let isPlain: Bool

        /// The most bytes that `write` may write.
        @inline(__always)
        var most: Int { prefix.count + 2 + (isPlain ? key?.count ?? 0 : LineWriter.mostEscaped(key?.count ?? 0)) }

        @inline(__always)
        func write(to writer: inout LineWriter) {
            writer.raw(prefix)
            if let key {
                writer.byte(UInt8(ascii: "/"))
                if isPlain { writer.raw(key) } else if let start = key.baseAddress { writer.escape(start, key.count) }
            }
            writer.byte(UInt8(ascii: "\""))
        }
    }

    /// The most bytes that `datum` may write with these lengths.
    @inline(__always)
    func mostDatum(names: Int, text: Int, data: Int) -> Int {
        let texts = LineWriter.mostEscaped(min(max(0, text), Self.longestText))
        return min(Self.fixed + tailCount + names + texts + max(0, data), Self.longestLine)
    }

    /// Writes a data line.
    ///
    /// - Parameter flaws: the flaws of the original JSON, which were mended or made `data` be left out.
    @inline(__always)
    mutating func datum(
        value: Double?, text: UnsafeBufferPointer<UInt8>?, data: UnsafeBufferPointer<UInt8>?,
        flaws: JSONFlaws, sequence: Int,
        time: Timestamp, names: Names, to start: LineWriter
    ) -> LineWriter {
        var writer = start
        head(sequence, time, &writer)
        names.write(to: &writer)
        if let value {
            writer.raw(",\"value\":")
            writer.number(value)
            if wordCount > 0 { writer = endValue(writer) }
        }
        var isTruncated = flaws.areTruncating
        let isAltered = flaws.contains(.surrogate)
        if let text {
            writer.raw(",\"text\":")
            let cut = Self.cut(text)
            if cut.count < text.count { isTruncated = true }
            writer.string(cut)
        }
        if let data {
            // The other bytes: `,"data":`, `}` and the newline; `,"truncated":true` and `,"altered":true` if they
            // apply.
            let rest = data.count + (isTruncated ? 27 : 10) + (isAltered ? 15 : 0) + tailCount
            if writer.next - start.next + rest <= Self.longestLine {
                writer.raw(",\"data\":")
                writer.raw(data)
            } else {
                isTruncated = true
            }
        }
        if isTruncated { writer.raw(",\"truncated\":true") }
        if isAltered { writer.raw(",\"altered\":true") }
        return end(writer)
    }
}
