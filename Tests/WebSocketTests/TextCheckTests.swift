import TestSupport
import Testing
import WebSocket

/// How text messages are checked while they come.
@Suite(.limited) struct TextCheckTests {
    /// The first byte of a message's text that is refused; nil when all are taken.
    private func refusal(_ bytes: [UInt8]) -> Int? {
        var decoder = FrameDecoder(role: .client, limit: 1 << 20)
        // The header of a frame that is longer than these bytes.
        return ([0x81, 125] + bytes).firstIndex { byte in
            withUnsafeBytes(of: byte) { bytes in
                var bytes = bytes
                do {
                    return try decoder.next(from: &bytes) != nil
                } catch {
                    return true
                }
            }
        }.map { $0 - 2 }
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
            for second in stride(from: 0, through: 255, by: first < 0x80 ? 64 : LongRun.rounds(short: 7, long: 1)).map({
                UInt8($0)
            }) {
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
            var frame: [UInt8] = []
            FrameEncoder.append(.text, bytes, key: nil, to: &frame)
            var decoder = FrameDecoder(role: .client, limit: 1 << 20)
            let middle = Int.random(in: frame.indices, using: &random)
            var item: FrameDecoder.Item?
            for piece in [frame[..<middle], frame[middle...]] {
                piece.withUnsafeBytes { bytes in
                    var bytes = bytes
                    item = try? decoder.next(from: &bytes)
                }
            }
            #expect((item == .text) == (String(validating: bytes, as: UTF8.self) != nil), "seed \(seed)")
        }
    }
}
