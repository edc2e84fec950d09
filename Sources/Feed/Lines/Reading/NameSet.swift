internal import Glibc

/// A set of names to filter lines by, looked up by the bytes of the name in a line: in 1,000 names by ten comparisons.
struct NameSet: Sendable, Equatable {
    /// All names as JSON with their quotes, in order, concatenated (`"fact""aqi"`) to save memory: many readers may
    /// have many each.
    private let names: [UInt8]
    /// The offset of each name's start, and of the last one's end.
    private let starts: [Int32]

    init(_ texts: [String]) {
        let sorted = texts.map { LineWriter.quoted($0) }.sorted { left, right in
            left.withUnsafeBytes { left in right.withUnsafeBytes { Self.order(left, $0) < 0 } }
        }
        names = Array(sorted.joined())
        starts = sorted.reduce(into: [0]) { $0.append(Int32(clamping: Int($0[$0.count - 1]) + $1.count)) }
    }

    /// The number of bytes that its names take.
    var bytes: Int { names.count }

    func contains(_ name: UnsafeRawBufferPointer) -> Bool {
        names.withUnsafeBytes { names in
            var (low, high) = (0, starts.count - 1)
            while low < high {
                let middle = (low + high) / 2
                let range = Int(starts[middle])..<Int(starts[middle + 1])
                let order = Self.order(UnsafeRawBufferPointer(rebasing: names[range]), name)
                if order == 0 { return true }
                if order < 0 { low = middle + 1 } else { high = middle }
            }
            return false
        }
    }

    /// Shorter names first; negative, zero or positive.
    @inline(__always)
    private static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        guard left.count == right.count, let start = left.baseAddress, let other = right.baseAddress else {
            return left.count - right.count
        }
        return Int(memcmp(start, other, left.count))
    }
}
