import CLinux
internal import Glibc

/// An address that a stream socket can be connected to.
package struct SocketAddress: Sendable {
    private let storage: sockaddr_storage
    private let length: socklen_t

    /// Resolves a host name or a numeric address; blocks, so call it on a loop for blocking work. (getaddrinfo(3).)
    ///
    /// - Parameter isNumeric: whether only a numeric address is accepted, which needs no name server and does not
    ///   block.
    /// - Throws: `SystemError` with getaddrinfo's message.
    package static func resolve(
        host: String, port: UInt16, isNumeric: Bool = false
    ) throws(SystemError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | (isNumeric ? AI_NUMERICHOST : 0)
        var list: UnsafeMutablePointer<addrinfo>?
        let answer = getaddrinfo(host, "\(port)", &hints, &list)
        guard answer == 0 else { throw SystemError(resolving: host, answer: answer) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let found = entry {
            if let address = found.pointee.ai_addr {
                var storage = sockaddr_storage()
                let length = min(Int(found.pointee.ai_addrlen), MemoryLayout<sockaddr_storage>.size)
                withUnsafeMutableBytes(of: &storage) {
                    $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: length))
                }
                addresses.append(SocketAddress(storage: storage, length: socklen_t(length)))
            }
            entry = found.pointee.ai_next
        }
        return addresses
    }

    /// The address that a socket is bound to.
    package init(of socket: borrowing Descriptor) throws(SystemError) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let number = socket.number
        try withUnsafeMutablePointer(to: &storage) { pointer throws(SystemError) in
            _ = try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(SystemError) in
                try systemCall("getsockname") { getsockname(number, address, &length) }
            }
        }
        self.init(storage: storage, length: length)
    }

    private init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    /// The port, in host byte order; nil when the address has none.
    package var port: UInt16? {
        withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET: UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
            case AF_INET6: UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
            default: nil
            }
        }
    }

    /// Whether only this machine can reach it: 127.0.0.0/8, ::1, or a Unix socket.
    package var isLoopback: Bool {
        withUnsafeBytes(of: storage) { bytes in
            switch Int32(storage.ss_family) {
            case AF_INET: return UInt32(bigEndian: bytes.load(as: sockaddr_in.self).sin_addr.s_addr) >> 24 == 127
            case AF_INET6:
                var address = bytes.load(as: sockaddr_in6.self).sin6_addr
                return withUnsafeBytes(of: &address) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
            default: return isLocal
            }
        }
    }

    /// The numeric address in its usual form; nil for an address without a network. (getnameinfo(3).)
    package var host: String? {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let answer = withAddress { getnameinfo($0, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) }
        guard answer == 0, !isLocal else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
        withUnsafePointer(to: storage) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }

    /// Whether it is the address of a Unix socket, which file permissions protect.
    package var isLocal: Bool { Int32(storage.ss_family) == AF_UNIX }

    /// Returns a new socket bound to the address, even if connections of an earlier one are still closing.
    fileprivate func bound() throws(SystemError) -> Descriptor {
        let family = Int32(storage.ss_family)
        let socket = Descriptor(owning: try systemCall("socket") { cw_stream_socket(family) })
        let number = socket.number
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        try systemCall("setsockopt") { setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, size) }
        if family == AF_INET6 {
            try systemCall("setsockopt") { setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
        }
        try systemCall("bind") { withAddress { bind(number, $0, length) } }
        return socket
    }

    /// Starts to connect a new socket; when it becomes writable, it is connected or has failed.
    fileprivate func beginConnecting() throws(SystemError) -> Descriptor {
        let family = Int32(storage.ss_family)
        let socket = Descriptor(owning: try systemCall("socket") { cw_stream_socket(family) })
        let number = socket.number
        let answer = withAddress { connect(number, $0, length) }
        if answer != 0, cw_errno() != EINPROGRESS, cw_errno() != EINTR {
            throw SystemError(code: cw_errno(), call: "connect")
        }
        return socket
    }
}

extension StreamSocket {
    /// A TCP socket that listens at an address; with an IPv6 address it accepts IPv6 connections only, even at `::`.
    ///
    /// - Throws: `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES` and other errors of bind(2).
    package static func listening(at address: SocketAddress) throws(SystemError) -> Descriptor {
        let socket = try address.bound()
        try listen(socket)
        return socket
    }

    /// Connects to the first address that answers by TCP; each is tried for at most `timeout`.
    ///
    /// - Throws: `SystemError` of the last address tried, or `CancellationError`.
    package static func connected(
        to addresses: [SocketAddress], on loop: EventLoop, timeout: Duration = .seconds(10)
    ) async throws -> DescriptorStream {
        var failure = SystemError(code: EADDRNOTAVAIL, call: "connect")
        for address in addresses {
            do {
                let socket = try address.beginConnecting()
                let number = socket.number
                let stream = try DescriptorStream(owning: socket, on: loop)
                do {
                    try await wait(for: stream, number, on: loop, timeout)
                    return stream
                } catch {
                    stream.close()
                    throw error
                }
            } catch let error as SystemError {
                failure = error
            }
        }
        throw failure
    }

    private static func wait(
        for stream: DescriptorStream, _ number: Int32, on loop: EventLoop, _ timeout: Duration
    ) async throws {
        let deadline = loop.clock.now.advanced(by: timeout)
        let timer = loop.schedule(at: deadline) { stream.close() }
        defer { loop.cancel(timer) }
        while true {
            var peer = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            if loop.clock.now >= deadline { throw SystemError(code: ETIMEDOUT, call: "connect") }
            let isConnected = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(number, $0, &length) == 0 }
            }
            if isConnected { return }
            var error: Int32 = 0
            length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length)
            if error != 0 { throw SystemError(code: error, call: "connect") }
            try await stream.waitUntilWritable()
        }
    }
}
