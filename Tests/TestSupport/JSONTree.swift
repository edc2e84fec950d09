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
