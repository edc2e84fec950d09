extension JSONPointer {
    /// Returns pointers to the first numbers of a document, in its order; skips those that a double cannot hold.
    ///
    /// - Parameters:
    ///   - document: valid JSON.
    ///   - isLenient: whether strings that contain a number count, see `JSONNumber.lenient`.
    ///   - most: the most pointers to return.
    ///   - limit: the number of bytes of the document to search.
    package static func numbers(
        in document: UnsafeBufferPointer<UInt8>, isLenient: Bool = false, atMost most: Int, within limit: Int = .max
    ) -> [JSONPointer] {
        var scanner = JSONScanner(document)
        var pointers: [JSONPointer] = []
        // The steps to the value at the scanner: the range of a member's name, or an element's index.
        var path: [(name: Range<Int>?, index: Int)] = []
        // A fault ends the search; a valid document has none.
        guard (try? scanner.begin()) != nil else { return [] }
        while pointers.count < most, scanner.position < limit {
            let start = scanner.position
            do throws(JSONFault) {
                if let isObject = try scanner.enter() {
                    path.append((isObject ? 0..<0 : nil, -1))
                } else {
                    try scanner.value()
                    let value = UnsafeBufferPointer(rebasing: document[start..<scanner.position])
                    if isNumber(value, isLenient: isLenient) {
                        pointers.append(JSONPointer(tokens: path.map { token($0.name, $0.index, in: document) }))
                    }
                }
                while let last = path.last, try !scanner.step(isFirst: last.index < 0) { path.removeLast() }
            } catch {
                break
            }
            guard let last = path.last else { break }
            path[path.count - 1] = (last.name.map { _ in scanner.nameRange }, last.index + 1)
        }
        return pointers
    }

    private static func isNumber(_ value: UnsafeBufferPointer<UInt8>, isLenient: Bool) -> Bool {
        guard isLenient, value.first == UInt8(ascii: "\"") else { return JSONNumber.double(value) != nil }
        return JSONNumber.lenient(UnsafeBufferPointer(rebasing: value.dropFirst().dropLast())) != nil
    }

    private static func token(_ name: Range<Int>?, _ index: Int, in document: UnsafeBufferPointer<UInt8>) -> Bytes {
        guard let name else { return Bytes("\(index)".utf8) }
        return JSONText.unescape(Bytes(UnsafeBufferPointer(rebasing: document[name])))
    }
}
