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
}
