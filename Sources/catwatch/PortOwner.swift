internal import Glibc
internal import Reactor

/// Finds the process that listens at a TCP port, among those whose descriptors we may read (proc(5)).
enum PortOwner {
    /// The process; nil when it is unknown.
    static func find(_ port: UInt16) -> Int32? {
        let sockets = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { inodes(listeningAt: port, in: text(of: $0)) }
        guard !sockets.isEmpty else { return nil }
        let links = Set(sockets.map { "socket:[\($0)]" })
        return names(in: "/proc").lazy.compactMap { Int32($0) }.first { process in
            names(in: "/proc/\(process)/fd").contains { name in
                target(of: "/proc/\(process)/fd/\(name)").map(links.contains) ?? false
            }
        }
    }

    /// The inodes of the sockets that listen at a port, from a table in the format of /proc/net/tcp.
    static func inodes(listeningAt port: UInt16, in table: String) -> [Substring] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let columns = line.split(separator: " ")
            // Local address and port in hexadecimal digits, the remote ones, the state (0A for listening), …
            guard columns.count > 9, columns[3] == "0A", let colon = columns[1].lastIndex(of: ":"),
                UInt16(columns[1][columns[1].index(after: colon)...], radix: 16) == port
            else { return nil }
            return columns[9]
        }
    }

    private static func text(of path: String) -> String {
        let bytes = try? Descriptor.open(path, flags: O_RDONLY).bytes(limit: 16 << 20)
        return bytes.flatMap { $0 }.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names
    }

    private static func target(of link: String) -> String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { bytes in
            guard let start = bytes.baseAddress else { return nil }
            let count = readlink(link, start, bytes.count)
            return count > 0 ? String(decoding: UnsafeRawBufferPointer(bytes)[..<count], as: UTF8.self) : nil
        }
    }
}
