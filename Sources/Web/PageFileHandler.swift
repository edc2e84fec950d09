internal import HTTPServer

/// Serves a file of the page: with gzip if the client accepts it, and with 304 if it has the file already.
final class PageFileHandler: WebHandler {
    /// An encoding of the file, and its tag.
    private struct Form {
        let body: HTTPResponse.Body
        let coding: String?
        let tag: String
    }

    private let file: PageFiles.File
    private let type: String
    // Created at the first request.
    private lazy var plain: Form = {
        let content = file.content
        return Form(body: .bytes(content), coding: nil, tag: Self.tag(of: content, "\""))
    }()
    private lazy var compressed: Form? = {
        let content = file.content
        guard let gzip = content.withUnsafeBytes({ Gzip($0) }), gzip.bytes.count < content.count else { return nil }
        return Form(
            body: .memory(gzip.bytes, owner: gzip), coding: "gzip", tag: Self.tag(of: content, "-gzip\""))
    }()

    init(_ file: PageFiles.File) {
        self.file = file
        type = Self.type(of: file.name)
    }

    func response(to request: HTTPRequest, below _: Substring) -> HTTPResponse {
        let wantsGzip = request["Accept-Encoding"].map(Self.acceptsGzip) ?? false
        let form = wantsGzip ? compressed ?? plain : plain
        // A new program may have other files: clients must ask each time, and get what has changed.
        var fields = [
            HTTPField("ETag", form.tag), HTTPField("Cache-Control", "no-cache"), HTTPField("Vary", "Accept-Encoding"),
        ]
        if let known = request["If-None-Match"], Self.names(form.tag, in: known) {
            return response(304, fields)
        }
        fields.append(HTTPField("Content-Type", type))
        if let coding = form.coding { fields.append(HTTPField("Content-Encoding", coding)) }
        return response(200, fields, form.body)
    }

    /// Files that are only parts of a document are subject to that document's policy, and omit their own, which would
    /// be much of the page's transfer.
    private func response(
        _ status: Int, _ fields: [HTTPField], _ body: HTTPResponse.Body = .bytes([])
    ) -> HTTPResponse {
        var response = HTTPResponse(status: status, fields: fields, body: body)
        if file.name.hasSuffix(".css") || file.name.hasSuffix(".mjs") {
            response.fields += WebSettings.shortFields
            response.isWhole = true
        }
        return response
    }

    /// Whether the client accepts gzip (RFC 9110, section 12.5.3).
    static func acceptsGzip(_ value: String) -> Bool {
        var accepted: [String: Bool] = [:]
        for entry in value.split(separator: ",") {
            let parts = entry.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let coding = parts.first else { continue }
            accepted[coding] = !parts.dropFirst().contains {
                $0.hasPrefix("q=0") && $0.dropFirst(3).allSatisfy { ".0".contains($0) }
            }
        }
        return accepted["gzip"] ?? accepted["x-gzip"] ?? accepted["*"] ?? false
    }

    /// Whether `If-None-Match` has a tag, by weak comparison, or `*` (RFC 9110, section 13.1.2).
    static func names(_ tag: String, in value: String) -> Bool {
        value.split(separator: ",").contains { entry in
            let known = entry.filter { $0 != " " && $0 != "\t" }
            return known == "*" || known == tag || known == "W/\(tag)"
        }
    }

    /// 64-bit FNV-1a: distinguishes the files of different versions.
    private static func tag(of content: [UInt8], _ end: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in content { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return "\"\(String(hash, radix: 16))\(end)"
    }

    private static func type(of name: String) -> String {
        let types = [
            "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
            "mjs": "text/javascript; charset=utf-8", "svg": "image/svg+xml", "png": "image/png",
            "json": "application/json", "webmanifest": "application/manifest+json",
        ]
        return name.split(separator: ".").last.flatMap { types[String($0)] } ?? "application/octet-stream"
    }
}
