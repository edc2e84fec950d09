import Glibc
import Reactor
import TestSupport
import Testing

@testable import catwatch

@Suite(.limited) struct PortOwnerTests {
    @Test func isTheProcessThatListens() throws {
        let socket = try StreamSocket.listening(at: SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
        let port = try #require(try SocketAddress(of: socket).port)
        #expect(PortOwner.find(port) == getpid())
    }

    @Test func isReadFromTheKernelsTable() {
        let table = """
              sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
               0: 0100007F:08EF 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
               1: 0100007F:08EF 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0
               2: 00000000000000000000000001000000:08EF 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 13 1
               3: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0
               4: nonsense
            """
        #expect(PortOwner.inodes(listeningAt: 2287, in: table) == ["11", "13"])
        #expect(PortOwner.inodes(listeningAt: 1, in: table).isEmpty && PortOwner.inodes(listeningAt: 1, in: "").isEmpty)
    }
}
