internal import Feed

/// A whole document taken apart, slowly: what pointers and members are compared with.
package struct JSONTree {
    /// The value as it is written.
    package var raw: [UInt8]
    /// Unescaped, in document order; indices in arrays.
    package var keys: [String] = []
    package var values: [JSONTree] = []

    /// Takes apart a minified, valid document.
    package init(_ document: [UInt8]) {
        var position = 0
        self.init(document, &position)
    }

    private init(_ document: [UInt8], _ position: inout Int) {
        let start = position
        switch document[position] {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let keyed = document[position] == UInt8(ascii: "{")
            position += 1
            while !"]}".utf8.contains(document[position]) {
                if document[position] == UInt8(ascii: ",") { position += 1 }
                var key = String(keys.count)
                if keyed {
                    let body = Self.string(document, &position).dropFirst().dropLast()
                    key = String(decoding: JSONText.unescape(body), as: UTF8.self)
                    position += 1
                }
                keys.append(key)
                values.append(JSONTree(document, &position))
            }
            position += 1
        case UInt8(ascii: "\""): _ = Self.string(document, &position)
        default: while position < document.count, !",]}".utf8.contains(document[position]) { position += 1 }
        }
        raw = Array(document[start..<position])
    }

    private static func string(_ document: [UInt8], _ position: inout Int) -> ArraySlice<UInt8> {
        let start = position
        repeat {
            position += document[position] == UInt8(ascii: "\\") ? 2 : 1
        } while document[position] != UInt8(ascii: "\"")
        position += 1
        return document[start..<position]
    }

    /// All values in document order, each with a pointer that leads to it, or to the first one of its name.
    package func all(_ pointer: String = "") -> [(pointer: String, value: JSONTree)] {
        [(pointer, self)]
            + zip(keys, values).flatMap { key, value in
                let token = key.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined()
                return value.all(pointer + "/" + token)
            }
    }
}

/// Looked up step by step.
extension JSONTree {
    package var rawText: String { String(decoding: raw, as: UTF8.self) }
    package var isNumber: Bool { number != nil || rawText.hasPrefix("1e") || rawText.hasPrefix("-1e") }
    package var number: Double? { Double(rawText).flatMap { $0.isFinite ? $0 : nil } }

    package func number(_ isLenient: Bool) -> Double? {
        guard isLenient, let text else { return "-0123456789".utf8.contains(raw[0]) ? number : nil }
        let spaces: Set<UInt8> = [9, 10, 11, 12, 13, 32]
        var token = Array(text.utf8)[...]
        while let byte = token.first, spaces.contains(byte) { token.removeFirst() }
        while let byte = token.last, spaces.contains(byte) { token.removeLast() }
        guard let first = token.first, "-0123456789".utf8.contains(first), (try? JSONMinifier.validate(token)) != nil
        else {
            return nil
        }
        return Double(String(decoding: token, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
    }

    /// The text of a string.
    package var text: String? {
        guard raw.first == UInt8(ascii: "\"") else { return nil }
        return String(decoding: JSONText.unescape(raw[1..<raw.count - 1]), as: UTF8.self)
    }

    /// Where a pointer leads, by the first of duplicate keys.
    package func find(_ pointer: String) -> JSONTree? {
        var place = self
        for token in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            let key = token.split(separator: "~1", omittingEmptySubsequences: false).joined(separator: "/")
                .split(separator: "~0", omittingEmptySubsequences: false).joined(separator: "~")
            guard let index = place.keys.firstIndex(where: { $0.utf8.elementsEqual(key.utf8) }) else { return nil }
            place = place.values[index]
        }
        return place
    }
}
