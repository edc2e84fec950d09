import Glibc
import Reactor

/// The numbered lines of one run, as they came out first: what everybody else's are held against.
struct FeedRecord {
    private(set) var bytes: [UInt8] = []
    private var ends = [0]
    private var times: [Timestamp?] = [nil]
    /// The number of the newest line of each series, and its source.
    private(set) var newest: [String: (source: String, sequence: Int)] = [:]

    /// The number of the last line.
    var last: Int { ends.count - 1 }

    mutating func append(_ line: LineScan) {
        bytes.append(contentsOf: line.line)
        ends.append(bytes.count)
        times.append(line.time("\"time\":\""))
    }

    /// The last line is of a series.
    mutating func mark(_ series: String, of source: String) { newest[series] = (source, last) }

    /// Whether a line is, byte for byte, the one that has this number.
    func matches(_ line: UnsafeRawBufferPointer, _ sequence: Int) -> Bool {
        guard 1...max(1, last) ~= sequence, sequence <= last else { return false }
        let range = ends[sequence - 1]..<ends[sequence]
        guard range.count == line.count, let other = line.baseAddress else { return false }
        return bytes.withUnsafeBytes {
            $0.baseAddress.map { memcmp($0 + range.lowerBound, other, range.count) == 0 } ?? false
        }
    }

    /// When it says that a line was written; nil of one that there is not.
    func time(of sequence: Int) -> Timestamp? { times.indices ~= sequence ? times[sequence] : nil }
}
