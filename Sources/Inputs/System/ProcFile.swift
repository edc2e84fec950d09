internal import Glibc
internal import Reactor

/// Reads small files that the kernel generates (/proc, /sys): they never block and have no known size.
enum ProcFile {
    /// The most bytes that are read.
    private static let longest = 16_384

    /// The file's text; nil when it is unreadable, longer, or empty.
    static func text(_ path: String) -> String? {
        guard let file = try? Descriptor.open(path, flags: O_RDONLY),
            let bytes = try? file.bytes(limit: longest), !bytes.isEmpty
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The file's first line, trimmed; nil when there is none.
    static func line(_ path: String) -> String? {
        guard let first = text(path)?.split(whereSeparator: { $0.isNewline || $0 == "\0" }).first else { return nil }
        let words = first.split(separator: " ").joined(separator: " ")
        return words.isEmpty ? nil : words
    }

    /// The number, in bytes, behind `name:` in a file of lines like `VmHWM:   1234 kB` (proc(5)).
    static func kilobytes(_ name: String, in text: String) -> Int? {
        for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
            return line.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Int($0) }.map { $0 * 1_024 }
        }
        return nil
    }
}
