internal import Glibc

extension String {
    /// Whether these bytes stand somewhere in the string.
    ///
    /// Not `contains`, which links the regular expressions: 1.5 MB of text, half a megabyte resident.
    package func holds(_ part: String) -> Bool { part.isEmpty || Array(utf8).range(of: part) != nil }
}

extension [UInt8] {
    /// Where a text that is not empty stands first, from a place on.
    package func range(of text: String, from start: Int = 0) -> Range<Int>? {
        withUnsafeBytes { $0.range(of: text, from: start) }
    }
}

extension UnsafeRawBufferPointer {
    /// Where a text that is not empty stands first, from a place on.
    package func range(of text: String, from start: Int = 0) -> Range<Int>? {
        let wanted = Array(text.utf8)
        guard let base = baseAddress, count >= wanted.count else { return nil }
        var place = start
        // Where its first byte may stand.
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
