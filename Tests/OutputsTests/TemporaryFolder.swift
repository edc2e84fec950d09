import Glibc
import Reactor

/// A folder of its own for a test, removed with the files in it when the owner goes.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws(SystemError) {
        var template = Array("/tmp/outputs-tests-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError(code: errno, call: "mkdtemp") }
        path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }  // it is not empty
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    /// The names of what is in it, in order.
    var names: [String] {
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

    func write(_ text: String, to name: String) throws(SystemError) {
        let file = try Descriptor.open(path(name), flags: O_WRONLY | O_CREAT | O_TRUNC)
        _ = Glibc.write(file.number, text, text.utf8.count)
    }

    func read(_ name: String) throws(SystemError) -> [UInt8] {
        let file = try Descriptor.open(path(name), flags: O_RDONLY)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file.number, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }

    /// What lstat(2) says; nil when there is nothing.
    func status(_ name: String) -> stat? {
        var status = stat()
        return lstat(path(name), &status) == 0 ? status : nil
    }

    deinit {
        for name in names { unlink(path(name)) }
        rmdir(path)
    }
}
