internal import Page

/// The files of the page, as they were when the program was built.
package enum PageFiles {
    /// One of them: its path below the page's address, and its bytes, which live as long as the program.
    package struct File {
        package let name: String
        package let bytes: UnsafeRawBufferPointer

        /// What is sent of it: of modules and style sheets only what a browser looks at, which is a quarter less.
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

    /// Leaves out lines that are blank or a comment, and the blanks that a line begins with. It knows nothing of the language:
    /// in our files no string goes over several lines and no comment stands beside code in another way, which
    /// `Tests/page/files.test.mjs` holds them to.
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
