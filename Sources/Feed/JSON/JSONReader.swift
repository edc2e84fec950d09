internal import CSimdJSON

/// Makes documents of untrusted bytes and finds values in them; owns the simdjson parser that its documents share.
///
/// Not for two threads at once. The parser holds about six times `maximumCapacity` bytes at most between calls; what a larger
/// document needs is given back after every look-up in it.
package final class JSONReader {
    /// For how many bytes of document memory is kept.
    package let maximumCapacity: Int

    private let parser: OpaquePointer
    /// The document that the parser has indexed, and where its bytes are; 0 when there is none.
    private var indexed = (id: 0, address: UnsafePointer<UInt8>?.none)
    private var lastID = 0
    /// Reads the members of this reader's documents, so that going through them does not evict the document.
    lazy var inner = JSONReader(maximumCapacity: maximumCapacity)

    package init(maximumCapacity: Int = 1 << 20) {
        self.maximumCapacity = maximumCapacity
        guard let parser = csj_create() else { fatalError("out of memory") }  // As Swift itself does.
        self.parser = parser
    }

    deinit { csj_destroy(parser) }

    /// For how many bytes of document the parser holds memory now.
    package var capacity: Int { csj_capacity(parser) }

    /// Validates and minifies `input` into a document of its own.
    ///
    /// - Throws: `.notJSON`, with the offset of the first fault.
    package func read(_ input: UnsafeBufferPointer<UInt8>) throws(Failure) -> JSONDocument {
        do throws(JSONFault) {
            let (storage, count) = try JSONMinifier.minify(input, padding: Int(CSJ_PADDING))
            return document(storage, 0..<count)
        } catch {
            throw Failure(.notJSON, error.description)
        }
    }

    /// Validates and minifies `input` into a document of its own.
    ///
    /// - Throws: `.notJSON`, with the offset of the first fault.
    package func read(_ input: Bytes) throws(Failure) -> JSONDocument {
        try input.withUnsafeBufferPointer { (bytes) throws(Failure) in try read(bytes) }
    }

    /// A part of a storage that ends in padding.
    func document(_ storage: [UInt8], _ range: Range<Int>) -> JSONDocument {
        lastID += 1
        return JSONDocument(reader: self, storage: storage, range: range, id: lastID)
    }

    /// Where `pointer` leads in `document`.
    func find(_ pointer: JSONPointer, in document: JSONDocument) throws(Failure) -> csj_value {
        var value = csj_value()
        let status = withIndex(of: document) { parser in
            pointer.withSteps { csj_find(parser, $0, $1, $2, &value) }
        }
        try check(status, pointer, value)
        return value
    }

    /// The members of the array or object where `pointer` leads in `document`; what is there decides whether that is an error.
    func members(_ pointer: JSONPointer, in document: JSONDocument) throws(Failure) -> (csj_value, [csj_member]) {
        var value = csj_value()
        var members: [csj_member] = []
        let status = withIndex(of: document) { parser in
            var status = pointer.withSteps { csj_begin(parser, $0, $1, $2, &value) }
            var count = 0
            withUnsafeTemporaryAllocation(of: csj_member.self, capacity: 128) { batch in
                while status == CSJ_OK {
                    status = csj_next(parser, batch.baseAddress, batch.count, &count)
                    guard status == CSJ_OK, count > 0 else { break }
                    members.append(contentsOf: batch[..<count])
                }
            }
            return status
        }
        try check(status, pointer, value)
        return (value, members)
    }

    /// Calls `body` with the document indexed.
    private func withIndex(of document: JSONDocument, _ body: (OpaquePointer) -> csj_status) -> csj_status {
        document.storage.withUnsafeBufferPointer { storage in
            // A document's range lies in its storage and is followed by padding, or by the rest of the document it is part of.
            guard let base = storage.baseAddress else { return CSJ_INVALID }
            let address = base + document.range.lowerBound
            if indexed != (document.id, address) {
                let status = csj_open(parser, address, document.range.count)
                indexed = status == CSJ_OK ? (document.id, address) : (0, nil)
                guard status == CSJ_OK else { return status }
            }
            defer {
                if csj_capacity(parser) > maximumCapacity {
                    csj_close(parser, maximumCapacity)
                    indexed = (0, nil)
                }
            }
            return body(parser)
        }
    }

    private func check(_ status: csj_status, _ pointer: JSONPointer, _ value: csj_value) throws(Failure) {
        switch status {
        case CSJ_OK: return
        case CSJ_MISSING:
            let reason = pointer.missing(
                resolved: Int(value.resolved), kind: JSONKind(value.type), elements: Int(value.elements))
            throw Failure(.pointer, reason)
        case CSJ_NO_MEMORY: throw Failure(.tooLarge, "the document is too large to look for \"\(pointer)\" in it")
        default: throw Failure(.internal, "the document was accepted but cannot be searched for \"\(pointer)\"")
        }
    }
}

extension JSONKind {
    init(_ type: csj_type) {
        self =
            switch type {
            case CSJ_OBJECT: .object
            case CSJ_ARRAY: .array
            case CSJ_STRING: .string
            case CSJ_TRUE: .true
            case CSJ_FALSE: .false
            case CSJ_NULL: .null
            default: .number
            }
    }
}
