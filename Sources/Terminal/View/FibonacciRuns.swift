package import Feed

/// What Fibonacci sources said in this run: the pairs of each one's newest calculation, and how long every one took.
///
/// A board keeps the newest event of a series only; this keeps those that make up a table. A pair is a data line with
/// whole `n` and decimal `f` in its `data`, a sum one with `n` and `ms`. Bounded: see `Limits`; what is over is dropped
/// from the start and counted.
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

    /// One source's.
    struct Source: Sendable {
        var pairs: [Pair] = []
        /// How many pairs of the newest calculation were dropped.
        var droppedPairs = 0
        /// The newest calculation's time; nil while it is under way.
        var total: Double?
        /// The oldest first.
        var sums: [Sum] = []
        var droppedSums = 0
        var bytes = 0
    }

    enum Limits {
        static let sources = 16
        static let sums = 1_000
        /// Digits of all pairs of a source.
        static let bytes = 1 << 20
    }

    private(set) var sources: [String: Source] = [:]
    private var run: String?

    /// Takes one line of the feed; most are none of its business.
    mutating func take(_ line: Line) {
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

    /// How long the computation took that a line tells of; nil when it is no such line.
    package static func sum(of line: Line) -> Sum? {
        if case .sum(let sum) = piece(line) { sum } else { nil }
    }

    private enum Piece {
        case pair(Pair)
        case sum(Sum)
    }

    private static func piece(_ line: Line) -> Piece? {
        guard case .data(let data) = line.body, let bytes = data.data, bytes.count < 64 << 10,
            // Looked at closely only if it can be one: `{"n":`
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
        // A calculation begins with F(0), or after the sum of the one before.
        if pair.n == 0 || total != nil {
            pairs.removeAll()
            droppedPairs = 0
            bytes = 0
            total = nil
        }
        pairs.append(pair)
        bytes += pair.f.utf8.count + 32
        guard bytes > FibonacciRuns.Limits.bytes else { return }
        // Half of it at once, lest every further pair move all of them.
        var gone = 0
        while gone < pairs.count, bytes > FibonacciRuns.Limits.bytes / 2 {
            bytes -= pairs[gone].f.utf8.count + 32
            gone += 1
        }
        pairs.removeFirst(gone)
        droppedPairs += gone
    }

    fileprivate mutating func add(_ sum: FibonacciRuns.Sum) {
        // A calculation that emits no pairs leaves those of an older one behind.
        if pairs.last.map({ $0.n != sum.n }) == true {
            pairs.removeAll()
            bytes = 0
            droppedPairs = 0
        }
        total = sum.ms
        sums.append(sum)
        if sums.count > FibonacciRuns.Limits.sums {
            sums.removeFirst(100)
            droppedSums += 100
        }
    }
}
