import TestSupport
import Testing

@testable import Outputs

@Suite(.limited) struct NatsBatchTests {
    private enum Text {
        case hello
        case fact(Int)
        case gap(Int, Int)

        var line: String {
            switch self {
            case .hello: #"{"type":"bye","time":"2023-11-14T22:13:20.000000Z","run":"r","last_seq":1,"reason":"x"}"#
            case .fact(let number): #"{"seq":\#(number),"type":"fact"}"#
            case .gap(let from, let to):
                #"{"type":"gap","time":"2023-11-14T22:13:20.000000Z","from":\#(from),"to":\#(to),"reason":"x"}"#
            }
        }
    }

    private static func piece(_ lines: [Text], _ numbers: ClosedRange<Int>?) -> NatsBatch.Piece {
        NatsBatch.Piece(bytes: Array(lines.map { $0.line + "\n" }.joined().utf8), numbers: numbers)
    }

    @Test func halvesHaveTheNumbersOfTheirLines() throws {
        let cases: [([Text], ClosedRange<Int>?, ClosedRange<Int>?)] = [
            ([.fact(1), .fact(2), .fact(3), .fact(4)], 1...2, 3...4),
            ([.hello, .hello, .fact(7), .fact(8)], nil, 7...8),
            ([.hello, .fact(5), .fact(6)], nil, 5...6), ([.fact(4), .gap(5, 9)], 4...4, 5...9),
            ([.gap(3, 8), .hello, .fact(9), .fact(10)], 3...8, 9...10),
            ([.fact(1), .hello, .gap(2, 8), .fact(9)], 1...1, 2...9), ([.fact(1), .hello], 1...1, nil),
            ([.hello, .hello], nil, nil),
        ]
        for (lines, first, second) in cases {
            let numbers = [first, second].compactMap(\.self)
            let all = numbers.first.map { $0.lowerBound...(numbers.last ?? $0).upperBound }
            let whole = Self.piece(lines, all)
            let halves = try #require(whole.halves)
            #expect(halves.0.bytes + halves.1.bytes == whole.bytes)
            #expect(halves.0.numbers == first && halves.1.numbers == second)
            #expect(halves.0.bytes.last == 0x0A)
        }
    }

    @Test func aMessageForEachLineHasTheNumbersThatItsGapNames() {
        let lines = Self.piece([.hello, .fact(4), .gap(5, 9)], 4...9).lines(agent: "a", run: "r")
        #expect(lines.map(\.numbers) == [nil, 4...4, 5...9])
    }

    /// A `gap` may follow in the same message.
    @Test func thereIsRoomForALineOfOursBesideTheLongestOne() {
        for (length, isTaken) in [(6_144, true), (6_145, false)] {
            var batch = NatsBatch()
            batch.begin(room: 8 << 10)
            let line = [UInt8](repeating: 0x20, count: length - 1) + [0x0A]
            let taken = line.withUnsafeBytes { batch.add($0, from: 1) }
            #expect(taken == (length, 1, isLeftOut: !isTaken) && batch.isEmpty == !isTaken)
        }
    }

    @Test func numbersOfAnyOrderAreInIt() {
        var batch = NatsBatch()
        batch.begin(room: 8 << 10)
        for numbers in [5...9, 2...3, 6...7] { batch.add([0x0A], naming: numbers) }
        #expect(batch.piece.numbers == 2...9)
    }

    @Test func oneLineHasNoHalves() { #expect(Self.piece([.fact(1)], 1...1).halves == nil) }
}
