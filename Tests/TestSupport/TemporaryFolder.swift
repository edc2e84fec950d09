package import Glibc
package import Reactor

/// A folder of its own for a test, removed with the files in it when the owner goes.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws(SystemError) {
        var template = Array("/tmp/catwatch-tests-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(code: errno, call: "mkdtemp") }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }  // it is not empty
    }

    package func path(_ name: String) -> String { "\(path)/\(name)" }

    /// The names of what is in it, in order.
    package var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.filter { $0 != "." && $0 != ".." }.sorted()
    }

    package func write(_ text: String, to name: String) throws(SystemError) {
        let file = try Descriptor.open(path(name), flags: O_WRONLY | O_CREAT | O_TRUNC)
        _ = Glibc.write(file.number, text, text.utf8.count)
    }

    package func write(_ bytes: [UInt8], to name: String) throws(SystemError) {
        let file = try Descriptor.open(path(name), flags: O_WRONLY | O_CREAT | O_TRUNC)
        _ = Glibc.write(file.number, bytes, bytes.count)
    }

    package func read(_ name: String) throws(SystemError) -> [UInt8] {
        try Descriptor.open(path(name), flags: O_RDONLY).bytes(limit: .max) ?? []
    }

    /// The file's lines that are not empty.
    package func lines(_ name: String) throws(SystemError) -> [String] {
        String(decoding: try read(name), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// What lstat(2) says; nil when there is nothing.
    package func status(_ name: String) -> stat? {
        var status = stat()
        return lstat(path(name), &status) == 0 ? status : nil
    }

    deinit {
        for name in names { unlink(path(name)) }
        rmdir(path)
    }
}
