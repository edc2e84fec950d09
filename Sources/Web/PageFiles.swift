internal import Page

/// The files of the page, as of the program's build.
package enum PageFiles {
    /// A file: its path below the page's address, and its bytes, which live as long as the program.
    package struct File {
        package let name: String
        package let bytes: UnsafeRawBufferPointer

        package var content: [UInt8] { Array(bytes) }
    }

    /// All of them, the page itself (`index.html`) first.
    package static var all: [File] {
        (0..<cw_page_file_count()).map { index in
            let file = cw_page_file_at(index)
            return File(
                name: String(cString: file.name), bytes: UnsafeRawBufferPointer(start: file.bytes, count: file.count))
        }
    }
}
