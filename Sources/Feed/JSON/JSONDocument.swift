/// One JSON value, valid and minified, or a part of one.
package struct JSONDocument: Sendable {
    /// The value's bytes: shared with the document that contains it, not copied.
    package let minified: Bytes

    /// Validates and minifies `input`, and searches for the selected values at the same time.
    ///
    /// - Throws: the first fault.
    package init(
        _ input: Bytes, _ selection: JSONSelection = .nothing, _ found: JSONSelection.Found? = nil
    ) throws(JSONFault) {
        minified = try JSONMinifier.minify(input, selection, found)[...]
    }

    private init(minified: Bytes) { self.minified = minified }

    /// The kind of the value.
    package var kind: JSONKind { JSONKind(firstByte: minified.first) }

    /// Returns the value that `pointer` leads to; the first of duplicate keys counts.
    ///
    /// - Throws: `.pointer`, with the number of steps that resolved in words.
    package func value(at pointer: JSONPointer) throws(Failure) -> JSONDocument {
        guard !pointer.tokens.isEmpty else { return self }
        return try minified.withUnsafeBufferPointer { (document) throws(Failure) in
            let found = JSONSelection.Found()
            _ = try? JSONSelection([pointer]).read(document, found)
            guard let range = found[0] else { throw found.missing(pointer, at: 0, in: document, suggests: true) }
            return part(range)
        }
    }

    /// Returns the number that `pointer` leads to.
    ///
    /// - Throws: `.pointer` when nothing is there, or another kind of value, or a number beyond the range of a double.
    package func number(at pointer: JSONPointer) throws(Failure) -> Double {
        let value = try value(at: pointer)
        guard value.kind == .number else {
            throw Failure(.pointer, "\(pointer.place) is \(value.kind) and not a number")
        }
        guard let number = value.minified.withUnsafeBufferPointer({ JSONNumber.double($0) }) else {
            throw pointer.outOfRange(value.minified)
        }
        return number
    }

    /// Returns the text of the string that `pointer` leads to, as plain UTF-8; shares the document's bytes unless
    /// something is escaped.
    ///
    /// - Throws: `.pointer` when nothing is there, or another kind of value.
    package func string(at pointer: JSONPointer) throws(Failure) -> Bytes {
        let value = try value(at: pointer)
        guard value.kind == .string else {
            throw Failure(.pointer, "\(pointer.place) is \(value.kind) and not a string")
        }
        return JSONText.unescape(value.minified.dropFirst().dropLast())
    }

    /// The elements of an array or the members of an object in the document's order, duplicate keys included; empty for
    /// a scalar.
    package var members: [JSONMember] {
        minified.withUnsafeBufferPointer { document in
            guard var items = JSONItems(of: document, at: 0) else { return [] }
            var members: [JSONMember] = []
            while let item = items.next(in: document) {
                let key = item.name.map { JSONText.unescape(part($0).minified) } ?? []
                members.append(JSONMember(key: key, value: part(item.value)))
            }
            return members
        }
    }

    private func part(_ range: Range<Int>) -> JSONDocument {
        let start = minified.startIndex
        return JSONDocument(minified: minified[start + range.lowerBound..<start + range.upperBound])
    }
}

/// One element of an array, or one member of an object.
package struct JSONMember {
    /// The key as plain UTF-8; empty for an element.
    package let key: Bytes
    /// The value; shares the whole document's bytes.
    package let value: JSONDocument
}

/// The kind of a JSON value.
package enum JSONKind: String, Sendable, Hashable, CustomStringConvertible {
    case object = "an object"
    case array = "an array"
    case string = "a string"
    case number = "a number"
    case `true` = "true"
    case `false` = "false"
    case null = "null"

    /// The kind with its article, for messages.
    package var description: String { rawValue }

    /// The kind of a valid JSON value, by its first byte.
    package init(firstByte: UInt8?) {
        self =
            switch firstByte {
            case UInt8(ascii: "{"): .object
            case UInt8(ascii: "["): .array
            case UInt8(ascii: "\""): .string
            case UInt8(ascii: "t"): .true
            case UInt8(ascii: "f"): .false
            case UInt8(ascii: "n"): .null
            default: .number
            }
    }
}
