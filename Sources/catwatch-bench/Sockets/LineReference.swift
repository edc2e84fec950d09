internal import Feed
internal import Glibc

/// Every numbered line as the first reader got it, with its time of publication: all other readers must get the same
/// bytes.
final class LineReference {
    private var bytes: [UInt8] = []
    /// The end of each line in `bytes`; the first element belongs to the line with the number `first`.
    private var ends: [Int] = []
    private var first = 0
    /// The times of publication, in microseconds of the monotonic clock; 0 for a line without one.
    private var times: [Int64] = []

    /// A histogram of delivery times in steps of 10 µs; the last element counts everything from a second on.
    private(set) var delays = [Int](repeating: 0, count: 100_001)

    /// Compares a line with its reference, or makes it the reference.
    ///
    /// - Parameter now: the time in microseconds of the monotonic clock, to record the delivery time; nil to skip that.
    /// - Returns: false when the line differs from the reference with this number.
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

    /// The milliseconds that `percent` percent of the deliveries did not exceed.
    func delay(percent: Double) -> Double {
        let rank = Int((Double(delays.reduce(0, +)) * percent / 100).rounded(.up))
        var seen = 0
        for (step, count) in delays.enumerated() {
            seen += count
            if seen >= rank { return Double(step + 1) / 100 }
        }
        return 0
    }

    /// The sixteen digits at the beginning of `text`, written by the bench's feed; 0 when they are missing.
    private static func published(_ line: UnsafeRawBufferPointer) -> Int64 {
        guard let start = line.index(behind: "\"text\":\""), start + 16 <= line.count else { return 0 }
        return Int64(String(decoding: line[start..<start + 16], as: UTF8.self)) ?? 0
    }
}
