internal import Glibc
internal import Reactor

/// A socket that listens on a loopback port chosen by the system.
struct LoopbackSocket: ~Copyable {
    let descriptor: Descriptor
    let port: UInt16

    init() throws(SystemError) {
        let descriptor = try Self.make()
        let number = descriptor.number
        port = try Self.with(port: 0) { (address, length) throws(SystemError) in
            var length = length
            try systemCall("bind") { bind(number, address, length) }
            try systemCall("listen") { Glibc.listen(number, 64) }
            try systemCall("getsockname") { getsockname(number, address, &length) }
        }
        self.descriptor = descriptor
    }

    /// A blocking connection to such a port.
    static func connected(to port: UInt16) throws(SystemError) -> Descriptor {
        let descriptor = try make()
        let number = descriptor.number
        _ = try with(port: port) { (address, length) throws(SystemError) in
            try systemCall("connect") { connect(number, address, length) }
        }
        return descriptor
    }

    private static func make() throws(SystemError) -> Descriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        return Descriptor(owning: try systemCall("socket") { socket(AF_INET, type, 0) })
    }

    /// Calls `body` with the address of a port.
    ///
    /// - Returns: the port in the address afterwards.
    private static func with(
        port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws(SystemError) -> Void
    ) throws(SystemError) -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        try withUnsafeMutablePointer(to: &address) { (pointer) throws(SystemError) in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (generic) throws(SystemError) in
                try body(generic, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }
}
