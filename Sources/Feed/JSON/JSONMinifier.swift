/// Validates JSON (RFC 8259, strictly) and removes its white space, in one pass.
///
/// Everything else stays byte for byte: numbers of any length and range, escapes, duplicate keys, lone surrogate
/// escapes. It rejects raw control characters in strings, invalid UTF-8, a byte order mark and anything after the
/// value.
package enum JSONMinifier {
    /// The most levels of nested arrays and objects.
    package static let maximumDepth = JSONScanner.maximumDepth

    /// Writes the minified `input` to `output`, which has room for `input.count` bytes and does not overlap it.
    ///
    /// - Returns: the number of bytes written, at most `input.count`.
    /// - Throws: the first fault; the bytes written until then are meaningless.
    package static func minify(
        _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) -> Int {
        var scanner = JSONScanner(input, output: output)
        return try scan(&scanner)
    }

    /// Returns the minified `input`.
    package static func minify(_ input: Bytes) throws(JSONFault) -> [UInt8] {
        try minify(input) { (input, output) throws(JSONFault) in try minify(input, into: output) }
    }

    /// Returns the bytes that `body` writes, given the input and room for all of it.
    static func minify(
        _ input: Bytes,
        _ body: (UnsafeBufferPointer<UInt8>, UnsafeMutablePointer<UInt8>) throws(JSONFault) -> Int
    ) throws(JSONFault) -> [UInt8] {
        var fault: JSONFault?
        let output = [UInt8](unsafeUninitializedCapacity: input.count + 1) { room, count in
            do throws(JSONFault) {
                // Its capacity is at least 1, so it has an address.
                let base = room.baseAddress.unsafelyUnwrapped
                count = try input.withUnsafeBufferPointer { (input) throws(JSONFault) in try body(input, base) }
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        return output
    }

    /// Throws the first fault of `input` unless it is one JSON value, with or without white space around it.
    package static func validate(_ input: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        var scanner = JSONScanner(input)
        _ = try scan(&scanner)
    }

    /// Throws the first fault of `input` unless it is one JSON value, with or without white space around it.
    package static func validate(_ input: Bytes) throws(JSONFault) {
        try input.withUnsafeBufferPointer { (bytes) throws(JSONFault) in try validate(bytes) }
    }

    private static func scan(_ scanner: inout JSONScanner) throws(JSONFault) -> Int {
        try scanner.begin()
        try scanner.value()
        return try scanner.end()
    }
}
