internal import Glibc
internal import Reactor

/// Reads small files that hold secrets, which would be visible to everybody on a command line.
enum SecretFile {
    // A file with secrets: 64 KiB; wrong usage, exit 2.
    static let limit = 64 << 10

    /// How long to wait for a pipe's writer: signals and reloads have to wait meanwhile.
    private static let patience = Duration.seconds(5)

    /// Returns the text of the file, which may be a pipe.
    ///
    /// Blocks: for the start of the program, not for the event loop.
    /// - Throws: `UsageError` when the file cannot be read, is too large, or is not UTF-8.
    static func read(_ path: String, patience: Duration = patience) throws(UsageError) -> String {
        let bytes: [UInt8]?
        do throws(SystemError) {
            // Without O_NONBLOCK, opening a pipe would wait for its writer without end.
            bytes = try Descriptor.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
                .bytes(limit: limit, patience: Int32(patience.milliseconds))
        } catch {
            let reason = error.code == ETIMEDOUT ? "nothing came for \(patience.shortText)" : error.reason
            throw UsageError("cannot read \(UsageError.quoted(path)): \(reason)")
        }
        guard let bytes else {
            throw UsageError("\(UsageError.quoted(path)) is larger than \(ByteSize.format(limit))")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("\(UsageError.quoted(path)) is not UTF-8 text")
        }
        return text
    }
}
