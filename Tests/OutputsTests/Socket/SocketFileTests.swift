import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Outputs
@testable import Reactor

/// Real sockets in a folder of the test's own.
@Suite(.limited) struct SocketFileTests {
    /// A claimed path with its listening socket.
    private final class Claim {
        private var file: SocketFile?
        private var socket: Descriptor?

        init(_ path: String, mode: UInt32 = 0o600) throws(SocketFile.Refusal) {
            file = try SocketFile.claim(path, mode: mode) { (socket: consuming Descriptor) in
                self.socket = consume socket
            }
        }

        func change(mode: UInt32) throws(SystemError) { try file?.change(mode: mode) }

        func remove() {
            socket = nil
            file.take()?.remove()
        }

        /// Leaves everything as a process does that is killed: descriptors closed, files there.
        func abandon() {
            socket = nil
            file = nil
        }
    }

    private static func refusal(_ path: String) throws -> String {
        try #require(throws: SocketFile.Refusal.self) { _ = try Claim(path) }.description
    }

    /// The umask that tests run under takes bits from 0660 and 0666, so that these show that it does not count.
    @Test(arguments: [0o600, 0o620, 0o660, 0o666, 0o000] as [UInt32])
    func hasTheModeAskedForWhateverTheUmask(mode: UInt32) throws {
        let folder = try TemporaryFolder()
        let claim = try Claim(folder.path("s"), mode: mode)
        #expect(folder.status("s").map { $0.st_mode & 0o7777 } == mode)
        #expect(folder.status("s").map { $0.st_mode & S_IFMT } == S_IFSOCK)
        #expect(folder.status("s.lock").map { $0.st_mode & 0o077 } == 0)
        claim.remove()
        #expect(folder.names.isEmpty)
    }

    @Test func isPrivateBeforeItCanBeReached() throws {
        // Bound, and not listening yet: its permissions are there already, and nobody gets in.
        let folder = try TemporaryFolder()
        let socket = try StreamSocket.bound(to: folder.path("s"), mode: 0o600)
        #expect(folder.status("s").map { $0.st_mode & 0o777 } == 0o600)
        let refused = #expect(throws: SystemError.self) { _ = try StreamSocket.connected(to: folder.path("s")) }
        #expect(refused?.code == ECONNREFUSED)
        try StreamSocket.listen(socket)
        _ = try StreamSocket.connected(to: folder.path("s"))
    }

    /// In a folder that others may write to, what lies at the path may be another one when its mode is set.
    @Test(arguments: ["link", "file", "socket", "nothing"])
    func setsTheModeOfItsOwnFileOnly(swapped: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("precious", to: "victim")
        chmod(folder.path("victim"), 0o600)
        var other: Descriptor?
        let path = folder.path("s")
        let socket = try StreamSocket.bind(to: path, mode: 0o666)
        rename(path, folder.path("moved"))
        switch swapped {
        case "link": symlink(folder.path("victim"), path)
        case "file": link(folder.path("victim"), path)
        case "socket":
            guard geteuid() == 0 else { return }  // only root can give one away
            other = try StreamSocket.bound(to: folder.path("other"), mode: 0o600)
            chown(folder.path("other"), 65_534, 65_534)
            rename(folder.path("other"), path)
        default: break
        }
        #expect(throws: SystemError.self) { _ = try StreamSocket.file(at: path) }
        // What is not its own is not removed either.
        let inode = folder.status("s")?.st_ino
        StreamSocket.removeOwn(path)
        #expect(folder.status("s")?.st_ino == inode)
        StreamSocket.removeOwn(folder.path("moved"))
        #expect(folder.status("moved") == nil)
        _ = (other?.number, socket.number)
    }

    /// A reload's other mode, while somebody swaps what lies at the path.
    @Test func anotherModeIsThatOfItsOwnFileOnly() throws {
        let folder = try TemporaryFolder()
        let claim = try Claim(folder.path("s"))
        let file = try StreamSocket.file(at: folder.path("s"))
        rename(folder.path("s"), folder.path("moved"))
        try folder.write("precious", to: "s")
        chmod(folder.path("s"), 0o600)
        try StreamSocket.setMode(0o660, of: file)
        #expect(folder.status("s").map { $0.st_mode & 0o777 } == 0o600)
        #expect(folder.status("moved").map { $0.st_mode & 0o777 } == 0o660)
        // What it does not find any more is left alone, and told.
        #expect(throws: SystemError.self) { try claim.change(mode: 0o666) }
        unlink(folder.path("s"))
        let other = try StreamSocket.bound(to: folder.path("s"), mode: 0o600)
        #expect(throws: SystemError.self) { try claim.change(mode: 0o666) }
        #expect(folder.status("s").map { $0.st_mode & 0o777 } == 0o600)
        _ = other.number
        claim.remove()
        #expect(folder.names == ["moved", "s"])
    }

