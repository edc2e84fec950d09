internal import CCrypto
internal import Reactor
internal import WebSocket

/// The page as a self-contained file, without the lines: with inlined styles, modules as `data:` URLs in an import map,
/// and its own policy that allows nothing else.
///
/// It is built on the loop, and from bytes for that reason: 300 KiB of page took 60 ms as strings.
struct SnapshotPage {
    /// The file up to the time of the snapshot, from there to the lines, and behind them.
    let start: [UInt8]
    let middle: [UInt8]
    let end: [UInt8]

    /// The program's own page.
    static let own = SnapshotPage(PageFiles.all.map { ($0.name, $0.content) })

    /// - Parameter files: the page's files; the first one is the page itself.
    init(_ files: [(name: String, text: [UInt8])]) {
        var page = files.first?.text ?? []
        // Removes what needs a server: the tab's icon.
        page.replace("<link rel=\"icon\" type=\"image/svg+xml\" href=\"icon.svg\">\n", by: [])
        var styles = "style-src"
        for (name, text) in files where name.hasSuffix(".css") {
            let style = "<style>".utf8 + text + "</style>".utf8
            page.replace("<link rel=\"stylesheet\" href=\"\(name)\">", by: style)
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

    /// The policy's name for a script or style in the page (CSP 3, hash-source).
    static func source(of text: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(text, text.count, &digest)
        return "'sha256-\(Base64.encode(digest))'"
    }

    /// Renames imports to the names in the import map: a module in a `data:` URL has no path to resolve others against.
    private static func renamed(_ module: [UInt8]) -> [UInt8] {
        var renamed: [UInt8] = []
        var done = 0
        while let range = module.range(of: "\"./", from: done),
            let end = module.range(of: ".mjs\"", from: range.upperBound)
        {
            renamed += module[done...range.lowerBound] + module[range.upperBound..<end.lowerBound]
            renamed.append(UInt8(ascii: "\""))
            done = end.upperBound
        }
        return renamed + module[done...]
    }

    /// Escapes text for a `data:` URL in JSON in a script: all bytes that have a meaning in one of the three.
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
    /// Replaces the first occurrence of a text, if there is one.
    fileprivate mutating func replace(_ text: String, by other: [UInt8]) {
        if let range = range(of: text) { replaceSubrange(range, with: other) }
    }
}
