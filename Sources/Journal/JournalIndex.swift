internal import Glibc
internal import Reactor

/// The index of a journal's log, `FILE-shm`, read as SQLite's "WAL-mode File Format" describes its first bytes.
enum JournalIndex {
    private static let length = 48

    /// Whether the index belongs to another log, to an earlier state of the log, or to a file with fewer pages. SQLite
    /// recreates such an index, but uses it if another process has it open.
    static func isStale(beside path: String) -> Bool {
        guard let index = bytes(path + "-shm", length), index[12] != 0 else { return false }
        func number(_ offset: Int) -> Int64 {
            index.withUnsafeBytes { Int64($0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
        }
        let page = index.withUnsafeBytes { Int64($0.loadUnaligned(fromByteOffset: 14, as: UInt16.self)) }
        let frames = number(16)
        let end = 32 + frames * (24 + (page == 1 ? 65_536 : page))
        var status = stat()
        let size = lstat(path + "-wal", &status) == 0 ? Int64(status.st_size) : 0
        // With an empty log, the page count in the file's header counts (0: unknown); the file itself may be longer.
        if frames == 0, number(20) != 0, let header = bytes(path, 96), header[24..<28] == header[92..<96],
            header[28..<32].reduce(0, { $0 << 8 | Int64($1) }) > number(20)
        {
            return true
        }
        if frames > 0, size < end { return true }
        // Both hold the log's salt, which changes whenever the log restarts.
        guard let log = bytes(path + "-wal", 32) else { return frames > 0 }
        if index[32..<40] != log[16..<24] { return true }
        // The log continues beyond the index: the index was made while the writer used one that was removed.
        return bytes(path + "-wal", 24, from: end).map { $0[8..<16] == log[16..<24] } ?? false
    }

    /// Marks the index as not initialised in the first of its two headers: whoever reads it next recreates it from the
    /// log, as after a writer that died while it changed the index.
    static func invalidate(beside path: String) {
        guard let file = try? Descriptor.open(path + "-shm", flags: O_WRONLY | O_NOFOLLOW | O_NONBLOCK) else { return }
        _ = pwrite(file.number, [0 as UInt8], 1, 12)
    }

    /// Returns bytes of a file; nil when it has fewer.
    private static func bytes(_ path: String, _ count: Int, from start: Int64 = 0) -> [UInt8]? {
        guard let file = try? Descriptor.open(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(file.number, &bytes, count, Int(start)) == count ? bytes : nil
    }
}
