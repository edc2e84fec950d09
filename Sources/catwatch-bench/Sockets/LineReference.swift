internal import Feed
internal import Glibc

/// Every numbered line as the first reader got it: what all the others must get, byte for byte, and when it was
/// published.
final class LineReference {
    private var bytes: [UInt8] = []
    /// Where the line behind each number ends; the first is that of `first`.
    private var ends: [Int] = []
    private var first = 0
    /// Microseconds of the monotonic clock; 0 for a line that does not say.
    private var times: [Int64] = []

    /// How long lines took to their readers, in steps of 10 µs; the last one has everything above a second.
    private(set) var delays = [Int](repeating: 0, count: 100_001)

    /// Compares a line with its reference, or makes it the reference.
    ///
    /// - Parameter now: microseconds of the monotonic clock, to count how long it took; nil when that does not matter.
    /// - Returns: false when it is another line than the reference has under that number.
    func check(_ line: UnsafeRawBufferPointer, _ sequence: Int, now: Int64?) -> Bool {
        if ends.isEmpty { first = sequence }
        let index = sequence - first
        if index == ends.count {
            bytes.append(contentsOf: line)
            ends.append(bytes.count)
            times.append(Self.published(line))
        }
        guard ends.indices.contains(index) else { return true }  // before the reference's beginning, or behind a hole
        let start = index == 0 ? 0 : ends[index - 1]
        let length = ends[index] - start
        let isSame = bytes.withUnsafeBytes { bytes in
            guard let ours = bytes.baseAddress, let theirs = line.baseAddress, line.count == length else {
                return false
            }
            // In bounds: `ends` are positions in `bytes`, and the lengths are the same.
            return memcmp(ours + start, theirs, length) == 0
        }
        if let now, isSame, times[index] > 0 {
            delays[min(max(0, Int(now - times[index]) / 10), delays.count - 1)] += 1
        }
        return isSame
    }

    /// Bytes of a line on average, its newline included.
    var meanLength: Int { ends.isEmpty ? 0 : bytes.count / ends.count }

    /// Milliseconds that `percent` percent of the deliveries did not exceed.
    func delay(percent: Double) -> Double {
        let rank = Int((Double(delays.reduce(0, +)) * percent / 100).rounded(.up))
        var seen = 0
        for (step, count) in delays.enumerated() {
            seen += count
            if seen >= rank { return Double(step + 1) / 100 }
        }
        return 0
    }

    /// The sixteen digits that the bench's feed writes at the beginning of `text`.
    private static func published(_ line: UnsafeRawBufferPointer) -> Int64 {
        guard let start = line.index(behind: "\"text\":\""), start + 16 <= line.count else { return 0 }
        return Int64(String(decoding: line[start..<start + 16], as: UTF8.self)) ?? 0
    }
}
