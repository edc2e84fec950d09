import Glibc
import TestSupport
import Testing

@testable import HTTPServer

/// Who counts as one peer.
@Suite(.limited) struct HTTPPeerTests {
    private static func peer(_ text: String) throws -> HTTPPeer? {
        let isFour = !text.contains(":")
        var bytes = [UInt8](repeating: 0, count: isFour ? 16 : 28)
        bytes[0] = UInt8(isFour ? AF_INET : AF_INET6)
        (bytes[2], bytes[3]) = (UInt8.random(in: 0...255), UInt8.random(in: 0...255))  // a port, which does not matter
        let isAddress = bytes.withUnsafeMutableBytes {
            inet_pton(isFour ? AF_INET : AF_INET6, text, $0.baseAddress.map { $0 + (isFour ? 4 : 8) }) == 1
        }
        try #require(isAddress)
        return bytes.withUnsafeBytes { HTTPPeer($0) }
    }

    @Test(arguments: ["127.0.0.1", "127.255.1.2", "::1", "::ffff:127.0.0.1"])
    func whoeverIsOnThisMachineIsNobodysPeer(address: String) throws { #expect(try Self.peer(address) == nil) }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("192.0.2.1", "::ffff:192.0.2.1"), ("2001:db8::1", "2001:db8::ffff:1:2:3"),
    ])
    func theseAreOne(first: String, second: String) throws {
        #expect(try Self.peer(first) != nil)
        #expect(try Self.peer(first) == Self.peer(second))
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.2"), ("192.0.2.1", "191.0.2.1"), ("2001:db8::1", "2001:db8:0:1::1"), ("::2", "::1"),
        ("128.0.0.1", "127.0.0.1"),
    ])
    func theseAreTwo(first: String, second: String) throws {
        #expect(try Self.peer(first) != nil)
        #expect(try Self.peer(first) != Self.peer(second))
    }

    @Test func whatHasNoAddressIsNone() {
        for bytes in [[], [0], [UInt8(AF_UNIX), 0], [UInt8(AF_INET), 0, 0, 0, 1]] as [[UInt8]] {
            #expect(bytes.withUnsafeBytes { HTTPPeer($0) } == nil)
        }
    }
}
