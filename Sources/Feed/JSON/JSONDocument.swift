internal import CSimdJSON

/// One JSON value, valid and minified, or a part of one; made by `JSONReader.read`.
package struct JSONDocument {
    let reader: JSONReader
    /// Ends in padding that simdjson may read.
    let storage: [UInt8]
    let range: Range<Int>
    /// Tells the reader's documents apart.
    let id: Int

    /// The value's bytes: shared with the document that it is part of, not copied.
    package var minified: Bytes { storage[range] }

    /// Lends the value's bytes.
    package func withUnsafeBytes<Value, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try storage.withUnsafeBufferPointer { (storage) throws(Failure) in
            try body(UnsafeBufferPointer(rebasing: storage[range]))
        }
    }

    /// What the value is.
    package var kind: JSONKind { JSONKind(firstByte: storage[range.lowerBound]) }

    /// The value where `pointer` leads; of duplicate keys the first one counts.
    ///
    /// - Throws: `.pointer`, saying how far the pointer led.
    package func value(at pointer: JSONPointer) throws(Failure) -> JSONDocument {
        guard !pointer.steps.isEmpty else { return self }
        return part(try reader.find(pointer, in: self).span)
    }

    /// The number where `pointer` leads.
    ///
    /// - Throws: `.pointer` when nothing is there, something else, or a number above the range of a double.
    package func number(at pointer: JSONPointer) throws(Failure) -> Double {
        let (token, kind) = try token(at: pointer)
        guard kind == .number else {
            throw Failure(.pointer, "\(pointer.place(pointer.steps.count)) is \(kind) and not a number")
        }
        guard let number = storage.withUnsafeBufferPointer({ JSONNumber.double(.init(rebasing: $0[token])) }) else {
            let text = String(decoding: storage[token].prefix(40), as: UTF8.self) + (token.count > 40 ? "…" : "")
            throw Failure(
                .pointer, "\(pointer.place(pointer.steps.count)) is \(text), which is out of the range of a double")
        }
        return number
    }

    /// The text of the string where `pointer` leads, as plain UTF-8; shares the document's bytes unless something is escaped.
    ///
    /// - Throws: `.pointer` when nothing is there, or something else.
    package func string(at pointer: JSONPointer) throws(Failure) -> Bytes {
        let (token, kind) = try token(at: pointer)
        guard kind == .string else {
            throw Failure(.pointer, "\(pointer.place(pointer.steps.count)) is \(kind) and not a string")
        }
        return JSONText.unescape(storage[token].dropFirst().dropLast())
    }

    /// The elements of the array where `pointer` leads.
    ///
    /// - Throws: `.pointer` when nothing is there, or something else.
    package func elements(at pointer: JSONPointer) throws(Failure) -> JSONMembers {
        try members(at: pointer, of: .array)
    }

    /// The members of the object where `pointer` leads, in the document's order, duplicate keys included.
    ///
    /// - Throws: `.pointer` when nothing is there, or something else.
    package func members(at pointer: JSONPointer) throws(Failure) -> JSONMembers {
        try members(at: pointer, of: .object)
    }

    private func members(at pointer: JSONPointer, of kind: JSONKind) throws(Failure) -> JSONMembers {
        let (value, members) = try reader.members(pointer, in: self)
        guard JSONKind(value.type) == kind else {
            throw Failure(.pointer, "\(pointer.place(pointer.steps.count)) is \(JSONKind(value.type)) and not \(kind)")
        }
        return JSONMembers(document: self, members: members)
    }

    /// Where in the storage the value is to which `pointer` leads, and what it is.
    private func token(at pointer: JSONPointer) throws(Failure) -> (Range<Int>, JSONKind) {
        guard !pointer.steps.isEmpty else { return (range, kind) }
        let value = try reader.find(pointer, in: self)
        return (absolute(value.span), JSONKind(value.type))
    }

    /// A part of this document as a document of its own.
    func part(_ span: csj_span) -> JSONDocument { reader.inner.document(storage, absolute(span)) }

    func absolute(_ span: csj_span) -> Range<Int> {
        let start = range.lowerBound + Int(span.offset)
        return start..<start + Int(span.length)
    }
}
