import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct KeyParserTests {
    static let examples: [(String, [Key])] = [
        ("q", [.character("q")]),
        ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", [.up, .down, .right, .left]),
        ("\u{1B}OA\u{1B}OB\u{1B}OC\u{1B}OD\u{1B}OH\u{1B}OF", [.up, .down, .right, .left, .home, .end]),
        ("\u{1B}[1;5A", [.up]),
        ("\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~", [.pageUp, .pageDown, .home, .end, .home, .end]),
        ("\t\u{1B}[Z\r\n\u{7F}\u{8}", [.tab, .backTab, .enter, .enter, .backspace, .backspace]),
        ("\u{1B}OP\u{1B}[15~\u{1B}[24~", [.function(1), .function(5), .function(12)]),
        ("\u{3}\u{1A}", [.control("c"), .control("z")]),
        ("µ猫🐈", [.character("µ"), .character("猫"), .character("🐈")]),
        ("\u{1B}[200~q\u{1B}[A\nµ\u{1B}[201~x", [.paste("q\u{1B}[A\nµ"), .character("x")]),
        (
            "\u{1B}[<0;12;5M\u{1B}[<0;12;5m\u{1B}[<64;1;1M",
            [.mouse(.init(kind: .press, column: 11, row: 4)), .mouse(.init(kind: .wheelUp, column: 0, row: 0))]
        ),
        ("\u{1B}[M !!a", [.character("a")]),
        ("\u{1B}[12;40Ra\u{1B}[?62;22cb\u{1B}[>0;276;0cc", [.character("a"), .character("b"), .character("c")]),
        ("\u{1B}]11;rgb:0000/0000/0000\u{7}a\u{1B}]10;x\u{1B}\\b", [.character("a"), .character("b")]),
        ("\u{1B}P1$r0m\u{1B}\\a\u{1B}_Gi=1;OK\u{1B}\\b", [.character("a"), .character("b")]),
        ("\u{1B}q", [.escape, .character("q")]),
        ("\u{1B}\u{1B}[A", [.escape, .up]),
    ]

    @Test(arguments: examples)
    func readsWholeSequences(_ text: String, _ keys: [Key]) {
        var parser = KeyParser()
        #expect(parser.parse(text.utf8) == keys)
        #expect(!parser.isWaiting)
        #expect(parser.timeout() == [])
    }

    @Test(arguments: examples)
    func readsTheSameHoweverItIsSplit(_ text: String, _ keys: [Key]) {
        let bytes = Array(text.utf8)
        for split in 0...bytes.count {
            var parser = KeyParser()
            #expect(parser.parse(bytes[..<split]) + parser.parse(bytes[split...]) == keys, "split at \(split)")
        }
        var parser = KeyParser()
        #expect(bytes.flatMap { parser.parse([$0]) } == keys)
    }

    @Test(arguments: examples)
    func isItselfAgainAfterAnyPrefixAndATimeout(_ text: String, _: [Key]) {
        let bytes = Array(text.utf8)
        for end in 0...bytes.count {
            var parser = KeyParser()
            _ = parser.parse(bytes[..<end])
            let isPaste = bytes[..<end].starts(with: "\u{1B}[200~".utf8) && !parser.isWaiting && end < bytes.count
            _ = parser.timeout()
            #expect(!parser.isWaiting, "after \(end) bytes")
            if isPaste { _ = parser.parse("\u{1B}[201~".utf8) }
            #expect(parser.parse("k".utf8).last == .character("k"), "after \(end) bytes")
        }
    }

    @Test func takesALoneEscapeOnlyAfterTheTimeout() {
        var parser = KeyParser()
        #expect(parser.parse([0x1B]) == [])
        #expect(parser.isWaiting)
        #expect(parser.timeout() == [.escape])
        #expect(parser.parse([0x1B, UInt8(ascii: "[")]) == [])
        #expect(parser.timeout() == [.escape, .character("[")])
    }

    @Test func endsAPasteThatNeverEndsByControlC() {
        var parser = KeyParser()
        #expect(parser.parse("\u{1B}[200~qqq".utf8) == [])
        #expect(parser.timeout() == [])
        #expect(parser.parse([0x03]) == [.control("c")])
    }

    @Test func cutsAPasteAtItsBound() {
        var parser = KeyParser()
        var keys = parser.parse("\u{1B}[200~".utf8)
        keys += parser.parse(repeatElement(UInt8(ascii: "x"), count: 100_000))
        keys += parser.parse("\u{1B}[201~".utf8)
        #expect(keys == [.paste(String(repeating: "x", count: KeyParser.longestPaste))])
    }

    @Test func comesBackFromSequencesThatNeverEnd() {
        for opening in ["\u{1B}[", "\u{1B}]", "\u{1B}P"] {
            var parser = KeyParser()
            var keys = parser.parse(opening.utf8)
            keys += parser.parse(repeatElement(UInt8(ascii: "1"), count: 10_000))
            #expect(keys.last == .character("1"), "\(opening.utf8.count)")
        }
    }

    @Test func survivesRandomBytes() {
        var random = SeededGenerator(seed: 71)
        let pieces = Self.examples.map { Array($0.0.utf8) }
        var parser = KeyParser()
        for _ in 0..<LongRun.rounds(short: 4_000, long: 200_000) {
            var bytes = pieces.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = parser.parse(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            if Bool.random(using: &random) { _ = parser.timeout() }
        }
        _ = parser.parse([0x03, 0x07])
        _ = parser.timeout()
        #expect(parser.parse("k".utf8).last == .character("k"), "seed \(random.seed)")
    }
}
