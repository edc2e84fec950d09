import CLinux
internal import Glibc

/// Which file something is, whatever its name is by now.
package struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }

    /// What lies at `path`, a link being one itself.
    package init(at path: String) throws(SystemError) {
        var status = stat()
        try systemCall("lstat", on: path) { lstat(path, &status) }
        self.init(status)
    }

    /// What lies at `path`, in digits and for other processes to compare with: an inode's number is soon used again, so that it
    /// says when the file was made as well. Nil for nothing.
    package static func lasting(at path: String) -> String? {
        guard let file = try? FileIdentity(at: path) else { return nil }
        return "\(file.device) \(file.inode) \(cw_birth_time(path))"
    }
}
