internal import Feed
internal import Inputs
internal import Reactor

/// Standard input: lines, each read both ways, which must come to the same.
enum StdinTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let stream = PieceStream(input, size: choice + 1)
        var buffer = LineBuffer(limit: 512)
        let extraction = FuzzExtraction.make(choice, items: nil)
        let (reader, extractor) = (StdinLineParser(extraction), Extractor(extraction, of: .lines))
        while (try? buffer.fill(from: stream)) ?? 0 > 0 {
            precondition(buffer.capacity <= 2 * LineBuffer.chunk, "the buffer takes more than its limit")
            while let item = buffer.next() { compare(item, reader, extractor) }
        }
        if let item = buffer.finish() { compare(item, reader, extractor) }
    }

    private static func compare(_ item: LineBuffer.Item, _ reader: StdinLineParser, _ extractor: Extractor) {
        guard case .line(let line) = item else { return }
        var fast = EventBatch()
        var general = EventBatch()
        let now = Timestamp(seconds: 1_800_000_000)
        let quick = reader.read(line, from: SourceID(index: 0), at: now, into: &fast)
        let slow = (try? extractor.read(Bytes(line), mayHaveMark: false)).map { document in
            (try? extractor.add(document, from: SourceID(index: 0), at: now, to: &general)) != nil
        }
        precondition((quick == .read) == (slow == true), "one way takes the line and the other does not")
        precondition(FuzzLines.lines(of: fast) == FuzzLines.lines(of: general), "the two ways read different events")
    }
}

/// Extractions of many kinds.
enum FuzzExtraction {
    /// - Parameter choice: 0 to 31.
    static func make(_ choice: Int, items: JSONPointer?) -> Extraction {
        func pointer(_ text: String) -> JSONPointer { (try? JSONPointer(text)) ?? .root }
        var extraction = Extraction(items: items, number: choice & 1 == 0 ? .strict : .lenient)
        if choice & 2 != 0 {
            extraction.key = .at(pointer("/k"))
        } else if items != nil, choice & 4 != 0 {
            extraction.key = .position
        }
        if choice & 4 != 0 { extraction.value = .at(pointer("/a/1")) }
        if choice & 8 != 0 { extraction.text = .at(pointer("/a/b")) }
        if choice & 16 != 0 { extraction.time = pointer("") }
        return extraction
    }
}

/// A stream of known bytes that come in pieces.
final class PieceStream: ByteStream {
    private var rest: Bytes
    private let size: Int

    init(_ bytes: Bytes, size: Int) {
        rest = bytes
        self.size = size
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        let piece = rest.prefix(min(size, buffer.count))
        buffer.copyBytes(from: piece)
        rest = rest.dropFirst(piece.count)
        return piece.count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int { bytes.count }
    func waitUntilWritable() async throws(CancellationError) {}
    func waitUntilReadable() async throws(CancellationError) {}
    func waitUntilHungUp() async throws(CancellationError) {}
    func close() {}
}
