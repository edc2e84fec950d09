/// Validates JSON (RFC 8259, strictly) and removes its white space, in one pass.
///
/// Everything else stays byte for byte: numbers of any length and range, escapes, duplicate keys, lone surrogate
/// escapes. It rejects raw control characters in strings, invalid UTF-8, a byte order mark and anything after the
/// value.
package enum JSONMinifier {
    /// The most levels of nested arrays and objects.
    package static let maximumDepth = JSONScanner.maximumDepth

    /// Returns the minified `input`; searches for the selected values at the same time.
    ///
    /// - Throws: the first fault.
    package static func minify(
        _ input: Bytes, _ selection: JSONSelection = .nothing, _ found: JSONSelection.Found? = nil
    ) throws(JSONFault) -> [UInt8] {
        var fault: JSONFault?
        let output = [UInt8](unsafeUninitializedCapacity: input.count + 1) { room, count in
            do throws(JSONFault) {
                count = try input.withUnsafeBufferPointer { (input) throws(JSONFault) in
                    try selection.read(input, into: room.baseAddress, found)
                }
            } catch {
                fault = error
            }
        }
        if let fault { throw fault }
        return output
    }

    /// Throws the first fault of `input` unless it is one JSON value, with or without white space around it.
    package static func validate(_ input: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        _ = try JSONSelection.nothing.read(input)
    }

    /// Throws the first fault of `input` unless it is one JSON value, with or without white space around it.
    package static func validate(_ input: Bytes) throws(JSONFault) {
        try input.withUnsafeBufferPointer { (bytes) throws(JSONFault) in try validate(bytes) }
    }
}
