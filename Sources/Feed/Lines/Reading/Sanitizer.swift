/// Makes text from outside safe to show on a terminal: characters that would act on it or hide in it become visible
/// symbols.
///
/// It replaces C0 controls and DEL by their control pictures (ESC is `␛`), and C1 controls, bidirectional controls,
/// line and paragraph separators, and characters without a width by forms like `\u{202e}`. Bytes that are not UTF-8
/// become forms like `\xff`. Everything else stays unchanged. NDJSON lines need none of this: JSON escapes there.
package enum Sanitizer {
    /// The visible form of `text`.
    ///
    /// - Parameter limit: the most characters of the source to use; `…` marks that more were left out.
    package static func visible(_ text: String, limit: Int = .max) -> String {
        guard needsWork(text.utf8, limit: limit) else { return text }
        var output = ""
        append(text.unicodeScalars, limit: limit, to: &output)
        return output
    }

    /// The visible form of a text of several lines, with their line ends; the result is safe for a terminal.
    ///
    /// Text that is visible already does not change. The caller must already have made line ends from outside visible:
    /// here they look like any other.
    package static func lines(_ text: String) -> String {
        guard text.utf8.contains(where: { ($0 < 0x20 && $0 != 0x0A) || $0 >= 0x7F }) else { return text }
        var output = ""
        for scalar in text.unicodeScalars {
            if scalar == "\n" { output.unicodeScalars.append(scalar) } else { append(scalar, to: &output) }
        }
        return output
    }

    /// The visible form of bytes that are meant to be UTF-8.
    ///
    /// - Parameter limit: the most characters (or faulty bytes) to use; `…` marks that more were left out.
    package static func visible(bytes: some Collection<UInt8>, limit: Int = .max) -> String {
        var output = ""
        var taken = 0
        var decoder = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        // The parser consumes a faulty sequence and returns only its length, so the position is tracked here too.
        var position = bytes.startIndex
        while true {
            let step = decoder.parseScalar(from: &rest)
            if case .emptyInput = step { return output }
            guard taken < limit else { return output + "…" }
            taken += 1
            switch step {
            case .valid(let encoded):
                bytes.formIndex(&position, offsetBy: encoded.count)
                append(Unicode.UTF8.decode(encoded), to: &output)
            case .error(let length):
                for _ in 0..<length {
                    output += "\\x" + hexadecimal(UInt32(bytes[position]), width: 2)
                    bytes.formIndex(after: &position)
                }
            case .emptyInput:
                return output
            }
        }
    }

    /// Whether a character would act on a terminal or be invisible there.
    package static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F: true  // C0, DEL, C1
        case 0xAD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B...0x180F, 0x3164, 0xFFA0: true  // look like nothing
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true  // bidirectional controls
        case 0x200B...0x200D, 0x2060...0x2065, 0x206A...0x206F, 0xFEFF: true  // zero width, deprecated format controls
        case 0x2028, 0x2029: true  // line and paragraph separator
        case 0xFFF9...0xFFFB, 0xE0000...0xE0FFF: true  // annotation and tag characters
        default: false
        }
    }

    private static func append(_ scalars: String.UnicodeScalarView, limit: Int, to output: inout String) {
        var taken = 0
        for scalar in scalars {
            guard taken < limit else {
                output += "…"
                return
            }
            taken += 1
            append(scalar, to: &output)
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to output: inout String) {
        guard isHidden(scalar) else {
            output.unicodeScalars.append(scalar)
            return
        }
        let value = scalar.value
        if value < 0x20, let picture = Unicode.Scalar(0x2400 + value) {
            output.unicodeScalars.append(picture)
        } else if value == 0x7F {
            output += "␡"
        } else {
            output += "\\u{" + hexadecimal(value, width: 0) + "}"
        }
    }

    /// Whether anything must be replaced or cut: most text needs nothing and is returned unchanged.
    private static func needsWork(_ text: String.UTF8View, limit: Int) -> Bool {
        if text.count > limit { return true }
        // Any byte from 0x80 may begin a hidden character; the full pass looks at each.
        return text.contains { $0 < 0x20 || $0 >= 0x7F }
    }

    private static func hexadecimal(_ value: UInt32, width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
