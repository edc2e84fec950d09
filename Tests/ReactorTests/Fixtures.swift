import CLinux
import Glibc
import Reactor

enum PseudoTerminal {
    /// The screen's side and the program's side of a new terminal, which the caller closes.
    static func open(nonblocking: Bool) throws(SystemError) -> (screen: Int32, terminal: Int32) {
        var screen: Int32 = -1
        var terminal: Int32 = -1
        try systemCall("openpty") { openpty(&screen, &terminal, nil, nil, nil) }
        // Bytes as they are: no echo, no line ends made two of, but still lines to read.
        var settings = termios()
        tcgetattr(terminal, &settings)
        settings.c_lflag &= ~tcflag_t(ECHO)
        settings.c_oflag &= ~tcflag_t(OPOST)
        tcsetattr(terminal, TCSANOW, &settings)
        if nonblocking {
            for number in [screen, terminal] { _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) }
        }
        return (screen, terminal)
    }
}

/// A Unix socket that listens at a path, or is connected to one; blocking, as it comes.
enum UnixSocket {
    static func listen(at path: String, backlog: Int32 = 512) throws(SystemError) -> Descriptor {
        let socket = try make()
        try withAddress(path) { address, length throws(SystemError) in
            try systemCall("bind") { bind(socket.number, address, length) }
        }
        try systemCall("listen") { Glibc.listen(socket.number, backlog) }
        return socket
    }

    static func connect(to path: String) throws(SystemError) -> Descriptor {
        let socket = try make()
        try withAddress(path) { address, length throws(SystemError) in
            try systemCall("connect") { Glibc.connect(socket.number, address, length) }
        }
        return socket
    }

    private static func make() throws(SystemError) -> Descriptor {
        Descriptor(owning: try systemCall("socket") { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) })
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Void
    ) throws(SystemError) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        precondition(bytes.count < MemoryLayout.size(ofValue: address.sun_path), "the path is too long")
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        try withUnsafePointer(to: &address) { (pointer) throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (generic) throws(SystemError) in
                try body(generic, length)
            }
        }
    }
}
