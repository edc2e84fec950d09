internal import Reactor
internal import WebSocket

/// The page as one file that needs nothing beside it, without the lines that are shown: its styles in it, its modules as
/// `data:` URLs that an import map has their names lead to, and a policy of its own that lets nothing else in.
struct SnapshotPage {
    /// The file up to when it was taken, from there to the lines, and behind them.
    let start: [UInt8]
    let middle: [UInt8]
    let end: [UInt8]

    /// What says in the page when it was taken.
    static let takenName = "catwatch-taken"
    /// The element that holds the lines.
    static let linesID = "lines"

    /// The program's own page.
    static let own = SnapshotPage(PageFiles.all.map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) })

    /// - Parameter files: the page's; the first one is the page itself.
    init(_ files: [(name: String, text: String)]) {
        var page = files.first?.text ?? ""
        // It keeps browsers from asking a server, and is a picture, which the policy has none of.
        page = page.replacing("<link rel=\"icon\" href=\"data:,\">\n", by: "")
        var styles: [String] = []
        for (name, text) in files where name.hasSuffix(".css") {
            let link = "<link rel=\"stylesheet\" href=\"\(name)\">"
            guard page.holds(link) else { continue }
            styles.append(Self.source(of: text))
            page = page.replacing(link, by: "<style>\(text)</style>")
        }
        var modules: [String] = []
        for (name, text) in files where name.hasSuffix(".mjs") {
            modules.append("\"\(name.dropLast(4))\":\"data:text/javascript,\(Self.escaped(Self.renamed(text)))\"")
        }
        let map = "{\"imports\":{\(modules.joined(separator: ","))}}"
        let main = "import \"main\""
        page = page.replacing(
            "<script type=\"module\" src=\"main.mjs\"></script>",
            by: "<script type=\"importmap\">\(map)</script>\n<script type=\"module\">\(main)</script>")

        let policy = [
            "default-src 'none'", "script-src data: \(Self.source(of: map)) \(Self.source(of: main))",
            (["style-src"] + styles).joined(separator: " "), "base-uri 'none'", "form-action 'none'",
            "require-trusted-types-for 'script'", "trusted-types 'none'",
        ]
        let charset = "<meta charset=\"utf-8\">"
        let head = page.split(around: charset)
        let body = head.behind.split(around: "</body>")
        start = Array(
            """
            \(head.before)\(charset)
            <meta http-equiv="Content-Security-Policy" content="\(policy.joined(separator: "; "))">
            <meta name="\(Self.takenName)" content="
            """.utf8)
        middle = Array("\">\(body.before)<script type=\"application/x-ndjson\" id=\"\(Self.linesID)\">\n".utf8)
        end = Array("</script>\n</body>\(body.behind)".utf8)
    }

    /// How a policy names a script or style that stands in the page (CSP 3, hash-source).
    private static func source(of text: String) -> String {
        "'sha256-\(WebSocket.Base64.encode(SHA256.digest(Array(text.utf8))))'"
    }

    /// With the names that the import map has: one module cannot lead to another by its place when it has none.
    private static func renamed(_ module: String) -> String {
        var renamed = ""
        var rest = module.split(around: "from \"./")
        while let behind = rest.found {
            let name = behind.split(around: ".mjs\"")
            renamed += "\(rest.before)from \"\(name.before)\""
            rest = name.behind.split(around: "from \"./")
        }
        return renamed + rest.before
    }

    /// For a `data:` URL in JSON in a script: all that one of these three would take for something else.
    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var escaped: [UInt8] = []
        for byte in text.utf8 {
            if 0x20...0x7E ~= byte, !"\"#%<>\\".utf8.contains(byte) {
                escaped.append(byte)
            } else {
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}

extension String {
    /// What stands before and behind a part of a text, where it comes first; `found` is nil, and all of it stands before,
    /// when it is not there. (The standard library's own links the engine of regular expressions.)
    fileprivate func split(around part: String) -> (before: Substring, behind: String, found: String?) {
        let (bytes, wanted) = (utf8, Array(part.utf8))
        var start = bytes.startIndex
        while let found = bytes[start...].firstIndex(of: wanted[0]) {
            if bytes[found...].starts(with: wanted) {
                let behind = String(self[bytes.index(found, offsetBy: wanted.count)...])
                return (self[..<found], behind, behind)
            }
            start = bytes.index(after: found)
        }
        return (self[...], "", nil)
    }

    fileprivate func replacing(_ part: String, by other: String) -> String {
        let split = split(around: part)
        return split.found == nil ? self : "\(split.before)\(other)\(split.behind)"
    }
}
