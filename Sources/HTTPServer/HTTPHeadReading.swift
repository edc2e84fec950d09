internal import Glibc

/// The header fields of a request as libmicrohttpd has taken a head apart, in its place: a byte 0 behind each name and value.
/// One that was sent ends a value for it, too; what stands behind that is found here, as it lies before the next field.
struct HTTPHeadReading {
    private let head: UnsafeRawBufferPointer
    /// Where the text before ends in it; nil when that stands elsewhere.
    private var end: Int?
    private(set) var fields: [HTTPField] = []
    /// Whether there was more of a text than its end.
    private(set) var hasZero = false

    /// - Parameters:
    ///   - head: from the method to the empty line.
    ///   - version: the last word of the request line.
    init(_ head: UnsafeRawBufferPointer, behind version: UnsafePointer<CChar>) {
        self.head = head
        end = place(behind: version)
    }

    mutating func add(_ name: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>?) {
        if let start = place(of: name) { look(until: start) }
        end = place(behind: value ?? name)
        fields.append(HTTPField(String(cString: name), value.map { String(cString: $0) } ?? ""))
    }

    /// To be called behind the last field.
    mutating func finish() { look(until: head.count) }

    private mutating func look(until start: Int) {
        // Blanks at the end of a value are left out.
        guard let end, end < start else { return }
        if head[end..<start].contains(where: { $0 != 0 && $0 != 0x20 && $0 != 0x09 }) { hasZero = true }
    }

    private func place(of text: UnsafePointer<CChar>) -> Int? {
        guard let base = head.baseAddress else { return nil }
        let place = UnsafeRawPointer(text) - base
        return head.indices.contains(place) ? place : nil
    }

    private func place(behind text: UnsafePointer<CChar>) -> Int? { place(of: text).map { $0 + strlen(text) } }
}
