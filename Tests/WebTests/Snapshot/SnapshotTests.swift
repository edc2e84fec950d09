import Feed
import Reactor
import TestSupport
import Testing

@testable import Web

/// The file with the page and the lines, as bytes: what a browser makes of it is tested with one.
@Suite(.limited)
struct SnapshotTests {
    private static let page = SnapshotPage(texts.map { ($0.0, Array($0.1.utf8)) })

    private static let texts = [
        (
            "index.html",
            """
            <!doctype html><html><head>
            <meta charset="utf-8">
            <link rel="stylesheet" href="look.css">
            <script type="module" src="main.mjs"></script>
            </head><body><p>hello</p></body></html>

            """
        ), ("look.css", "p { color: red }\n"),
        (
            "main.mjs",
            """
            import { a } from "./a.mjs"
            import { b } from "./b-c.mjs"
            a("100 % # <\\"> \\\\ é", b)

            """
        ), ("a.mjs", "export const a = 1"), ("b-c.mjs", "import { a } from \"./a.mjs\"\nexport const b = a"),
    ]

    private func file(
        _ lines: [Delivery], host: String = "cat", at time: Int64 = 1_763_787_780, room: Int = 1_000
    ) -> (text: String, snapshot: Snapshot) {
        let snapshot = Snapshot(lines, host: host, at: Timestamp(seconds: time), Self.page)
        return (Self.read(snapshot, room: room), snapshot)
    }

    static func read(_ snapshot: Snapshot, room: Int) -> String {
        var cursor = Snapshot.Cursor(in: snapshot)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: room)
        while case let count = buffer.withUnsafeMutableBytes({ cursor.read(into: $0) }), count > 0 {
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [" src=\"", "rel=\"icon\"", "rel=\"stylesheet\""])
    func theProgramsOwnPageAsksForNoFurtherFile(mark: String) {
        let page = SnapshotPage.own
        let text = String(decoding: page.start + page.middle + page.end, as: UTF8.self)
        #expect(text.contains("import \"main\""))
        #expect(!text.contains(mark))
    }

    /// FIPS 180-4's first example, as `openssl dgst -sha256 -binary | base64` has it.
    @Test func namesATextByItsDigest() {
        #expect(SnapshotPage.source(of: Array("abc".utf8)) == "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='")
    }

    @Test func isTheWholePageInOneFile() {
        let text = file([.greeting(Array("{\"type\":\"hello\"}\n".utf8))]).text
        let map =
            #"{"imports":{"main":"data:text/javascript,import { a } from %22a%22%0Aimport { b } from %22b-c%22%0A"#
            + #"a(%22100 %25 %23 %3C%5C%22%3E %5C%5C %C3%A9%22, b)%0A","a":"data:text/javascript,export const a = 1","#
            + #""b-c":"data:text/javascript,import { a } from %22a%22%0Aexport const b = a"}}"#
        func source(_ text: String) -> String { SnapshotPage.source(of: Array(text.utf8)) }
        #expect(
            text == """
                <!doctype html><html><head>
                <meta charset="utf-8">
                <meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
                script-src data: \(source(map)) \(source("import \"main\"")); style-src \(source("p { color: red }\n")); \
                base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'">
                <meta name="catwatch-taken" content="2025-11-22T05:03:00.000000Z">
                <style>p { color: red }
                </style>
                <script type="importmap">\(map)</script>
                <script type="module">import "main"</script>
                </head><body><p>hello</p><script type="application/x-ndjson" id="lines">
                {"type":"hello"}
                </script>
                </body></html>

                """)
    }

    /// What the page names that is beside it must have come into the file, and be what it says.
    @Test func nothingOfTheProgramsPageIsLeftOut() {
        let text = Self.read(Snapshot([], host: "", at: Timestamp(seconds: 0)), room: 4_096)
        for name in PageFiles.all.map(\.name).dropFirst() {
            #expect(!text.holds("href=\"\(name)\"") && !text.holds("src=\"\(name)\""), "\(name)")
        }
        #expect(!text.holds("%22./") && text.holds("import \"main\"") && text.holds("id=\"lines\""))
        #expect(text.holds("catwatch-taken\" content=\"1970-01-01T00:00:00.000000Z\""))
    }

    @Test(arguments: [1, 2, 5, 6, 7, 13, 4_096])
    func linesNeitherEndTheirScriptNorChange(_ room: Int) {
        let lines = [
            #"{"text":"</script><!-- <script> -->]]>&amp;"}"#, "{\"text\":\"\u{2028}\u{2029}\u{FEFF}é\"}",
            #"{"text":"\u003c\\u003c \ud83d\ude00"}"#, "{\"a\":\r1,\r\n\"b\":2}",
        ]
        let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
        let text = file([.gap(bytes)], room: room).text
        #expect(
            text.holds(
                """
                id="lines">
                {"text":"\\u003c/script>\\u003c!-- \\u003cscript> -->]]>&amp;"}
                {"text":"\u{2028}\u{2029}\u{FEFF}é"}
                {"text":"\\u003c\\\\u003c \\ud83d\\ude00"}
                {"a": 1,\u{20}
                "b":2}
                </script>
                """))
        #expect(text == file([.gap(bytes)], room: 100_000).text)
    }

    @Test(arguments: [
        ("cat", "cat"), ("", "host"), ("a.b/../\"c\"\r\nX: y", "a-b-----c---X--y"), ("ä", "--"),
        (String(repeating: "x", count: 300), String(repeating: "x", count: 64)),
    ])
    func namesTheFileByWhatEverySystemTakes(_ host: String, _ name: String) {
        #expect(file([], host: host).snapshot.fileName == "catwatch-\(name)-20251122T050300Z.html")
    }
}
