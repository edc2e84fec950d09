import Feed
import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct ClusterTests {
    @Test(arguments: [
        ("a", 1), ("µ", 1), ("é", 1), ("e\u{301}", 1), ("猫", 2), ("Ａ", 2), ("ｱ", 1), ("한", 2),
        ("\u{1112}\u{1161}\u{11AB}", 2),
        ("🐈", 2), ("👩‍👩‍👧‍👦", 2), ("❤️", 2), ("❤", 1), ("🇩🇪", 2), ("👍🏽", 2), ("1️⃣", 2), ("…", 1), ("█", 1), ("⣿", 1),
        ("ש", 1), ("ع", 1), ("क्षि", 2), ("\u{301}", 1), ("░", 1), ("①", 1), ("\u{1FAE8}", 2), ("\u{1FAE9}", 2),
    ])
    func hasAWidth(_ text: String, _ columns: Int) {
        #expect(text.count == 1)
        #expect(text.columns == columns)
    }

    @Test(arguments: ["👩‍👩‍👧‍👦", "❤️", "🇩🇪", "👍🏽", "क्षि", "\u{E000}", "\u{301}", "❤\u{FE0E}"])
    func isDoubtfulWhereTerminalsDiffer(_ text: String) {
        #expect(Cluster(Character(text)).isDoubtful)
    }

    @Test(arguments: [
        ("\u{1B}", "␛"), ("\u{7F}", "␡"), ("\r\n", "␍␊"), ("\u{9B}", "\\u{9b}"), ("\u{202E}", "\\u{202e}"),
        ("\u{200B}", "\\u{200b}"), ("\u{200D}", "\\u{200d}"), ("a\u{200D}", "a\\u{200d}"),
    ])
    func showsWhatHides(_ text: String, _ visible: String) {
        let cluster = Cluster(Character(text))
        #expect(cluster.text == visible)
        #expect(cluster.columns == visible.unicodeScalars.count)
    }

    /// Nothing that a terminal acts upon is left in a cluster, save the joiner between two pictographs.
    @Test func hidesNothing() {
        for value in UInt32(0)...0x2_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let cluster = Cluster(Character(scalar))
            #expect(!cluster.text.unicodeScalars.contains(where: Sanitizer.isHidden), "\(value)")
            if cluster.columns < 1 || cluster.columns > 9 { Issue.record("\(value) takes \(cluster.columns) columns") }
        }
    }

    @Test func boundsMarksOnOneLetter() {
        let zalgo = "a" + String(repeating: "\u{301}", count: 10_000)
        let cluster = Cluster(Character(zalgo))
        #expect(cluster.text.utf8.count <= Cluster.longest)
        #expect(cluster.columns == 1)
    }

    @Test(
        arguments: [
            ("\u{300}", WidthClass.none), ("\u{600}", .one), ("\u{903}", .uncertain), ("\u{1160}", .none),
            ("\u{11FF}", .none), ("\u{D7B0}", .none), ("\u{1100}", .two), ("\u{2329}", .two), ("\u{302A}", .none),
            ("\u{303F}", .one), ("\u{E000}", .uncertain),
            ("\u{378}", .uncertain), ("\u{302E}", .two),
            ("\u{1F1E6}", .one), ("\u{1F200}", .two), ("\u{1F93B}", .one), ("\u{1FAFF}", .two), ("\u{2FA1D}", .two),
            ("\u{E0100}", .none), ("\u{3FFFD}", .uncertain), ("\u{26A1}", .two), ("\u{2764}", .one), ("\u{4DC0}", .one),
        ] as [(Unicode.Scalar, WidthClass)])
    func aCodePointHasAClass(_ scalar: Unicode.Scalar, _ expected: WidthClass) {
        #expect(WidthClass(scalar) == expected)
    }
}
