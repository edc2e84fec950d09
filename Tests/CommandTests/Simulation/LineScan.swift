import Feed
import Glibc
import Reactor

/// What a simulation wants to know of a line, found by the C library: tens of lines are looked at for each that a decoder of a
/// debug build reads.
struct LineScan {
    /// With its newline.
    let line: UnsafeRawBufferPointer

    /// Behind a key that has `:` and more at its end; nil where it is not. The text is nowhere in the simulation's own data.
    private func place(behind key: StaticString) -> UnsafePointer<CChar>? {
        guard let start = line.baseAddress else { return nil }
        let (quote, length) = (Int32(key.utf8Start.pointee), key.utf8CodeUnitCount)
        var place = 0
        while line.count - place >= length, let found = memchr(start + place, quote, line.count - place - length + 1) {
            if memcmp(found, key.utf8Start, length) == 0 {
                return UnsafeRawPointer(found + length).assumingMemoryBound(to: CChar.self)
            }
            place = UnsafeRawPointer(found) - start + 1
        }
        return nil
    }

    func has(_ text: StaticString) -> Bool { place(behind: text) != nil }

    /// Whether it begins so.
    func begins(_ text: StaticString) -> Bool {
        guard let start = line.baseAddress, line.count >= text.utf8CodeUnitCount else { return false }
        return memcmp(start, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    // A number ends before the end of the line, which is a newline.
    func integer(_ key: StaticString) -> Int? { place(behind: key).map { Int(strtoll($0, nil, 10)) } }
    func number(_ key: StaticString) -> Double? { place(behind: key).map { strtod($0, nil) } }

    /// A string without escapes.
    func text(_ key: StaticString) -> String? {
        guard let start = place(behind: key), let end = strchr(start, Int32(UInt8(ascii: "\""))) else { return nil }
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(start), count: end - UnsafeMutablePointer(mutating: start))
        return String(decoding: bytes, as: UTF8.self)
    }

    func time(_ key: StaticString) -> Timestamp? {
        guard let start = place(behind: key), let end = strchr(start, Int32(UInt8(ascii: "\""))) else { return nil }
        let count = end - UnsafeMutablePointer(mutating: start)
        return start.withMemoryRebound(to: UInt8.self, capacity: count) {
            RFC3339.parse(UnsafeBufferPointer(start: $0, count: count))
        }
    }

    /// Its number; nil of a line that belongs to a connection.
    var sequence: Int? { begins("{\"seq\":") ? integer("{\"seq\":") : nil }

    var text: String { String(decoding: line.dropLast(), as: UTF8.self) }
}

/// Cuts bytes as they come into lines.
struct LineCutter {
    private var bytes: [UInt8] = []

    /// How much of a line has come whose end has not.
    var rest: Int { bytes.count }

    mutating func push(_ more: UnsafeRawBufferPointer, _ body: (LineScan) -> Void) {
        bytes.append(contentsOf: more)
        var done = 0
        bytes.withUnsafeBytes { all in
            while let start = all.baseAddress, done < all.count,
                let end = memchr(start + done, 0x0A, all.count - done)
            {
                let next = UnsafeRawPointer(end) - start + 1
                body(LineScan(line: UnsafeRawBufferPointer(rebasing: all[done..<next])))
                done = next
            }
        }
        bytes.removeFirst(done)
    }

    mutating func removeAll() { bytes = [] }
}
