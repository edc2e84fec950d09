package import Feed
package import Reactor

/// Reads the items of one document in slices; holds the document and the position in it.
package struct ItemReading {
    private var extractor: Extractor
    private let document: JSONDocument
    private let source: SourceID
    private let now: Timestamp
    private var items: JSONItems
    /// The selection found in the item that was read last.
    private let found = JSONSelection.Found()
    private var events = 0
    private var count = 0
    private var matches = ItemChoice.Matches()
    private var tally = ItemTally()
    private var valuePointer: JSONPointer?

    /// - Parameter now: the time of arrival.
    init(
        _ extractor: Extractor, of document: JSONDocument, _ items: JSONItems, from source: SourceID, now: Timestamp
    ) {
        self.extractor = extractor
        self.items = items
        self.document = document
        self.source = source
        self.now = now
    }

    /// The number of items between two checks of the time.
    private static let step = 8

    /// The result so far.
    package var outcome: Extractor.Outcome {
        Extractor.Outcome(
            events: events, items: count, isWhole: tally.withoutKey == 0, matches: matches,
            problem: tally.problem(for: extractor.extraction), valuePointer: valuePointer, missing: tally.missing)
    }

    /// The failure to report when the task is cancelled before the rest is read.
    package var cutShort: Failure {
        Failure(
            .closed,
            "the source was stopped or changed inside a document: what follows the first \(events) of its events is left out"
        )
    }

    /// Adds the events of further items to `batch`, until it is full or the time slice is over.
    ///
    /// - Returns: whether there are more items.
    package mutating func read(into batch: inout EventBatch, during slice: inout TimeSlice) -> Bool {
        repeat {
            if !read(atMost: Self.step, into: &batch) { return false }
        } while !batch.isFull && slice.goesOn()
        return true
    }

    /// Adds the events of at most `limit` more items to `batch`, until it is full.
    ///
    /// - Returns: whether there are more items.
    package mutating func read(atMost limit: Int, into batch: inout EventBatch) -> Bool {
        document.minified.withUnsafeBufferPointer { bytes in
            for _ in 0..<limit {
                guard let item = items.next(in: bytes, extractor.fields, found) else { return false }
                read(item, bytes, into: &batch)
                if batch.isFull { break }
            }
            return items.hasMore(in: bytes)
        }
    }

    private mutating func read(
        _ item: JSONItems.Item, _ document: UnsafeBufferPointer<UInt8>, into batch: inout EventBatch
    ) {
        let bytes = UnsafeBufferPointer(rebasing: document[item.value])
        let fields = extractor.fields(of: bytes, found)
        if fields.faults.key == nil { count += 1 }
        var name: Bytes?
        var flaws = found.flaws
        switch extractor.extraction.key {
        case .at: break
        case .position where item.name == nil: name = Bytes("\(item.position)".utf8)
        case .position, nil:
            name = item.name.map { JSONText.unescape(Bytes(UnsafeBufferPointer(rebasing: document[$0]))) }
            flaws.formUnion(item.nameFlaws)
        }
        if let only = extractor.extraction.only, fields.faults.key == nil {
            let key = name ?? fields.key.map { JSONText.unescape(Bytes(UnsafeBufferPointer(rebasing: bytes[$0]))) }
            guard let key, only.includes(key, noting: &matches) else { return }
        }
        tally.add(
            fields.faults, at: item.position, mayOmitValue: extractor.mayOmitValue,
            unknownWord: extractor.unknownWord(fields.faults, in: bytes, found))
        guard fields.faults.key == nil else { return }
        events += 1
        batch.add(
            time: fields.time ?? now, source: source, key: fields.key, name: name, value: fields.value,
            text: fields.text, data: bytes, flaws: flaws)
        if let word = fields.word { batch.setWord(word) }
        if let pointer = fields.valuePointer {
            batch.setValuePointer(pointer.text)
            extractor = extractor.fixingValue(at: pointer)
            valuePointer = pointer
        }
    }
}
