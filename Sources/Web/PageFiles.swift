internal import Page

/// The files of the page, as of the program's build.
package enum PageFiles {
    /// A file: its path below the page's address, and its bytes, which live as long as the program.
    package struct File {
        package let name: String
        package let bytes: UnsafeRawBufferPointer

        /// The bytes to send: of modules and style sheets without comments, which saves a quarter.
        package var content: [UInt8] {
            name.hasSuffix(".mjs") || name.hasSuffix(".css") ? PageFiles.withoutComments(bytes) : Array(bytes)
        }
    }

    /// All of them, the page itself (`index.html`) first.
    package static var all: [File] {
        (0..<cw_page_file_count()).map { index in
            let file = cw_page_file_at(index)
            return File(
                name: String(cString: file.name), bytes: UnsafeRawBufferPointer(start: file.bytes, count: file.count))
        }
    }

    /// Removes blank lines, comments, and indentation. It does not parse the language: our files have no multi-line
    /// strings, and no comments beside code in another form, as `Tests/page/files.test.mjs` checks.
    static func withoutComments(_ text: UnsafeRawBufferPointer) -> [UInt8] {
        var kept: [UInt8] = []
        kept.reserveCapacity(text.count)
        var isComment = false
        for line in text.split(separator: UInt8(ascii: "\n")) {
            let line = line.drop { $0 == UInt8(ascii: " ") }
            if isComment || line.starts(with: "/*".utf8) {
                isComment = !line.suffix(2).elementsEqual("*/".utf8)
            } else if !line.isEmpty, !line.starts(with: "//".utf8) {
                kept += line
                kept.append(UInt8(ascii: "\n"))
            }
        }
        return kept
    }
}
