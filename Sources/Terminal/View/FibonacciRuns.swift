package import Feed

/// Data of Fibonacci sources in this run: the pairs of each source's newest calculation, and how long every calculation
/// took.
///
/// A board keeps only a series' newest event; this keeps those that form a table. A pair is a data line with whole `n`
/// and decimal `f` in its `data`, a sum one with `n` and `ms`. Bounded by `Limits`: the oldest entries are dropped and
/// counted.
package struct FibonacciRuns: Sendable {
    struct Pair: Sendable, Equatable {
        var n: Int
        /// Decimal digits.
        var f: String
    }

    package struct Sum: Sendable, Equatable {
        package var n: Int
        package var ms: Double
    }

    /// The data of one source.
    struct Source: Sendable {
        var pairs: [Pair] = []
        /// The number of dropped pairs of the newest calculation.
        var droppedPairs = 0
        /// The newest calculation's time; nil while it is running.
        var total: Double?
        /// The oldest first.
        var sums: [Sum] = []
        var droppedSums = 0
        var bytes = 0
    }

    enum Limits {
        // Bound: Fibonacci sources of a view | 16, with 1,000 runs each | ignored; oldest 100 runs dropped, the view
        //   says how many
        static let sources = 16
        static let sums = 1_000
        // Bound: Fibonacci pairs of a source in a view | 1 MiB of digits and 32 bytes a pair | older half dropped, the
        //   view says how many
        /// Digits of all pairs of a source.
        static let bytes = 1 << 20
    }

    private(set) var sources: [String: Source] = [:]
    private var run: String?

    /// Applies one line of the feed; ignores all but pairs and sums.
    mutating func apply(_ line: Line) {
        if case .hello(let hello) = line.body, hello.run != run {
            run = hello.run
            sources = [:]
        }
        guard let source = line.source, let piece = Self.piece(line),
            sources[source] != nil || sources.count < Limits.sources
        else { return }
        switch piece {
        case .pair(let pair): sources[source, default: Source()].add(pair)
        case .sum(let sum): sources[source, default: Source()].add(sum)
        }
    }

    /// The calculation time in a line; nil for other lines.
    package static func sum(of line: Line) -> Sum? {
        if case .sum(let sum) = piece(line) { sum } else { nil }
    }

    private enum Piece {
        case pair(Pair)
        case sum(Sum)
    }

    private static func piece(_ line: Line) -> Piece? {
        guard case .data(let data) = line.body, let bytes = data.data, bytes.count < 64 << 10,
            // Decoded only if it starts like a pair or sum: `{"n":`
            bytes.starts(with: [0x7B, 0x22, 0x6E, 0x22, 0x3A])
        else { return nil }
        let fields = EventFields.read(Array(bytes))
        guard let n = fields.first(where: { $0.path == "n" }).flatMap({ Int($0.value) }), n >= 0 else { return nil }
        if let f = fields.first(where: { $0.path == "f" })?.value, f.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
            return .pair(Pair(n: n, f: f))
        }
        let ms = fields.first { $0.path == "ms" }.flatMap { milliseconds($0.value) }
        return ms.flatMap { $0 >= 0 ? .sum(Sum(n: n, ms: $0)) : nil }
    }

    private static func milliseconds(_ text: String) -> Double? {
        Array(text.utf8).withUnsafeBufferPointer { JSONNumber.double($0) }
    }
}

extension FibonacciRuns.Source {
    fileprivate mutating func add(_ pair: FibonacciRuns.Pair) {
        // A calculation starts at F(0), or after the previous one's sum.
        if pair.n == 0 || total != nil { (pairs, droppedPairs, bytes, total) = ([], 0, 0, nil) }
        pairs.append(pair)
        bytes += pair.f.utf8.count + 32
        guard bytes > FibonacciRuns.Limits.bytes else { return }
        // Drops half of them at once, or every further pair would move them all.
        var gone = 0
        while gone < pairs.count, bytes > FibonacciRuns.Limits.bytes / 2 {
            bytes -= pairs[gone].f.utf8.count + 32
            gone += 1
        }
        pairs.removeFirst(gone)
        droppedPairs += gone
    }

    fileprivate mutating func add(_ sum: FibonacciRuns.Sum) {
        // A calculation without pairs replaces the pairs of an older one.
        if pairs.last.map({ $0.n != sum.n }) == true { (pairs, droppedPairs, bytes) = ([], 0, 0) }
        total = sum.ms
        sums.append(sum)
        if sums.count > FibonacciRuns.Limits.sums {
            sums.removeFirst(100)
            droppedSums += 100
        }
    }
}
