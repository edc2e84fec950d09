internal import Glibc

/// Who counts as one peer: an address of IPv4, or a network of IPv6, of whose addresses each machine has as many as it likes.
/// Whoever comes from this machine is nobody's peer.
struct HTTPPeer: Hashable {
    private let network: UInt64

    private init(_ network: some Sequence<UInt8>) { self.network = network.reduce(0) { $0 << 8 | UInt64($1) } }

    /// - Parameter address: what accept(2) says of a connection, as it lies in memory (`sockaddr_in`, `sockaddr_in6`).
    /// - Returns: nil for loopback, and for what has no address of IP.
    init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= 2 else { return nil }
        switch Int32(address.loadUnaligned(as: UInt16.self)) {
        case AF_INET where address.count >= 8: self.init(four: address[4..<8])
        case AF_INET6 where address.count >= 24:
            let bytes = address[8..<24]
            if bytes.dropLast(4).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) {
                // IPv4 at a socket of both.
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
        // No network of IPv6 has such a number: none begins with so many zeros.
        self.init(bytes)
    }
}
