internal import Glibc
package import Reactor

/// Events in the order they happened, laid out so that publishing them needs no reference counting.
///
/// The bytes of all data events are in one array, and the rest of an event is a few plain numbers. Measured against an
/// array of `Event`: 1.8 million facts a second became 14 million.
package struct EventBatch: Sendable {
    /// A range in `bytes`, relative to its record's offset; absent when the length is negative.
    struct Piece: Sendable {
        var start: Int32 = 0
        var length: Int32 = -1
    }

    /// A data event, or a reference to another one.
    struct Record: Sendable {
        var time: Timestamp
        /// NaN when there is no value.
        var value = Double.nan
        /// The offset of its bytes.
        var offset = 0
        var source: Int32
        /// The event's index in `others`; −1 for a data event.
        var other: Int32 = -1
        var key = Piece()
        var text = Piece()
        var data = Piece()
        /// The flaws of its data, which are mended already, or left out.
        var flaws: JSONFlaws = []
        /// The length and the start of the word that its value stands for; 0 when it stands for none. Not a `Piece`, for
        /// which a record would have to grow.
        fileprivate(set) var wordLength: UInt8 = 0
        fileprivate var wordStart: Int32 = 0

        /// Whether its value stands for a word.
        @inline(__always) var hasWord: Bool { wordLength > 0 }
        /// The word that its value stands for; absent when it stands for none.
        var word: Piece { Piece(start: wordStart, length: wordLength == 0 ? -1 : Int32(wordLength)) }

        /// One of its pieces; nil if it is absent.
        ///
        /// - Parameter bytes: those of its batch.
        @inline(__always)
        func lend(_ piece: Piece, of bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
            guard piece.length >= 0 else { return nil }
            let start = offset + Int(piece.start)
            return UnsafeBufferPointer(rebasing: bytes[start..<start + Int(piece.length)])
        }
    }

    private(set) var records: [Record] = []
    /// As long as was ever needed; the bytes in use end at `byteCount`.
    @usableFromInline var bytes: [UInt8] = []
    private(set) var others: [Event] = []
    /// The origin of each record if all came from an agent of a fleet; empty otherwise.
    private(set) var origins: [LineOrigin] = []
    /// The pointers of records that state theirs, by record index; see `SourceStatus.valuePointer`.
    private(set) var valuePointers: [Int: String] = [:]
    /// The number of bytes of text and JSON.
    package internal(set) var byteCount = 0

    package init() {}

    /// - Parameter capacity: the number of events to have room for.
    package init(capacity: Int) {
        records.reserveCapacity(capacity)
        others.reserveCapacity(capacity)
    }

    package init(_ events: [Event]) {
        records.reserveCapacity(events.count)
        for event in events { add(event) }
    }

    /// The number of events.
    package var count: Int { records.count }

    /// Whether to publish it before reading more: so a reader never holds more than a full batch and one event.
    @inline(__always)
    package var isFull: Bool { byteCount >= Self.fullBytes || count >= Self.fullCount }

    // Bound: events read but not yet published | 1,024, or 128 KiB and one event | published first
    /// The size of a full batch, in bytes and in events.
    package static let fullBytes = 128 << 10
    package static let fullCount = 1_024

    /// Removes all events and keeps the memory.
    package mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        others.removeAll(keepingCapacity: true)
        origins.removeAll(keepingCapacity: true)
        valuePointers.removeAll()
        byteCount = 0
    }

    /// Adds an event from an agent of a fleet; in a batch, either all events are such or none.
    ///
    /// - Parameter isCut: whether a part of it was left out upstream.
    package mutating func add(_ event: Event, from origin: LineOrigin, isCut: Bool = false) {
        add(event)
        origins.append(origin)
        if isCut { records[records.count - 1].flaws.insert(.cut) }
    }

    /// Makes the last event, which has a value, state the pointer to it.
    package mutating func setValuePointer(_ pointer: String) { valuePointers[records.count - 1] = pointer }

    /// Makes the value of the last event stand for a word, a range in its data as that of its text.
    @inline(never)
    package mutating func setWord(_ word: Range<Int>) { setWord(piece(word, of: records[records.count - 1].offset)) }

    private mutating func setWord(_ word: Piece) {
        // A longer one is in no list of states, and `LineDecoder` takes none.
        records[records.count - 1].wordLength = UInt8(clamping: word.length)
        records[records.count - 1].wordStart = word.start
    }

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
                        text: datum.text == nil ? nil : text, data: datum.data == nil ? nil : data)
                }
            }
        }
        if let word = datum.word, !records[records.count - 1].value.isNaN {
            let offset = records[records.count - 1].offset
            setWord(word.withUnsafeBytes { append($0, from: offset) })
        }
        if !datum.flaws.isEmpty { mendLast(datum.flaws) }
    }

    /// Adds a data event; see `Datum` for what the bytes must be. They are copied.
    @inline(__always)
    package mutating func add(
        time: Timestamp, source: SourceID, key: UnsafeRawBufferPointer? = nil, value: Double? = nil,
        text: UnsafeRawBufferPointer? = nil, data: UnsafeRawBufferPointer? = nil
    ) {
        var record = Record(time: time, source: Int32(truncatingIfNeeded: source.index))
        record.offset = byteCount
        if let value, value.isFinite { record.value = value }
        if let key { record.key = append(key, from: record.offset) }
        if let text { record.text = append(text, from: record.offset) }
        if let data { record.data = append(data, from: record.offset) }
        records.append(record)
    }

    /// Adds a data event that is one valid, minified JSON value. Its key and its text are ranges in `data`, between the
    /// quotes of a string if it is one; escapes in them are decoded.
    ///
    /// - Parameter name: the key, if it is not in `data`.
    package mutating func add(
        time: Timestamp, source: SourceID, key: Range<Int>? = nil, name: Bytes? = nil, value: Double?,
        text: Range<Int>?, data: UnsafeBufferPointer<UInt8>, flaws: JSONFlaws = []
    ) {
        let offset = byteCount
        _ = append(UnsafeRawBufferPointer(data), from: offset)
        addLast(data.count, time: time, source: source, key: key, value: value, text: text, flaws)
        if let name { records[records.count - 1].key = name.withUnsafeBytes { append($0, from: offset) } }
    }

    /// Minifies a document into the batch's own memory, and searches for the selected values at the same time.
    /// `addMinified` then makes it an event.
    ///
    /// - Returns: the number of bytes of the minified document.
    /// - Throws: the first fault; nothing is added.
    @inline(__always)
    package mutating func minify(
        _ input: UnsafeBufferPointer<UInt8>, _ selection: JSONSelection, _ found: JSONSelection.Found
    ) throws(JSONFault) -> Int {
        reserve(input.count)
        let end = byteCount
        return try bytes.withUnsafeMutableBufferPointer { (bytes) throws(JSONFault) in
            // In bounds: there is room for the whole input after the bytes in use; without any room the input is empty.
            guard let base = bytes.baseAddress else { throw JSONFault(offset: 0, reason: .empty) }
            return try selection.read(input, into: base + end, found)
        }
    }

    /// Lends the document that was minified last and is not an event yet.
    @inlinable
    @inline(__always)
    package func withMinified<Value, Failure: Error>(
        _ count: Int, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
            try body(UnsafeBufferPointer(rebasing: bytes[byteCount..<byteCount + count]))
        }
    }

    /// Adds the document that was minified last as a data event; see the `add` that takes ranges.
    @inline(__always)
    package mutating func addMinified(
        _ count: Int, time: Timestamp, source: SourceID, key: Range<Int>?, value: Double?, text: Range<Int>?,
        flaws: JSONFlaws
    ) {
        byteCount += count
        addLast(count, time: time, source: source, key: key, value: value, text: text, flaws)
    }

    /// Adds a data event whose data is the last `count` bytes.
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

    /// Makes the data of the last event readable for every reader, or removes it. Its key and text may be ranges in it
    /// without escapes, and stay.
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

    /// The piece for a range from `offset`; escaped text is decoded and appended after all other bytes.
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
        // An event of more than 2 GiB cannot become a line: the bytes cut off here would be left out there.
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
        // With memcpy and memset: without optimisation, appending repeated elements goes one by one.
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
