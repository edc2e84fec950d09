import Feed
import TestSupport
import Testing

@Suite(.limited) struct LineSplitterTests {
    /// All items of a stream that comes in these chunks.
    private func split(_ chunks: [[UInt8]], limit: Int) -> [LineSplitter.Item] {
        var splitter = LineSplitter(limit: limit)
        var items: [LineSplitter.Item] = []
        for chunk in chunks {
            splitter.push(chunk[...])
            while let item = splitter.next() { items.append(item) }
            #expect(splitter.held <= limit)
        }
        while let item = splitter.finish() { items.append(item) }
        #expect(splitter.held == 0)
        return items
    }

    /// The twin: splits the whole stream at once.
    private func reference(_ stream: [UInt8], limit: Int) -> [LineSplitter.Item] {
        var lines = stream.split(separator: 0x0A, omittingEmptySubsequences: false)
        if lines.last?.isEmpty ?? false { lines.removeLast() }
        return lines.map { $0.count <= limit ? .line($0) : .tooLong(length: $0.count) }
    }

    @Test(arguments: [
        "", "\n", "a", "a\n", "a\n\nbc\n", "abcd\nabcde\nab", "abcdefgh\n\nabcdefgh", "\n\n\n", "a\r\nb\0\n",
    ])
    func findsTheSameLinesAtEverySplit(text: String) {
        let stream = Array(text.utf8)
        for limit in [0, 1, 4, 100] {
            let expected = reference(stream, limit: limit)
            #expect(split(stream.map { [$0] }, limit: limit) == expected)
            for first in 0...stream.count {
                for second in first...stream.count {
                    let chunks = [Array(stream[..<first]), Array(stream[first..<second]), Array(stream[second...])]
                    #expect(split(chunks, limit: limit) == expected, "split at \(first) and \(second), limit \(limit)")
                }
            }
        }
    }

    @Test func agreesWithTheTwinOnRandomStreams() {
        var random = SeededGenerator(seed: 51)
        for round in 0..<JSONGenerator.rounds(300, long: 100_000) {
            let limit = Int.random(in: 0...20, using: &random)
            let chunks: [[UInt8]] = (0..<Int.random(in: 0...8, using: &random)).map { _ in
                (0..<Int.random(in: 0...30, using: &random)).map { _ in
                    Array("abc\n".utf8).randomElement(using: &random) ?? 0
                }
            }
            let expected = reference(chunks.flatMap(\.self), limit: limit)
            #expect(split(chunks, limit: limit) == expected, "seed 51, round \(round)")
        }
    }

    @Test func sharesTheChunkThatALineLiesIn() throws {
        let chunk = Array("xx\nwhole\nrest".utf8)
        var splitter = LineSplitter()
        splitter.push(chunk[...])
        #expect(splitter.next() == .line(chunk[0..<2]))
        guard case .line(let line) = splitter.next() else {
            _ = #expect(Bool(false), "no line")
            return
        }
        #expect(line.indices == 3..<8)
        let shared = chunk.withUnsafeBytes { whole in
            line.withUnsafeBytes { $0.baseAddress == whole.baseAddress.map { $0 + 3 } }
        }
        #expect(shared)
        #expect(splitter.next() == nil)
    }

    @Test func skipsAnEndlessLineInBoundedMemoryAndReportsItOnce() {
        var splitter = LineSplitter(limit: 1_000)
        let chunk = [UInt8](repeating: 0x61, count: 700)
        for _ in 0..<10_000 {
            splitter.push(chunk[...])
            #expect(splitter.next() == nil)
            #expect(splitter.held <= 1_000)
        }
        splitter.push(Array("\nnext\n".utf8)[...])
        #expect(splitter.next() == .tooLong(length: 7_000_000))
        #expect(splitter.next() == .line(Array("next".utf8)[...]))
        #expect(splitter.next() == nil)
        #expect(splitter.finish() == nil)
    }

    @Test func takesAChunkBeforeTheLastOneIsRead() {
        var splitter = LineSplitter()
        splitter.push(Array("a\nb".utf8)[...])
        splitter.push(Array("c\nd".utf8)[...])
        #expect(splitter.next() == .line(Array("a".utf8)[...]))
        #expect(splitter.next() == .line(Array("bc".utf8)[...]))
        #expect(splitter.finish() == .line(Array("d".utf8)[...]))
        #expect(splitter.finish() == nil)
    }
}
