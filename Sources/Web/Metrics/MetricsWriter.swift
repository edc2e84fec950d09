internal import Feed

/// Writes families of metrics into memory reserved by the caller; like `LineWriter`, it does not check bounds.
struct MetricsWriter {
    private(set) var line: LineWriter
    private let format: MetricsFormat
    /// The start of the current sample's labels.
    private var labels: UnsafeMutablePointer<UInt8>
    /// Whether a label of the sample may equal that of another text.
    private(set) var isAmbiguous = false

    // A label of `/metrics`: 128 bytes before escaping; cut; of equal names the first is written, others counted.
    static let longestLabel = 128
    /// The most bytes of a sample with two labels, an agent's name, and a word, or a bound or code of ours; `head` writes
    /// less.
    static let mostSample =
        128 + 2 * (24 + 2 * longestLabel) + 24 + AgentName.longest + 24 + 2 * BandScale.longestName
        + LineWriter.mostNumber

    init(_ line: LineWriter, _ format: MetricsFormat) {
        self.line = line
        self.format = format
        labels = line.next
    }

    /// Writes the lines before a family's samples.
    mutating func head(_ family: MetricFamily) {
        func begin(_ word: StaticString, _ line: inout LineWriter) {
            line.raw("# ")
            line.raw(word)
            line.raw(" ")
            line.raw(family.name)
            // The text format uses the names of samples here.
            if format == .text { line.raw(Self.suffix(family)) }
            line.raw(" ")
        }
        begin("HELP", &line)
        line.raw(family.help)
        line.raw("\n")
        begin("TYPE", &line)
        switch family.kind {
        case .gauge: line.raw("gauge\n")
        case .counter: line.raw("counter\n")
        case .histogram: line.raw("histogram\n")
        case .info: if format == .text { line.raw("gauge\n") } else { line.raw("info\n") }
        }
        if format == .openMetrics, let unit = family.unit {
            begin("UNIT", &line)
            line.raw(unit)
            line.raw("\n")
        }
    }

    /// Ends the answer.
    mutating func end() { if format == .openMetrics { line.raw("# EOF\n") } }

    private static func suffix(_ family: MetricFamily) -> StaticString {
        switch family.kind {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
    }

    // MARK: Samples

    /// Begins a sample; its labels and its value must follow.
    mutating func begin(_ family: MetricFamily) { begin(family, Self.suffix(family)) }

    mutating func begin(_ family: MetricFamily, _ suffix: StaticString) {
        line.raw(family.name)
        line.raw(suffix)
        labels = line.next
    }

    /// Writes a label with text from outside, followed by a slash and the key, if any.
    mutating func label(_ name: StaticString, _ text: String, key: Bytes? = nil) {
        beginLabel(name)
        var room = Self.longestLabel
        var text = text
        text.withUTF8 { value($0, &room) }
        if let key {
            value(byte: UInt8(ascii: "/"), &room)
            key.withUnsafeBufferPointer { value($0, &room) }
        }
        // A label that was cut has at most this room left; it may equal one that was not.
        if room <= 3 { isAmbiguous = true }
        line.raw("\"")
    }

    /// Writes a label with a constant value.
    mutating func label(_ name: StaticString, own value: StaticString) {
        beginLabel(name)
        line.raw(value)
        line.raw("\"")
    }

    /// Writes earlier labels again.
    mutating func repeated(labels: UnsafeBufferPointer<UInt8>) {
        line.raw(labels)
    }

    /// The labels of the current sample, until its value is written.
    var written: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: labels, count: line.next - labels) }

    private mutating func beginLabel(_ name: StaticString) {
        line.byte(UInt8(ascii: line.next == labels ? "{" : ","))
        line.raw(name)
        line.raw("=\"")
    }

    private mutating func endLabels() {
        if line.next == labels { line.raw(" ") } else { line.raw("} ") }
        isAmbiguous = false
    }

    mutating func value(_ value: Int) {
        endLabels()
        line.integer(value)
        line.raw("\n")
    }

    /// Writes a value of any unit.
    mutating func value(_ value: Double) {
        endLabels()
        number(value)
        line.raw("\n")
    }

    /// Writes microseconds as seconds.
    mutating func value(microseconds: Int64) {
        endLabels()
        decimal(microseconds)
        line.raw("\n")
    }

    // MARK: Pieces

    /// Writes a number that reads back the same, infinite and NaN included.
    private mutating func number(_ value: Double) {
        guard value.isFinite else {
            if value.isNaN { line.raw("NaN") } else { line.raw(value > 0 ? "+Inf" : "-Inf") }
            return
        }
        // Most numbers have few decimals: division rounds once, so if the result is equal, these digits read back as
        // the number.
        let millionths = (value * 1_000_000).rounded()
        if millionths.magnitude < 1e15, millionths / 1_000_000 == value {
            decimal(Int64(millionths))
        } else {
            line.number(value)
        }
    }

    private mutating func decimal(_ millionths: Int64) {
        if millionths < 0 { line.byte(UInt8(ascii: "-")) }
        let (whole, rest) = millionths.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
        line.integer(Int(whole))
        guard rest > 0 else { return }
        line.byte(UInt8(ascii: "."))
        var fraction = rest
        var divisor: UInt64 = 100_000
        while fraction > 0 {
            line.byte(UInt8(truncatingIfNeeded: fraction / divisor) &+ 48)
            fraction %= divisor
            divisor /= 10
        }
    }

    /// Writes as much of a text as there is room for, in whole code points; control characters and invalid UTF-8 become
    /// U+FFFD.
    private mutating func value(_ text: UnsafeBufferPointer<UInt8>, _ room: inout Int) {
        guard let start = text.baseAddress else { return }
        var index = 0
        while index < text.count, room > 0 {
            let byte = start[index]
            if byte < 0x80 {
                value(byte: byte, &room)
                index += 1
                continue
            }
            let length = UTF8Scalar.length(start + index, text.count - index)
            // C1 controls are C2 80 to C2 9F.
            if length < 0 || byte == 0xC2 && start[index + 1] < 0xA0 {
                replacement(&room)
            } else if length <= room {
                line.raw(UnsafeBufferPointer(start: start + index, count: length))
                room -= length
                if length == 3, byte == 0xEF, start[index + 1] == 0xBF, start[index + 2] == 0xBD { isAmbiguous = true }
            } else {
                room = 0
            }
            index += length.magnitude == 0 ? 1 : Int(length.magnitude)
        }
        if index < text.count { room = 0 }
    }

    private mutating func value(byte: UInt8, _ room: inout Int) {
        guard room > 0 else { return }
        switch byte {
        case UInt8(ascii: "\\"): line.raw("\\\\")
        case UInt8(ascii: "\""): line.raw("\\\"")
        case UInt8(ascii: "\n"): line.raw("\\n")
        case 0x20...0x7E: line.byte(byte)
        default: return replacement(&room)
        }
        room -= 1
    }

    private mutating func replacement(_ room: inout Int) {
        isAmbiguous = true
        guard room >= 3 else {
            room = 0
            return
        }
        line.byte(0xEF)
        line.byte(0xBF)
        line.byte(0xBD)
        room -= 3
    }
}
