internal import Glibc
internal import Reactor

/// Reads and writes small files whole.
enum TextFile {
    /// The file's bytes; empty when it cannot be read.
    static func bytes(_ path: String) -> [UInt8] {
        guard let file = try? Descriptor.open(path, flags: O_RDONLY) else { return [] }
        let number = file.number
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(number, &buffer, buffer.count), count > 0 { content += buffer[..<count] }
        return content
    }

    /// The file's lines that are not empty.
    static func lines(_ path: String) -> [Substring] {
        String(decoding: bytes(path), as: UTF8.self).split(separator: "\n")
    }

    /// What stands behind `key` and a colon, as in /proc/PID/status and /proc/cpuinfo.
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
            let number = file.number
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let piece = rest
                let count = try systemCall("write", on: path) {
                    piece.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
                }
                rest = rest.dropFirst(count)
            }
        } catch {
            throw BenchError("\(error)")
        }
    }
}
