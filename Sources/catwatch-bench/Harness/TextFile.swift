internal import Glibc
internal import Reactor

/// Reads and writes small files as a whole.
enum TextFile {
    /// The file's bytes; empty when it cannot be read.
    static func bytes(_ path: String) -> [UInt8] {
        guard let file = try? Descriptor.open(path, flags: O_RDONLY) else { return [] }
        return (try? file.bytes(limit: .max)) ?? []
    }

    /// The file's non-empty lines.
    static func lines(_ path: String) -> [Substring] {
        String(decoding: bytes(path), as: UTF8.self).split(separator: "\n")
    }

    /// The text after `key` and a colon, as in /proc/PID/status and /proc/cpuinfo.
    static func value(of key: String, in path: String) -> String? {
        for line in lines(path) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let name = line[..<colon].split(whereSeparator: \.isWhitespace).joined(separator: " ")
            guard name == key else { continue }
            return line[line.index(after: colon)...].split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        return nil
    }

    static func write(_ text: String, to path: String) throws(BenchError) {
        do {
            let file = try Descriptor.open(path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
            try Array(text.utf8).withUnsafeBytes { try Descriptor.write($0, to: file.number) }
        } catch {
            throw BenchError("\(error)")
        }
    }
}
