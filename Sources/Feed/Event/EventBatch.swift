internal import Glibc
package import Reactor

/// Events in the order they happened, laid out so that publishing them costs no reference counting.
///
/// The bytes of all data events lie in one array, and what is left of an event is a few plain numbers. Measured against
/// an array of `Event`: 1.8 million facts a second became 14.
package struct EventBatch: Sendable {
    /// Where in `bytes` something lies, from its record's offset on; nothing when the length is negative.
    struct Piece: Sendable {
        var start: Int32 = 0
        var length: Int32 = -1
    }

    /// A data event, or the place of another one.
    struct Record: Sendable {
        var time: Timestamp
        /// No number when there is no value.
        var value = Double.nan
        /// Where its bytes begin.
        var offset = 0
        var source: Int32
        /// Where `others` has the event; −1 for a data event.
        var other: Int32 = -1
        var key = Piece()
        var text = Piece()
        var data = Piece()
        /// What the data had; they are mended already, or left out.
        var flaws: JSONFlaws = []
    }

    private(set) var records: [Record] = []
    /// As long as there was ever need for; what was added ends at `byteCount`.
    @usableFromInline var bytes: [UInt8] = []
    private(set) var others: [Event] = []
    /// Where each record came from, when all are an agent's of a fleet; none otherwise.
    private(set) var origins: [LineOrigin] = []
    /// The records that say where their value was found, see `SourceStatus.valuePointer`.
    private(set) var valuePointers: [Int: String] = [:]
    /// How many bytes of text and JSON there are.
    package internal(set) var byteCount = 0

    package init() {}

    package init(_ events: [Event]) {
        records.reserveCapacity(events.count)
        for event in events { add(event) }
    }

    /// How many events there are.
    package var count: Int { records.count }

    /// Whether it is as much as is read before it is published: whoever reads has no more in memory than this and one event.
    @inline(__always)
    package var isFull: Bool { byteCount >= Self.fullBytes || count >= Self.fullCount }

    /// What makes a batch full, in bytes and in events.
    package static let fullBytes = 128 << 10
    package static let fullCount = 1_024

    /// Empties it and keeps its memory.
    package mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
        origins.removeAll(keepingCapacity: true)
        valuePointers.removeAll()
        byteCount = 0
    }

    /// Adds an event of an agent of a fleet; all of a batch are such, or none.
    ///
    /// - Parameter isCut: whether something of it was left out before it came here.
    package mutating func add(_ event: Event, from origin: LineOrigin, isCut: Bool = false) {
        add(event)
        origins.append(origin)
        if isCut { records[records.count - 1].flaws.insert(.cut) }
    }

    /// Has the last event, which has a value, say where that was found.
    package mutating func setValuePointer(_ pointer: String) { valuePointers[records.count - 1] = pointer }

    /// Adds an event of any kind.
    package mutating func add(_ event: Event) {
        guard case .data(let datum) = event.body else {
            records.append(Record(time: event.time, source: Int32(event.source.index), other: Int32(others.count)))
            others.append(event)
            return
        }
        let empty = Bytes()
        (datum.key ?? empty).withUnsafeBytes { key in
            (datum.text ?? empty).withUnsafeBytes { text in
                (datum.data ?? empty).withUnsafeBytes { data in
                    add(
                        time: event.time, source: event.source, key: datum.key == nil ? nil : key, value: datum.value,
                        text: datum.text == nil ? nil : text, data: datum.data == nil ? nil : data, flaws: datum.flaws)
                }
            }
        }
    }

    /// Adds a data event; see `Datum` for what the bytes must be. They are copied.
    @inline(__always)
    package mutating func add(
        time: Timestamp, source: SourceID, key: UnsafeRawBufferPointer? = nil, value: Double? = nil,
        text: UnsafeRawBufferPointer? = nil, data: UnsafeRawBufferPointer? = nil, flaws: JSONFlaws = []
    ) {
        var record = Record(time: time, source: Int32(truncatingIfNeeded: source.index))
        record.offset = byteCount
        if let value, value.isFinite { record.value = value }
        if let key { record.key = append(key, from: record.offset) }
        if let text { record.text = append(text, from: record.offset) }
        if let data { record.data = append(data, from: record.offset) }
        records.append(record)
        if !flaws.isEmpty { mendLast(flaws) }
    }

    /// Adds a data event that is one valid, minified JSON value. Its key and its text lie in that: ranges into `data`,
    /// between the quotes of a string where it is one; what is escaped there gets unescaped.
    package mutating func add(
        time: Timestamp, source: SourceID, key: Range<Int>? = nil, value: Double?, text: Range<Int>?,
        data: UnsafeBufferPointer<UInt8>, flaws: JSONFlaws = []
    ) {
        let offset = byteCount
        _ = append(UnsafeRawBufferPointer(data), from: offset)
        addLast(data.count, time: time, source: source, key: key, value: value, text: text, flaws)
    }

    /// Minifies a document into the batch's own memory, where `addMinified` makes an event of it, and looks for what is
    /// selected on the way.
    ///
    /// - Returns: how many bytes the minified document has.
    /// - Throws: the first fault; nothing is added.
    @inline(__always)
    package mutating func minify(
        _ input: UnsafeBufferPointer<UInt8>, _ selection: JSONSelection, _ found: JSONSelection.Found
    ) throws(JSONFault) -> Int {
        reserve(input.count)
        let end = byteCount
        return try bytes.withUnsafeMutableBufferPointer { (bytes) throws(JSONFault) in
            // In bounds: there is room for all of the input behind what is used; without room there is no input either.
            guard let base = bytes.baseAddress else { throw JSONFault(offset: 0, reason: .empty) }
            return try selection.read(input, into: base + end, found)
        }
    }

    /// Lends what was minified last and is no event yet.
    @inlinable
    @inline(__always)
    package func withMinified<Value, Failure: Error>(
        _ count: Int, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            try body(UnsafeBufferPointer(rebasing: bytes[byteCount..<byteCount + count]))
        }
    }

    /// Adds a data event that is what was minified last; see the `add` that takes ranges.
    @inline(__always)
    package mutating func addMinified(
        _ count: Int, time: Timestamp, source: SourceID, key: Range<Int>?, value: Double?, text: Range<Int>?,
        flaws: JSONFlaws
    ) {
        byteCount += count
        addLast(count, time: time, source: source, key: key, value: value, text: text, flaws)
    }

    /// Adds a data event whose data are the last `count` bytes.
    @inline(__always)
    private mutating func addLast(
        _ count: Int, time: Timestamp, source: SourceID, key: Range<Int>?, value: Double?, text: Range<Int>?,
        _ flaws: JSONFlaws
    ) {
        var record = Record(time: time, source: Int32(truncatingIfNeeded: source.index))
        record.offset = byteCount - count
        record.data = Piece(start: 0, length: Int32(clamping: count))
        if let value, value.isFinite { record.value = value }
        if let key { record.key = piece(key, of: record.offset) }
        if let text { record.text = piece(text, of: record.offset) }
        records.append(record)
        if !flaws.isEmpty { mendLast(flaws) }
    }

    /// Makes the data of the last event what every reader can read, or leaves them out. Its key and its text may lie in
    /// them, where nothing is escaped, and stay.
    @inline(never)
    private mutating func mendLast(_ flaws: JSONFlaws) {
        let last = records.count - 1
        records[last].flaws = flaws
        let (offset, data) = (records[last].offset, records[last].data)
        guard data.length >= 0 else { return }
        guard !flaws.areFatal else {
            records[last].data = Piece()
            return
        }
        let start = offset + Int(data.start)
        bytes.withUnsafeMutableBufferPointer {
            JSONText.replaceLoneSurrogates(in: .init(rebasing: $0[start..<start + Int(data.length)]))
        }
    }

    /// What lies in the bytes from `offset` on already, or its unescaped text behind all that there is.
    @inline(__always)
    private mutating func piece(_ range: Range<Int>, of offset: Int) -> Piece {
        let isEscaped = bytes.withUnsafeBufferPointer { bytes in
            bytes[offset + range.lowerBound..<offset + range.upperBound].contains(UInt8(ascii: "\\"))
        }
        guard isEscaped else {
            return Piece(start: Int32(clamping: range.lowerBound), length: Int32(clamping: range.count))
        }
        let text = JSONText.unescape(bytes[offset + range.lowerBound..<offset + range.upperBound])
        return text.withUnsafeBytes { append($0, from: offset) }
    }

    private mutating func append(_ piece: UnsafeRawBufferPointer, from offset: Int) -> Piece {
        // More than 2 GiB in one event is no line of ours: what is cut off here is left out there.
        let count = min(piece.count, Int(Int32.max) - (byteCount - offset))
        reserve(count)
        bytes.withUnsafeMutableBytes {
            UnsafeMutableRawBufferPointer(rebasing: $0[byteCount...]).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: piece[..<count]))
        }
        defer { byteCount += count }
        return Piece(start: Int32(byteCount - offset), length: Int32(count))
    }

    /// Makes room for `count` more bytes.
    @inline(__always)
    private mutating func reserve(_ count: Int) {
        if bytes.count - byteCount < count { grow(count) }
    }

    @inline(never)
    private mutating func grow(_ count: Int) {
        let needed = byteCount + count
        let wanted = bytes.isEmpty ? needed : max(needed, bytes.count * 2)
        // By memcpy and memset: appending repeated elements takes them one by one where nothing is optimised.
        bytes = [UInt8](unsafeUninitializedCapacity: wanted) { [bytes, byteCount] room, count in
            bytes.withUnsafeBytes { old in
                guard let target = room.baseAddress else { return }
                if let source = old.baseAddress { memcpy(target, source, byteCount) }
                memset(target + byteCount, 0, wanted - byteCount)
            }
            count = wanted
        }
    }
}