    /// Files of two systems may have one number; only root may mount one.
    @Test(.enabled(if: geteuid() == 0)) func aSocketOfTheSameNumberElsewhereIsAnother() throws {
        let folder = try TemporaryFolder()
        func mountOne() -> Bool { mount("tmpfs", folder.path, "tmpfs", 0, "size=64k") == 0 }
        guard mountOne() else { return }
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        let claim = try Claim(folder.path("s"))
        let number = folder.status("s")?.st_ino
        guard mountOne() else { return }
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        let other = try Claim(folder.path("s"))
        try #require(folder.status("s")?.st_ino == number)
        #expect(throws: SystemError.self) { try claim.change(mode: 0o666) }
        #expect(folder.status("s").map { $0.st_mode & 0o777 } == 0o600)
        claim.remove()
        #expect(folder.names == ["s", "s.lock"])
        other.remove()
    }

    /// A file system that is read-only, or that has no room for one more file; only root may mount one.
    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [(UInt(MS_RDONLY), "size=64k", "Read-only"), (0, "nr_inodes=1", "No space left")])
    func aFileSystemWithoutRoomForASocketIsNamed(flags: UInt, options: String, words: String) throws {
        let folder = try TemporaryFolder()
        guard mount("tmpfs", folder.path, "tmpfs", flags, options) == 0 else { return }
        defer { umount2(folder.path, Int32(MNT_DETACH)) }
        #expect(try Self.refusal(folder.path("s")).contains(words))
    }

    @Test func aStaleSocketIsReplaced() throws {
        let folder = try TemporaryFolder()
        try Claim(folder.path("s")).abandon()
        #expect(folder.names == ["s", "s.lock"])
        let claim = try Claim(folder.path("s"))
        _ = try StreamSocket.connected(to: folder.path("s"))
        #expect(try folder.read("s.lock") == Array("\(getpid())\n".utf8))
        claim.remove()
        #expect(folder.names.isEmpty)
    }

    @Test func aLiveOneIsRefusedWithItsProcess() throws {
        let folder = try TemporaryFolder()
        let claim = try Claim(folder.path("s"))
        let said = try Self.refusal(folder.path("s"))
        #expect(said.contains("another catwatch") && said.contains("(process \(getpid()))"))
        _ = try StreamSocket.connected(to: folder.path("s"))
        claim.remove()
    }

    @Test func anotherProgramsLiveSocketIsRefused() throws {
        let folder = try TemporaryFolder()
        let other = try StreamSocket.bound(to: folder.path("s"))
        try StreamSocket.listen(other)
        let said = try Self.refusal(folder.path("s"))
        #expect(said.contains("another program") && said.contains("(process \(getpid()))"))
        #expect(folder.names == ["s"])
        _ = other.number
    }

    @Test func anotherProgramsSocketIsRefusedAlsoWhenManyWaitForIt() throws {
        let folder = try TemporaryFolder()
        let other = try StreamSocket.bound(to: folder.path("s"))
        #expect(listen(other.number, 1) == 0)
        var waiting: [Int32] = []
        defer { for number in waiting { close(number) } }
        let full = #expect(throws: SystemError.self) {
            while waiting.count < 100 { waiting.append(try StreamSocket.connected(to: folder.path("s")).release()) }
        }
        #expect(full?.code == EAGAIN)
        #expect(try Self.refusal(folder.path("s")).contains("many wait for that one"))
        #expect(folder.names == ["s"])
        _ = other.number
    }

    @Test func whatIsNoSocketIsNeverRemoved() throws {
        let folder = try TemporaryFolder()
        try folder.write("precious", to: "file")
        mkfifo(folder.path("pipe"), 0o600)
        symlink("/nowhere", folder.path("dangling"))
        symlink(folder.path("target"), folder.path("link"))
        try Claim(folder.path("target")).abandon()
        let names = folder.names
        for name in ["file", "pipe", "dangling", "link"] {
            let inode = folder.status(name)?.st_ino
            #expect(try Self.refusal(folder.path(name)).contains("is not a socket"))
            #expect(folder.status(name)?.st_ino == inode, "\(name)")
        }
        #expect(try Self.refusal(folder.path).contains("is not a socket"))
        unlink(folder.path + ".lock")
        #expect(folder.names == names)
        #expect(try folder.read("file") == Array("precious".utf8))
    }

    @Test(arguments: ["notes\n", "123456789012345678\n", "12a\n"])
    func aFileThatOnlyLooksLikeALockIsLeftAlone(content: String) throws {
        let folder = try TemporaryFolder()
        try folder.write(content, to: "s.lock")
        #expect(try Self.refusal(folder.path("s")).contains("is not a lock"))
        #expect(try folder.read("s.lock") == Array(content.utf8))
        #expect(folder.names == ["s.lock"])
    }

    @Test func aLockThatIsALinkIsNotFollowed() throws {
        let folder = try TemporaryFolder()
        try folder.write("precious", to: "file")
        symlink(folder.path("file"), folder.path("s.lock"))
        _ = try Self.refusal(folder.path("s"))
        #expect(try folder.read("file") == Array("precious".utf8))
    }

    @Test func aFolderThatIsReachedByALinkWillDo() throws {
        let folder = try TemporaryFolder()
        let link = "\(folder.path)-link"
        symlink(folder.path, link)
        defer { unlink(link) }
        let claim = try Claim("\(link)/s")
        #expect(folder.names == ["s", "s.lock"])
        claim.remove()
        #expect(folder.names.isEmpty)
    }

    @Test func longPathsAreRefusedInWords() throws {
        let folder = try TemporaryFolder()
        let room = 107 - folder.path.utf8.count - 1
        let claim = try Claim(folder.path(String(repeating: "a", count: room)))
        claim.remove()
        let said = try Self.refusal(folder.path(String(repeating: "a", count: room + 1)))
        #expect(said.contains("108 bytes") && said.contains("107"))
        #expect(folder.names.isEmpty)
    }

    @Test func aMissingFolderIsSaid() throws {
        let folder = try TemporaryFolder()
        #expect(try Self.refusal(folder.path("no/s")).contains("No such file or directory"))
        #expect(try Self.refusal("/proc/s").contains("/proc/s.lock: "))
    }

    @Test func removesOnlyWhatIsStillItsOwn() throws {
        let folder = try TemporaryFolder()
        let claim = try Claim(folder.path("s"))
        unlink(folder.path("s"))
        try folder.write("somebody else's", to: "s")
        claim.remove()
        #expect(folder.names == ["s"])
    }

    @Test func ofManyAtOnceExactlyOneWins() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("s")
        for round in 0..<100 {
            if round % 2 == 1 { try Claim(path).abandon() }  // over a stale one as well
            let race = Race(path)
            var threads = [pthread_t](repeating: pthread_t(), count: 4)
            for index in threads.indices {
                let context = Unmanaged.passRetained(race).toOpaque()
                let code = pthread_create(&threads[index], nil, Race.main, context)
                try #require(code == 0)
            }
            for thread in threads { pthread_join(thread, nil) }
            #expect(race.winners.load(ordering: .relaxed) == 1, "round \(round)")
            #expect(folder.names.isEmpty, "round \(round)")
        }
    }

    /// Four threads that want one path at the same moment; a lock of one descriptor keeps those of the others out.
    private final class Race: Sendable {
        private let path: String
        private let ready = Atomic<Int>(0)
        private let done = Atomic<Int>(0)
        let winners = Atomic<Int>(0)

        init(_ path: String) { self.path = path }

        private func run() {
            ready.add(1, ordering: .sequentiallyConsistent)
            while ready.load(ordering: .sequentiallyConsistent) < 4 { sched_yield() }
            do throws(SocketFile.Refusal) {
                let claim = try Claim(path)
                winners.add(1, ordering: .relaxed)
                done.add(1, ordering: .sequentiallyConsistent)
                // Held until everybody has tried.
                while done.load(ordering: .sequentiallyConsistent) < 4 { usleep(100) }
                claim.remove()
            } catch {
                done.add(1, ordering: .sequentiallyConsistent)
            }
        }

        static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            if let context { Unmanaged<Race>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }
    }

    @Test func aLockThatWentBetweenOpeningAndLockingItGuardsNothing() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("s.lock")
        let opened = try LockFile.open(path)
        // Its owner ends, and has it removed.
        unlink(path)
        #expect(try LockFile.lock(opened, at: path) == nil)
        #expect(folder.names == [])
        let lock = try LockFile.acquire(path)
        #expect(try Self.refusal(folder.path("s")).contains("another catwatch"))
        lock.remove()
        #expect(folder.names == [])
    }

    @Test func claimsAndRemovesInTurnLoseNothing() throws {
        // One goes while the next comes: the lock that is removed under the other's hand guards nothing.
        let folder = try TemporaryFolder()
        let path = folder.path("s")
        let overlaps = Overlap()
        var threads = [pthread_t](repeating: pthread_t(), count: 3)
        for index in threads.indices {
            let context = Unmanaged.passRetained(Turn(path, overlaps)).toOpaque()
            try #require(pthread_create(&threads[index], nil, Turn.main, context) == 0)
        }
        for thread in threads { pthread_join(thread, nil) }
        #expect(overlaps.most.load(ordering: .relaxed) == 1)
        #expect(folder.names.isEmpty)
    }

    private final class Overlap: Sendable {
        let holders = Atomic<Int>(0)
        let most = Atomic<Int>(0)
    }

    private final class Turn: Sendable {
        private let path: String
        private let overlap: Overlap

        init(_ path: String, _ overlap: Overlap) {
            self.path = path
            self.overlap = overlap
        }

        private func run() {
            for _ in 0..<50 {
                guard let claim = try? Claim(path) else { continue }
                let holders = overlap.holders.add(1, ordering: .sequentiallyConsistent).newValue
                overlap.most.max(holders, ordering: .relaxed)
                sched_yield()
                overlap.holders.subtract(1, ordering: .sequentiallyConsistent)
                claim.remove()
            }
        }

        static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
            if let context { Unmanaged<Turn>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }
    }
}
