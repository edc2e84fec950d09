import CLinux
internal import Glibc

/// The identity of a file, independent of its name.
package struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// Identifies the file at `path`; does not follow a link.
    package init(at path: String) throws(SystemError) {
        var status = stat()
        try systemCall("lstat", on: path) { lstat(path, &status) }
        self.init(status)
    }

    /// Identifies the file at `path` in digits, for comparison by other processes: inode numbers are reused soon, so it
    /// includes the file's birth time. Nil when there is no file.
    package static func lasting(at path: String) -> String? {
        guard let file = try? FileIdentity(at: path) else { return nil }
        return "\(file.device) \(file.inode) \(cw_birth_time(path))"
    }
}
