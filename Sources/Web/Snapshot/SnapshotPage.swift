internal import Reactor
internal import WebSocket

/// The page as one file that needs nothing beside it, without the lines that are shown: its styles in it, its modules as
/// `data:` URLs that an import map has their names lead to, and a policy of its own that lets nothing else in.
///
/// It is made on the loop, and of bytes for that: 300 KiB of page took 60 ms as strings.
struct SnapshotPage {
    /// The file up to when it was taken, from there to the lines, and behind them.
    let start: [UInt8]
    let middle: [UInt8]
    let end: [UInt8]

    /// The program's own page.
    static let own = SnapshotPage(PageFiles.all.map { ($0.name, $0.content) })

    /// - Parameter files: the page's; the first one is the page itself.
    init(_ files: [(name: String, text: [UInt8])]) {
        var page = files.first?.text ?? []
        // What only a server has: a picture for the tab, modules to be fetched, and the stream, which is begun before the rest.
        page.replace("<link rel=\"icon\" type=\"image/svg+xml\" href=\"icon.svg\">\n", by: [])
        page.replace("<script type=\"module\" src=\"connect.mjs\"></script>\n", by: [])
        for (name, _) in files { page.replace("<link rel=\"modulepreload\" href=\"\(name)\">\n", by: []) }
        var styles = "style-src"
        for (name, text) in files where name.hasSuffix(".css") {
            let style = "<style>".utf8 + text + "</style>".utf8
            // One that is fetched later has no place of its own.
            if !page.replace("<link rel=\"stylesheet\" href=\"\(name)\">", by: style) {
                page.replace("</head>", by: style + "\n</head>".utf8)
            }
            styles += " \(Self.source(of: text))"
        }
        var map = Array("{\"imports\":{".utf8)
        for (name, text) in files where name.hasSuffix(".mjs") {
            if map.last != UInt8(ascii: "{") { map.append(UInt8(ascii: ",")) }
            map += "\"\(name.dropLast(4))\":\"data:text/javascript,".utf8
            Self.escape(Self.renamed(text), into: &map)
            map.append(UInt8(ascii: "\""))
        }
        map += "}}".utf8
        let main = Array("import \"main\"".utf8)
        page.replace(
            "<script type=\"module\" src=\"main.mjs\"></script>",
            by: "<script type=\"importmap\">".utf8 + map + "</script>\n<script type=\"module\">".utf8 + main
                + "</script>".utf8)

        let policy =
            "default-src 'none'; script-src data: \(Self.source(of: map)) \(Self.source(of: main)); \(styles); "
            + "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        let head = page.range(of: "<meta charset=\"utf-8\">")?.upperBound ?? 0
        let body = page.range(of: "</body>")?.lowerBound ?? page.count
        start =
            Array(page[..<head])
                + """

                <meta http-equiv="Content-Security-Policy" content="\(policy)">
                <meta name="catwatch-taken" content="
                """.utf8
        middle = Array("\">".utf8) + page[head..<body] + "<script type=\"application/x-ndjson\" id=\"lines\">\n".utf8
        end = Array("</script>\n".utf8) + page[body...]
    }

    /// How a policy names a script or style that stands in the page (CSP 3, hash-source).
    private static func source(of text: [UInt8]) -> String {
        "'sha256-\(Base64.encode(SHA256.digest(text)))'"
    }

    /// With the names that the import map has: one module cannot lead to another by its place when it has none.
    private static func renamed(_ module: [UInt8]) -> [UInt8] {
        var renamed: [UInt8] = []
        var done = 0
        while let place = module.range(of: "\"./", from: done),
            let end = module.range(of: ".mjs\"", from: place.upperBound)
        {
            renamed += module[done...place.lowerBound] + module[place.upperBound..<end.lowerBound]
            renamed.append(UInt8(ascii: "\""))
            done = end.upperBound
        }
        return renamed + module[done...]
    }

    /// For a `data:` URL in JSON in a script: all that one of these three would take for something else.
    private static func escape(_ text: [UInt8], into map: inout [UInt8]) {
        let digits = Array("0123456789ABCDEF".utf8)
        map.reserveCapacity(map.count + text.count * 5 / 4)
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "%"), UInt8(ascii: "<"), UInt8(ascii: ">"),
                UInt8(ascii: "\\"), ..<0x20, 0x7F...:
                map.append(UInt8(ascii: "%"))
                map.append(digits[Int(byte >> 4)])
                map.append(digits[Int(byte & 0xF)])
            default: map.append(byte)
            }
        }
    }
}

extension [UInt8] {
    /// Puts something in the place of a text, where it stands first; false when it is not there.
    @discardableResult
    fileprivate mutating func replace(_ text: String, by other: [UInt8]) -> Bool {
        guard let place = range(of: text) else { return false }
        replaceSubrange(place, with: other)
        return true
    }
}
