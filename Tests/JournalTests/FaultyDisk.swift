import CSQLite
import Glibc
import Synchronization

/// A disk that becomes full, below SQLite: for files in folders whose path has `mark` in it.
///
/// SQLite's own way to its files is the default one of this process from the first use on, with some calls looked at. One test
/// uses it at a time.
enum FaultyDisk {
    static let mark = "/faulty-disk/"

    /// By how many bytes all files together may still grow.
    static let room = Atomic<Int>(.max)
    /// How many of the calls that write or sync are to fail from now on.
    static let failures = Atomic<Int>(0)

    /// `SQLITE_IOERR_WRITE`, a macro of other macros.
    private static let failedWrite = SQLITE_IOERR | 3 << 8

    /// A file's calls, and those that they stand in for.
    private struct Methods {
        var ours: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
    }

    /// SQLite's own, which lives as long as the process.
    nonisolated(unsafe) private static let original = sqlite3_vfs_find(nil)
    /// Registered once.
    nonisolated(unsafe) private static let vfs: UnsafeMutablePointer<sqlite3_vfs>? = {
        guard let original else { return nil }
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: original.pointee)
        vfs.pointee.zName = UnsafePointer(strdup("faulty"))
        vfs.pointee.xOpen = { vfs, name, file, flags, outFlags in
            guard let original = FaultyDisk.original else { return SQLITE_ERROR }
            let code = original.pointee.xOpen(original, name, file, flags, outFlags)
            guard code == SQLITE_OK, let name, String(cString: name).contains(FaultyDisk.mark), let file,
                let methods = file.pointee.pMethods
            else { return code }
            // Stays: there are few.
            let wrapped = UnsafeMutablePointer<Methods>.allocate(capacity: 1)
            wrapped.initialize(to: Methods(ours: methods.pointee, original: methods))
            wrapped.pointee.ours.xWrite = FaultyDisk.write
            wrapped.pointee.ours.xSync = FaultyDisk.sync
            wrapped.pointee.ours.xFileControl = FaultyDisk.control
            file.pointee.pMethods = UnsafeRawPointer(wrapped).assumingMemoryBound(to: sqlite3_io_methods.self)
            return code
        }
        sqlite3_vfs_register(vfs, 1)
        return vfs
    }()

    static func install() { _ = vfs }

    private static func methods(of file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafePointer<sqlite3_io_methods>? {
        UnsafeRawPointer(file?.pointee.pMethods)?.assumingMemoryBound(to: Methods.self).pointee.original
    }

    /// Whether a file may become so long, which takes of the room then.
    private static func mayGrow(_ file: UnsafeMutablePointer<sqlite3_file>?, to end: sqlite3_int64) -> Bool {
        var size: sqlite3_int64 = 0
        _ = methods(of: file)?.pointee.xFileSize(file, &size)
        let growth = Int(end - size)
        guard growth > 0 else { return true }
        guard room.load(ordering: .relaxed) >= growth else { return false }
        room.subtract(growth, ordering: .relaxed)
        return true
    }

    private static var fails: Bool {
        guard failures.load(ordering: .relaxed) > 0 else { return false }
        failures.subtract(1, ordering: .relaxed)
        return true
    }

    private static let write:
        @convention(c) (UnsafeMutablePointer<sqlite3_file>?, UnsafeRawPointer?, Int32, sqlite3_int64) -> Int32 = {
            if FaultyDisk.fails { return FaultyDisk.failedWrite }
            guard FaultyDisk.mayGrow($0, to: $3 + sqlite3_int64($2)) else { return SQLITE_FULL }
            return FaultyDisk.methods(of: $0)?.pointee.xWrite($0, $1, $2, $3) ?? SQLITE_ERROR
        }

    private static let sync: @convention(c) (UnsafeMutablePointer<sqlite3_file>?, Int32) -> Int32 = {
        FaultyDisk.fails ? SQLITE_IOERR | 4 << 8 : FaultyDisk.methods(of: $0)?.pointee.xSync($0, $1) ?? SQLITE_ERROR
    }

    private static let control:
        @convention(c) (UnsafeMutablePointer<sqlite3_file>?, Int32, UnsafeMutableRawPointer?) -> Int32 = {
            if $1 == SQLITE_FCNTL_SIZE_HINT, let size = $2?.load(as: sqlite3_int64.self) {
                // It grows by a megabyte at once.
                guard FaultyDisk.mayGrow($0, to: (size + 0xFFFFF) & ~0xFFFFF) else { return FaultyDisk.failedWrite }
            }
            return FaultyDisk.methods(of: $0)?.pointee.xFileControl($0, $1, $2) ?? SQLITE_NOTFOUND
        }
}
