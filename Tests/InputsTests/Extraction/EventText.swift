import Reactor

@testable import Feed

/// The events of a batch as text, one a line, so that what differs is seen in a failure message.
func eventTexts(_ batch: EventBatch, arrival: Timestamp) -> [String] {
    batch.events.map { event in
        guard case .data(let datum) = event.body else { return "\(event)" }
        var parts: [String] = []
        func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }
        if let key = datum.key { parts.append("key=\(text(key))") }
        if let value = datum.value { parts.append("value=\(value)") }
        if let word = datum.word { parts.append("word=\(text(word))") }
        if let words = datum.text { parts.append("text=\(text(words))") }
        if event.time != arrival { parts.append("time=\(event.time.microseconds)") }
        if let data = datum.data { parts.append("data=\(text(data))") }
        if datum.flaws.areFatal { parts.append("truncated") }
        if datum.flaws.contains(.surrogate) { parts.append("altered") }
        return parts.joined(separator: " ")
    }
}

extension EventBatch {
    /// The events one by one, as they were added.
    var events: [Event] {
        records.map { record in
            guard record.other < 0 else { return others[Int(record.other)] }
            func bytes(_ piece: Piece) -> Bytes? {
                guard piece.length >= 0 else { return nil }
                let start = record.offset + Int(piece.start)
                return self.bytes[start..<start + Int(piece.length)]
            }
            let datum = Datum(
                key: bytes(record.key), value: record.value.isNaN ? nil : record.value, word: bytes(record.word),
                text: bytes(record.text), data: bytes(record.data), flaws: record.flaws)
            return Event(time: record.time, source: SourceID(index: Int(record.source)), body: .data(datum))
        }
    }
}
