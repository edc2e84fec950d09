internal import Glibc
internal import Reactor

/// The index of a journal's log, `FILE-shm`, by what SQLite's "WAL-mode File Format" says of its first bytes.
enum JournalIndex {
    private static let length = 48

    /// Whether the index is of another log than the one beside it, of an earlier state of it, or of a file with fewer pages:
    /// SQLite makes it anew, unless somebody has it open, and then goes by it.
    static func isStale(beside path: String) -> Bool {
        guard let index = bytes(path + "-shm", length), index[12] != 0 else { return false }
        func number(_ place: Int) -> Int64 {
            index.withUnsafeBytes { Int64($0.loadUnaligned(fromByteOffset: place, as: UInt32.self)) }
        }
        let page = index.withUnsafeBytes { Int64($0.loadUnaligned(fromByteOffset: 14, as: UInt16.self)) }
        let frames = number(16)
        let end = 32 + frames * (24 + (page == 1 ? 65_536 : page))
        var status = stat()
        let size = lstat(path + "-wal", &status) == 0 ? Int64(status.st_size) : 0
        // What the file's header says holds when the log has nothing, and a file may be longer; a zero is not known.
        if frames == 0, number(20) != 0, let header = bytes(path, 96), header[24..<28] == header[92..<96],
            header[28..<32].reduce(0, { $0 << 8 | Int64($1) }) > number(20)
        {
            return true
        }
        if frames > 0, size < end { return true }
        // Both have the log's salt, which is another one each time that it begins anew.
        guard let log = bytes(path + "-wal", 32) else { return frames > 0 }
        if index[32..<40] != log[16..<24] { return true }
        // Somebody made it while the writer had one that was removed: the log has gone on.
        return bytes(path + "-wal", 24, from: end).map { $0[8..<16] == log[16..<24] } ?? false
    }

    /// Bytes of a file; nil when it has fewer.
    private static func bytes(_ path: String, _ count: Int, from start: Int64 = 0) -> [UInt8]? {
        guard let file = try? Descriptor.open(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(file.number, &bytes, count, Int(start)) == count ? bytes : nil
    }
}
