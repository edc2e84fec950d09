import Feed
import Reactor

/// Reads a connection line by line. Unchecked: used by tasks of one loop.
final class FeedReader: @unchecked Sendable {
    let stream: any ByteStream
    private let buffer = ReadBuffer(count: 65_536)
    private var splitter = LineSplitter(limit: 2 << 20)
    /// How many bytes were read.
    private(set) var bytesRead = 0

    init(_ stream: any ByteStream) { self.stream = stream }

    /// Says something, a newline behind it.
    func ask(_ text: String) async throws { try await stream.write(all: Array("\(text)\n".utf8)) }

    /// The next line without its newline; nil at the end of the stream.
    func line() async throws -> [UInt8]? {
        while true {
            if let line = splitter.next() { return Self.bytes(line) }
            guard let count = try stream.read(into: buffer.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            if count == 0 { return nil }
            bytesRead += count
            splitter.push(Bytes(buffer.memory[..<count]))
        }
    }

    /// The whole lines that were read and not asked for.
    func buffered() -> [[UInt8]] {
        var lines: [[UInt8]] = []
        while let line = splitter.next() { if let line = Self.bytes(line) { lines.append(line) } }
        return lines
    }

    /// The next line, decoded; nil at the end.
    func next() async throws -> Line? { try await line().map { try LineDecoder.decode($0[...]) } }

    /// Reads so many lines.
    func skip(_ count: Int) async throws { for _ in 0..<count { _ = try await line() } }

    /// Reads up to the end of the stream.
    func transcript(pause: () -> Duration? = { nil }, on loop: EventLoop) async throws -> FeedTranscript {
        var transcript = FeedTranscript()
        while true {
            if let pause = pause() { try await loop.sleep(for: pause) }
            guard let line = try await line() else { break }
            transcript.add(line)
        }
        // Half a line at the end is what a connection that was cut leaves.
        transcript.isTorn = splitter.finish() != nil
        return transcript
    }

    private static func bytes(_ item: LineSplitter.Item) -> [UInt8]? {
        switch item {
        case .line(let line): Array(line)
        case .tooLong: nil
        }
    }
}

/// What came over a connection, or over several one behind the other.
struct FeedTranscript: Sendable {
    /// The numbered lines, byte for byte, in the order they came.
    var lines: [(number: Int, bytes: [UInt8])] = []
    var hellos: [Line.Hello] = []
    var gaps: [ClosedRange<Int>] = []
    var refusals: [Failure] = []
    var bye: Line.Bye?
    /// Whether the last line had no end.
    var isTorn = false
    /// What was out of order; nil when all is well.
    var fault: String?
    /// The number that is due; nil right after a `hello`.
    var next: Int?

    var numbers: [Int] { lines.map(\.number) }
    /// How many lines the gaps name.
    var missed: Int { gaps.reduce(0) { $0 + $1.count } }
    /// The number behind the last one that was seen or named.
    var end: Int { next ?? 1 }

    mutating func add(_ line: [UInt8]) {
        if let number = Self.number(line) {
            if line.last != UInt8(ascii: "}") { fail("torn: \(String(decoding: line, as: UTF8.self))") }
            lines.append((number, line))
            return take(number...number)
        }
        let decoded: Line
        do { decoded = try LineDecoder.decode(line[...]) } catch {
            return fail("\(error): \(String(decoding: line, as: UTF8.self))")
        }
        switch decoded.body {
        case .hello(let hello):
            hellos.append(hello)
            next = nil
        case .gap(let gap):
            gaps.append(gap.from...gap.to)
            take(gap.from...gap.to)
        case .refusal(let failure): refusals.append(failure)
        case .bye(let bye): self.bye = bye
        case .stats: break
        default: fail("unexpected: \(decoded.type)")
        }
    }

    private static let head = Array("{\"seq\":".utf8)

    /// The number in `{"seq":N,`; nil for a line without one.
    static func number(_ line: [UInt8]) -> Int? {
        guard line.count > head.count, Array(line[..<head.count]) == head else { return nil }
        var end = head.count
        while end < line.count, line[end] != UInt8(ascii: ",") { end += 1 }
        return Int(String(decoding: line[head.count..<end], as: UTF8.self))
    }

    private mutating func take(_ range: ClosedRange<Int>) {
        if let next, range.lowerBound != next { fail("\(range) came where \(next) was due") }
        if hellos.isEmpty { fail("no hello before \(range)") }
        next = range.upperBound + 1
    }

    private mutating func fail(_ text: String) { fault = fault ?? text }
}
