import Feed
import Reactor

/// The events of a batch as text, one a line, so that what differs is seen in a failure message.
func eventTexts(_ batch: EventBatch, arrival: Timestamp) -> [String] {
    batch.events.map { event in
        guard case .data(let datum) = event.body else { return "\(event)" }
        var parts: [String] = []
        func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }
        if let key = datum.key { parts.append("key=\(text(key))") }
        if let value = datum.value { parts.append("value=\(value)") }
        if let words = datum.text { parts.append("text=\(text(words))") }
        if event.time != arrival { parts.append("time=\(event.time.microseconds)") }
        if let data = datum.data { parts.append("data=\(text(data))") }
        return parts.joined(separator: " ")
    }
}
