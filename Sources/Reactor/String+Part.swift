internal import Glibc

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
        let wanted = Array(text.utf8)
        guard let base = baseAddress, count >= wanted.count else { return nil }
        var place = start
        // The range for its first byte.
        while case let room = count - wanted.count + 1 - place, room > 0,
            let found = memchr(base + place, Int32(wanted[0]), room)
        {
            place = UnsafeRawPointer(found) - base
            if memcmp(found, wanted, wanted.count) == 0 { return place..<place + wanted.count }
            place += 1
        }
        return nil
    }
}
