import Feed
import Reactor
import TestSupport
import Testing

@testable import Outputs

@Suite(.limited) struct EventFramingTests {
    /// A span of lines that somebody else's agent has written, from number 5 on.
    private static func withSpan(
        _ lines: [String], _ body: @escaping @Sendable (LineSpan) throws -> Void
    ) async throws {
        var log = LineLog()
        log.skip(to: 5)
        for line in lines {
            let bytes = Array("\(line)\n".utf8)
            log.append(atMost: bytes.count, at: LoopInstant(nanoseconds: 0)) { _, writer in
                var writer = writer
                bytes.withUnsafeBufferPointer { writer.raw($0) }
                return writer
            }
        }
        guard case .lines(let span) = log.read(from: 5) else { throw CancellationError() }
        try body(span)
    }

    private static func stream(_ span: LineSpan, _ filter: LineFilter? = nil) -> (EventStream, pieces: Int) {
        var bytes: [UInt8] = []
        var (offset, sequence) = (0, span.sequences.lowerBound)
        var pieces = 0
        while offset < span.count {
            let piece = EventFraming.events(of: span, from: offset, sequence, run: "a-b", filter)
            bytes += piece.bytes
            offset += piece.length
            sequence = piece.next
            pieces += 1
        }
        #expect(offset == span.count && sequence == span.sequences.upperBound + 1)
        return (EventStream(bytes), pieces)
    }

    private static func line(_ number: Int, _ type: String, _ text: String = "") -> String {
        #"{"seq":\#(number),"time":"2026-11-22T05:24:29.089021Z","type":"\#(type)","source":"s","text":"\#(text)"}"#
    }

    @Test func aLineIsTheDataOfAnEventWithItsNumber() async throws {
        let lines = [Self.line(5, "fact", "ü: :x"), Self.line(6, "error"), "{}", Self.line(8, "a")]
        try await Self.withSpan(lines) { span in
            let (stream, pieces) = Self.stream(span)
            #expect(stream.lines == lines && pieces == 1 && !stream.isTorn)
            #expect(stream.events.map(\.id) == ["a-b-5", "a-b-6", "a-b-7", "a-b-8"])
            #expect(stream.events.allSatisfy { $0.name == "message" })
        }
    }

    @Test func aFilterLeavesOutLinesAndKeepsTheNumbersOfTheOthers() async throws {
        let lines = [Self.line(5, "a"), Self.line(6, "b"), Self.line(7, "a"), Self.line(8, "c")]
        try await Self.withSpan(lines) { span in
            let (stream, _) = Self.stream(span, LineFilter(types: ["a", "c"], sources: nil))
            #expect(stream.lines == [lines[0], lines[2], lines[3]])
            #expect(stream.events.map(\.id) == ["a-b-5", "a-b-7", "a-b-8"])
            #expect(Self.stream(span, LineFilter(types: [], sources: nil)).0.events.isEmpty)
        }
    }

    /// JSON may have carriage returns between its values, and a field of an event ends at one.
    @Test func aCarriageReturnIsABlank() async throws {
        try await Self.withSpan(["{\"seq\":5\r,\"time\":\r1}\r", "{\"seq\":6}"]) { span in
            #expect(Self.stream(span).0.lines == ["{\"seq\":5 ,\"time\": 1} ", "{\"seq\":6}"])
        }
    }

    @Test func manyLinesAreFramedPieceByPiece() async throws {
        let lines = (5..<305).map { Self.line($0, "fact", String(repeating: "x", count: 100 + $0 % 7)) }
        try await Self.withSpan(lines) { span in
            let (stream, pieces) = Self.stream(span)
            #expect(stream.lines == lines)
            #expect(pieces > 3)
            let piece = EventFraming.events(of: span, from: 0, 5, run: "r", nil)
            #expect(16 << 10...17 << 10 ~= piece.bytes.count)
        }
    }

    @Test func linesWithoutANumberHaveNoID() {
        let stream = EventStream(EventFraming.events(of: Array("{\"a\":1}\n{}\n".utf8)))
        #expect(stream.lines == ["{\"a\":1}", "{}"] && stream.lastID.isEmpty)
    }

    /// A browser takes no event that has no end.
    @Test func theRestOfAnEventGoesToItsEnd() async throws {
        try await Self.withSpan([Self.line(5, "a"), Self.line(6, "b")]) { span in
            let bytes = EventFraming.opening + EventFraming.events(of: span, from: 0, 5, run: "r", nil).bytes
            let ends = bytes.indices.filter { $0 > 0 && bytes[$0] == 0x0A && bytes[$0 - 1] == 0x0A }.map { $0 + 1 }
            #expect(ends.count == 2)
            for written in 1...bytes.count {
                let rest = bytes.withUnsafeBytes { EventFraming.rest(of: $0, from: written) }
                #expect(written + rest.count == ends.first { $0 >= written }, "\(written)")
            }
        }
    }
}
