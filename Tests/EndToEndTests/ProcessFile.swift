import CLinux
import Glibc
import Reactor
import TestSupport

/// What the system says about a process. (proc(5).)
enum ProcessFile {
    static func text(_ name: String, of process: Int32) throws -> String {
        let descriptor = try Descriptor.open("/proc/\(process)/\(name)", flags: O_RDONLY)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = try systemCall("read") { read(descriptor.number, &buffer, buffer.count) }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }

    /// A figure of /proc/PID/status.
    static func kilobytes(_ name: String, of process: Int32) throws -> Int {
        for line in try text("status", of: process).split(separator: "\n") where line.hasPrefix("\(name):") {
            if let number = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) {
                return number
            }
        }
        throw SystemError(code: ENOENT, call: "read", subject: "/proc/\(process)/status: \(name)")
    }

    /// The names in one of the process's folders.
    static func names(in folder: String, of process: Int32) throws -> [String] {
        try FolderListing.names(in: "/proc/\(process)/\(folder)")
    }
}

/// A pipe that is full already and that nobody reads.
struct UnreadPipe: ~Copyable {
    private let pipe: Pipe
    var writer: Int32 { pipe.write.number }

    init() throws {
        pipe = try Descriptor.pipe()
        let block = [UInt8](repeating: 0x20, count: 4_096)
        while write(pipe.write.number, block, block.count) > 0 {}
        // As a program gets it from a shell.
        _ = cw_set_status_flags(pipe.write.number, O_WRONLY)
    }
}
