import Feed
import Inputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct LineBufferTests {
    private enum Piece: Equatable {
        case line([UInt8])
        case tooLong(Int)
    }

    /// What comes out when the stream gives these pieces one after the other.
    private func lines(_ pieces: [[UInt8]], limit: Int) async throws -> (pieces: [Piece], capacity: Int) {
        try await withLoop(virtual: true) { loop in
            let (far, near) = SimulatedStream.pair(capacity: 1 << 20, on: loop)
            var buffer = LineBuffer(limit: limit)
            var found: [Piece] = []
            var capacity = 0
            func take(_ item: borrowing LineBuffer.Item) {
                switch item {
                case .line(let line): found.append(.line(Array(line)))
                case .tooLong(let length): found.append(.tooLong(length))
                }
                #expect(buffer.number == found.count)
            }
            for piece in pieces where !piece.isEmpty {
                _ = try piece.withUnsafeBytes { try far.write($0) }
                while try buffer.fill(from: near) != nil { while let item = buffer.next() { take(item) } }
                capacity = max(capacity, buffer.capacity)
            }
            if let item = buffer.finish() { take(item) }
            #expect(buffer.finish() == nil)
            return (found, capacity)
        }
    }

    /// The same by taking all of it apart at once.
    private func reference(_ bytes: [UInt8], limit: Int) -> [Piece] {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { $0.count <= limit ? .line($0) : .tooLong($0.count) }
    }

    @Test func cutsLinesWhateverPiecesTheyComeIn() async throws {
        let bytes = Array("\nab\n\r\nabcdef\nabcdefg\nabcdefghijkl\n\nx".utf8)
        for end in 0...bytes.count {
            let prefix = Array(bytes[..<end])
            #expect(try await lines([prefix], limit: 6).pieces == reference(prefix, limit: 6))
            for split in 0...end {
                let pieces = [Array(prefix[..<split]), Array(prefix[split...])]
                #expect(try await lines(pieces, limit: 6).pieces == reference(prefix, limit: 6), "\(end), \(split)")
            }
        }
    }

    @Test(arguments: [91, 92] as [UInt64])
    func agreesWithTheReference(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        for round in 0..<LongRun.rounds(short: 6, long: 30) {
            let limit = [10, 1_000, 300_000].randomElement(using: &random) ?? 10
            var pieces: [[UInt8]] = []
            for _ in 0..<40 {
                let longest = [3, 30, 70_000, 200_000].randomElement(using: &random) ?? 3
                var piece = [UInt8](repeating: UInt8(ascii: "a"), count: Int.random(in: 0...longest, using: &random))
                for _ in 0..<Int.random(in: 0...3, using: &random) where !piece.isEmpty {
                    piece[Int.random(in: piece.indices, using: &random)] = 0x0A
                }
                pieces.append(piece)
            }
            let (found, capacity) = try await lines(pieces, limit: limit)
            let bytes = pieces.reduce(into: []) { $0 += $1 }
            #expect(found == reference(bytes, limit: limit), "seed \(seed), round \(round)")
            #expect(capacity <= max(limit * 2, LineBuffer.chunk) + 2 * LineBuffer.chunk, "seed \(seed), round \(round)")
        }
    }

    @Test func givesTheMemoryOfALongLineBack() async throws {
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
        try await withLoop(virtual: true) { loop in
            let (far, near) = SimulatedStream.pair(capacity: 2 << 20, on: loop)
            var buffer = LineBuffer(limit: 1 << 20)
            _ = try (long + [0x0A]).withUnsafeBytes { try far.write($0) }
            var most = 0
            while try buffer.fill(from: near) != nil {
                most = max(most, buffer.capacity)
                while buffer.next() != nil {}
            }
            #expect(most > 1 << 20)
            _ = try [UInt8](repeating: 0x0A, count: 9).withUnsafeBytes { try far.write($0) }
            _ = try buffer.fill(from: near)
            #expect(buffer.capacity == LineBuffer.chunk)
        }
    }
}
