import TestSupport
import Testing
import WebSocket

@Suite(.limited) struct UTF8CheckTests {
    /// The first byte that is refused; nil when all are taken.
    private func refusal(_ bytes: [UInt8]) -> Int? {
        var check = UTF8Check()
        for (index, byte) in bytes.enumerated() {
            let isTaken = withUnsafeBytes(of: byte) { check.take($0) }
            if !isTaken { return index }
        }
        return nil
    }

    /// Whether a text can go on after these bytes, found out by trying.
    private func canGoOn(_ bytes: [UInt8]) -> Bool {
        let tails: [[UInt8]] = [
            [], [0x80], [0x90], [0xA0], [0x80, 0x80], [0x90, 0x80], [0xA0, 0x80], [0x80, 0x80, 0x80],
            [0x90, 0x80, 0x80],
        ]
        return tails.contains { String(validating: bytes + $0, as: UTF8.self) != nil }
    }

    @Test func failsAtTheFirstByteThatCannotBeRight() {
        for first in 0...255 as ClosedRange<UInt8> {
            for second in stride(from: 0, through: 255, by: first < 0x80 ? 64 : 1).map({ UInt8($0) }) {
                let bytes = [first, second]
                let expected = canGoOn([first]) ? (canGoOn(bytes) ? nil : 1) : 0
                #expect(refusal(bytes) == expected, "\(bytes)")
            }
        }
    }

    @Test func agreesWithTheStandardLibrary() {
        for seed in 1...UInt64(LongRun.rounds(short: 400, long: 100_000)) {
            var random = SeededGenerator(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<12 {
                let text =
                    ["a", "plain ascii", "é", "€", "😀", "\u{10FFFF}", "\u{D7FF}"].randomElement(using: &random) ?? ""
                bytes += text.utf8
            }
            if Bool.random(using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            var check = UTF8Check()
            let middle = Int.random(in: bytes.indices, using: &random)
            let isTaken = [bytes[..<middle], bytes[middle...]].allSatisfy { piece in
                piece.withUnsafeBytes { check.take($0) }
            }
            #expect((isTaken && check.isComplete) == (String(validating: bytes, as: UTF8.self) != nil), "seed \(seed)")
        }
    }
}
