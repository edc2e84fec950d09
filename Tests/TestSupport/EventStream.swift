/// Reads a stream of events as a browser does (HTML Living Standard, section 9.2.6), written down from there.
package struct EventStream: Sendable {
    package struct Event: Sendable, Equatable {
        /// `message` when it has no name.
        package var name = "message"
        package var data = ""
        /// The last id there was, of this event or of one before.
        package var id = ""
    }

    package private(set) var events: [Event] = []
    package private(set) var retry: Int?
    package private(set) var lastID = ""
    /// Whether the stream ended within an event, which is lost then.
    package private(set) var isTorn = false

    /// - Parameter bytes: a whole stream, without its head.
    package init(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        var name = ""
        var data: [String] = []
        var next = 0
        while next < bytes.count {
            let start = next
            while next < bytes.count, bytes[next] != 0x0A, bytes[next] != 0x0D { next += 1 }
            guard next < bytes.count else {
                isTorn = true
                break
            }
            let line = String(decoding: bytes[start..<next], as: UTF8.self)
            next += bytes[next] == 0x0D && next + 1 < bytes.count && bytes[next + 1] == 0x0A ? 2 : 1
            if line.isEmpty {
                if !data.isEmpty {
                    let name = name.isEmpty ? "message" : name
                    events.append(Event(name: name, data: data.joined(separator: "\n"), id: lastID))
                }
                (name, data) = ("", [])
                continue
            }
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            var value = halves.count == 2 ? halves[1] : ""
            if value.first == " " { value.removeFirst() }
            switch halves[0] {
            case "event": name = String(value)
            case "data": data.append(String(value))
            case "id": if !value.contains("\0") { lastID = String(value) }
            case "retry": retry = Int(value) ?? retry
            default: break
            }
        }
        if !data.isEmpty { isTorn = true }
    }

    /// The data of the events without a name.
    package var lines: [String] { events.filter { $0.name == "message" }.map(\.data) }
}
