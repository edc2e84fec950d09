import Glibc
import Reactor

/// What is in a folder. (readdir(3).)
package enum FolderListing {
    /// All names but those that begin with a dot.
    package static func names(in folder: String) throws -> [String] {
        guard let listing = opendir(folder) else { throw SystemError(code: errno, call: "opendir", subject: folder) }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
