import CLinux

extension String {
    /// Whether the string contains these bytes.
    ///
    /// Not `contains`, which links the regular expressions: 1.5 MB of text, half a megabyte resident.
    package func holds(_ part: String) -> Bool { part.isEmpty || Array(utf8).range(of: part) != nil }
}

extension [UInt8] {
    /// The first occurrence of a text, which must not be empty, at or behind `start`.
    package func range(of text: String, from start: Int = 0) -> Range<Int>? {
        withUnsafeBytes { $0.range(of: text, from: start) }
    }
}

extension UnsafeRawBufferPointer {
    /// The first occurrence of a text, which must not be empty, at or behind `start`.
    package func range(of text: String, from start: Int = 0) -> Range<Int>? {
        let wanted = text.utf8.count
        guard let base = baseAddress, start + wanted <= count,
            let found = memmem(base + start, count - start, text, wanted)
        else { return nil }
        let offset = UnsafeRawPointer(found) - base
        return offset..<offset + wanted
    }
}
