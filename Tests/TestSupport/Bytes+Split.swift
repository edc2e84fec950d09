internal import Glibc

extension [UInt8] {
    /// What the standard library's `split(separator:)` gives, which makes several generic calls a byte in a debug build.
    package func split(separator: UInt8) -> [ArraySlice<UInt8>] { self[...].split(separator: separator) }
}

extension ArraySlice<UInt8> {
    /// What the standard library's `split(separator:)` gives, which makes several generic calls a byte in a debug build.
    package func split(separator: UInt8) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var start = 0
            while start < bytes.count {
                let found = memchr(base + start, Int32(separator), bytes.count - start)
                let end = found.map { UnsafeRawPointer($0) - base } ?? bytes.count
                if end > start { parts.append(self[startIndex + start..<startIndex + end]) }
                start = end + 1
            }
        }
        return parts
    }
}
