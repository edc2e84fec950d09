internal import Glibc

/// Decodes the text of JSON strings.
package enum JSONText {
    /// U+FEFF in UTF-8, with which some programs begin a text.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// Returns the plain UTF-8 of a JSON string's body (the bytes between its quotes); shares `body` when nothing is
    /// escaped.
    ///
    /// Joins surrogate pairs; a lone surrogate becomes U+FFFD (RFC 8259 section 8.2 leaves that open). A body that
    /// `JSONMinifier` rejects gives some text too: an unknown or broken escape keeps its letter.
    package static func unescape(_ body: Bytes) -> Bytes {
        body.withUnsafeBufferPointer { bytes in
            guard let first = bytes.firstIndex(of: UInt8(ascii: "\\")) else { return body }
            // An escape never gets longer: six bytes become at most three, twelve become four, two become one.
            return [UInt8](unsafeUninitializedCapacity: bytes.count) { output, count in
                count = unescape(bytes, from: first, into: output)
            }[...]
        }
    }

    /// `unescape` as a string of at most `limit` bytes of UTF-8, cut between characters.
    package static func string(_ body: UnsafeBufferPointer<UInt8>, limit: Int = .max) -> String {
        guard let first = body.firstIndex(of: UInt8(ascii: "\\")) else { return string(plain: body, limit: limit) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: body.count) { output in
            let count = unescape(body, from: first, into: output)
            return string(plain: UnsafeBufferPointer(rebasing: output[..<count]), limit: limit)
        }
    }

    /// The number of the first `limit` bytes of some UTF-8 that are whole characters.
    package static func prefixCount(_ text: UnsafeBufferPointer<UInt8>, limit: Int) -> Int {
        guard text.count > limit else { return text.count }
        var end = max(limit, 0)
        // A character has at most three continuation bytes; a longer series of them is not UTF-8 and is cut anywhere.
        let lowest = max(end - 3, 0)
        while end > lowest, text[end] & 0xC0 == 0x80 { end -= 1 }
        return text[end] & 0xC0 == 0x80 ? max(limit, 0) : end
    }

    /// The value of a hexadecimal digit of either case.
    @inline(__always)
    static func hexValue(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    /// Replaces every lone surrogate in valid JSON by U+FFFD, whose escape has the same length.
    static func replaceLoneSurrogates(in json: UnsafeMutableBufferPointer<UInt8>) {
        var offset = 0
        guard let start = json.baseAddress else { return }
        while offset < json.count, let found = memchr(start + offset, Int32(UInt8(ascii: "\\")), json.count - offset) {
            let backslash = UnsafeRawPointer(found) - UnsafeRawPointer(start)
            offset = backslash + 2
            guard json[backslash + 1] == UInt8(ascii: "u") else { continue }
            let digits = offset
            // An escape that is U+FFFD already stays unchanged.
            guard scalar(in: UnsafeBufferPointer(json), at: &offset) == "\u{FFFD}",
                json[digits] | 0x20 == UInt8(ascii: "d")
            else { continue }
            _ = json[digits...].update(fromContentsOf: "fffd".utf8)
        }
    }

    private static func string(plain: UnsafeBufferPointer<UInt8>, limit: Int) -> String {
        String(decoding: plain[..<prefixCount(plain, limit: limit)], as: UTF8.self)
    }

    /// Writes the text of `body`, whose first backslash is at `first`, and returns its length.
    private static func unescape(
        _ body: UnsafeBufferPointer<UInt8>, from first: Int, into output: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        var written = output.initialize(fromContentsOf: body[..<first])
        var position = first
        while position < body.count {
            let byte = body[position]
            position += 1
            guard byte == UInt8(ascii: "\\"), position < body.count else {
                output.initializeElement(at: written, to: byte)
                written += 1
                continue
            }
            let letter = body[position]
            position += 1
            if letter == UInt8(ascii: "u"), let scalar = scalar(in: body, at: &position) {
                for unit in String(scalar).utf8 {
                    output.initializeElement(at: written, to: unit)
                    written += 1
                }
            } else {
                output.initializeElement(at: written, to: meaning(of: letter))
                written += 1
            }
        }
        return written
    }

    private static func meaning(of letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: letter  // A quote, a backslash or a slash.
        }
    }

    /// The character whose escape has its digits at `position`, joined with a following low surrogate; nil without
    /// digits.
    static func scalar(in body: UnsafeBufferPointer<UInt8>, at position: inout Int) -> Unicode.Scalar? {
        guard let high = unit(in: body, at: position) else { return nil }
        position += 4
        guard 0xD800..<0xDC00 ~= high else { return Unicode.Scalar(high) ?? "\u{FFFD}" }
        guard position + 6 <= body.count, body[position] == UInt8(ascii: "\\"), body[position + 1] == UInt8(ascii: "u"),
            let low = unit(in: body, at: position + 2), 0xDC00..<0xE000 ~= low
        else { return "\u{FFFD}" }
        position += 6
        return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)) ?? "\u{FFFD}"
    }

    /// The UTF-16 code unit of four hexadecimal digits; nil when there are fewer.
    private static func unit(in body: UnsafeBufferPointer<UInt8>, at position: Int) -> UInt32? {
        guard position + 4 <= body.count else { return nil }
        var value: UInt32 = 0
        for index in position..<position + 4 {
            guard let digit = hexValue(body[index]) else { return nil }
            value = value << 4 | digit
        }
        return value
    }
}
