internal import Glibc

/// The client's identity for the limit per address: an IPv4 address, or an IPv6 network, because a machine may have any
/// number of its addresses. Clients on this machine are not counted.
struct HTTPPeer: Hashable {
    private let network: UInt64

    private init(_ network: some Sequence<UInt8>) { self.network = network.reduce(0) { $0 << 8 | UInt64($1) } }

    /// - Parameter address: the address from accept(2), as in memory (`sockaddr_in`, `sockaddr_in6`).
    /// - Returns: nil for loopback, and for an address other than IP.
    init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= 2 else { return nil }
        switch Int32(address.loadUnaligned(as: UInt16.self)) {
        case AF_INET where address.count >= 8: self.init(four: address[4..<8])
        case AF_INET6 where address.count >= 24:
            let bytes = address[8..<24]
            if bytes.dropLast(4).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) {
                // An IPv4 client of a dual-stack socket.
                self.init(four: bytes.suffix(4))
            } else {
                let isLoopback = bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
                if isLoopback { return nil }
                self.init(bytes.prefix(8))
            }
        default: return nil
        }
    }

    private init?(four bytes: Slice<UnsafeRawBufferPointer>) {
        if bytes.first == 127 { return nil }
        // Collides with no IPv6 network: none begins with so many zeros.
        self.init(bytes)
    }
}
