internal import Glibc

/// Collects a request's header fields from the head as libmicrohttpd has parsed it in place: with a byte 0 behind each
/// name and value. It also ends a value at a byte 0 from the client; the hidden rest, before the next field, is
/// detected here.
struct HTTPHeadReading {
    private let head: UnsafeRawBufferPointer
    /// The end of the previous text in the head; nil when that is elsewhere.
    private var end: Int?
    private(set) var fields: [HTTPField] = []
    /// Whether a text has more bytes behind a byte 0.
    private(set) var hasZero = false

    /// - Parameters:
    ///   - head: from the method to the empty line.
    ///   - version: the last word of the request line.
    init(_ head: UnsafeRawBufferPointer, behind version: UnsafePointer<CChar>) {
        self.head = head
        end = offset(behind: version)
    }

    mutating func add(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>?) {
        if let start = offset(of: name) { look(until: start) }
        end = offset(behind: value ?? name)
        fields.append(HTTPField(String(cString: name), value.map { String(cString: $0) } ?? ""))
    }

    /// Call this after the last field.
    mutating func finish() { look(until: head.count) }

    private mutating func look(until start: Int) {
        // Blanks at the end of a value are not part of it.
        guard let end, end < start else { return }
        if head[end..<start].contains(where: { $0 != 0 && $0 != 0x20 && $0 != 0x09 }) { hasZero = true }
    }

    private func offset(of text: UnsafePointer<CChar>) -> Int? {
        guard let base = head.baseAddress else { return nil }
        let offset = UnsafeRawPointer(text) - base
        return head.indices.contains(offset) ? offset : nil
    }

    private func offset(behind text: UnsafePointer<CChar>) -> Int? { offset(of: text).map { $0 + strlen(text) } }
}
