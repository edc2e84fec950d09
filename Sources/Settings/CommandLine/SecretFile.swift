import CLinux
import Feed

/// Reads small files that hold secrets, so that these need not stand on a command line that everybody can read.
enum SecretFile {
    /// The most a secret file may hold, in bytes.
    static let limit = 64 << 10

    /// The text of the file.
    ///
    /// Blocks: for the start of the program, not for the loop.
    /// - Throws: `UsageError` when the file cannot be read, is too large, or is not UTF-8.
    static func read(_ path: String) throws(UsageError) -> String {
        let descriptor = cw_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw fault(path, cw_errno()) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = CLinux.read(descriptor, &buffer, buffer.count)
            if count < 0 {
                if cw_errno() == EINTR { continue }
                throw fault(path, cw_errno())
            }
            if count == 0 { break }
            bytes += buffer[..<count]
            guard bytes.count <= limit else {
                throw UsageError("\(UsageError.quoted(path)) is larger than \(ByteSize.format(limit))")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("\(UsageError.quoted(path)) is not UTF-8 text")
        }
        return text
    }

    private static func fault(_ path: String, _ code: Int32) -> UsageError {
        UsageError("cannot read \(UsageError.quoted(path)): \(String(cString: strerror(code)))")
    }
}
