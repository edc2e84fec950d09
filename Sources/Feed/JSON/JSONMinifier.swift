/// Decides what is JSON (RFC 8259, strictly) and removes the white space from it, in one pass.
///
/// Everything else stays byte for byte: numbers of any length and range, escapes, duplicate keys, lone surrogate escapes. Raw
/// control characters in strings, invalid UTF-8, a byte order mark and anything after the value are refused.
package enum JSONMinifier {
    /// How many arrays and objects may lie in each other.
    package static let maximumDepth = JSONScanner.maximumDepth

    /// Writes the minified `input` to `output`, which has room for `input.count` bytes and does not overlap it.
    ///
    /// - Returns: the number of bytes written, at most `input.count`.
    /// - Throws: the first fault; what was written until then means nothing.
    package static func minify(
        _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutablePointer<UInt8>
    ) throws(JSONFault) -> Int {
        guard let base = input.baseAddress, !input.isEmpty else { throw JSONFault(offset: 0, reason: .empty) }
        var scanner = JSONScanner(base: base, count: input.count, output: output)
        try scanner.scan()
        return scanner.written
    }

    /// The minified `input`, followed by `padding` zero bytes which are not part of it.
    package static func minify(
        _ input: UnsafeBufferPointer<UInt8>, padding: Int = 0
    ) throws(JSONFault) -> (storage: [UInt8], count: Int) {
        var result: Result<Int, JSONFault> = .success(0)
        let storage = [UInt8](unsafeUninitializedCapacity: input.count + padding) { buffer, initialized in
            // Empty only when there is no input and no padding, and an empty input is refused without writing.
            guard let output = buffer.baseAddress else {
                result = .failure(JSONFault(offset: 0, reason: .empty))
                return
            }
            do throws(JSONFault) {
                let count = try minify(input, into: output)
                (output + count).initialize(repeating: 0, count: padding)
                initialized = count + padding
                result = .success(count)
            } catch {
                result = .failure(error)
            }
        }
        return (storage, try result.get())
    }

    /// The minified `input`.
    package static func minify(_ input: Bytes) throws(JSONFault) -> [UInt8] {
        try input.withUnsafeBufferPointer { (bytes) throws(JSONFault) in try minify(bytes).storage }
    }

    /// Throws the first fault of `input` unless it is one JSON value, with white space around it or not.
    package static func validate(_ input: UnsafeBufferPointer<UInt8>) throws(JSONFault) {
        guard let base = input.baseAddress, !input.isEmpty else { throw JSONFault(offset: 0, reason: .empty) }
        var scanner = JSONScanner(base: base, count: input.count, output: nil)
        try scanner.scan()
    }

    /// Throws the first fault of `input` unless it is one JSON value, with white space around it or not.
    package static func validate(_ input: Bytes) throws(JSONFault) {
        try input.withUnsafeBufferPointer { (bytes) throws(JSONFault) in try validate(bytes) }
    }
}
