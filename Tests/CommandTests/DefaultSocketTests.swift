import Glibc
import Outputs
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// Who may be behind the default socket. The folders of tests lie in /tmp, which everybody may write to.
@Suite(.limited) struct DefaultSocketTests {
    private static let other: UInt32 = 65_534

    /// A folder in a folder; `parent` is what the outer one lets others do.
    private static func withFolder(
        mode: UInt32 = 0o700, owner: UInt32 = geteuid(), _ body: (String) throws -> Void
    ) throws {
        let outer = try TemporaryFolder()
        let folder = outer.path("inner")
        mkdir(folder, 0o700)
        chmod(folder, mode)
        if owner != geteuid() { chown(folder, owner, owner) }
        defer { rmdir(folder) }
        try body(folder)
    }

    @Test func theCallersOwnAndPrivateOneIsTrustedBelowAnything() throws {
        try Self.withFolder { folder in
            #expect(DefaultSocket.doubt(about: folder) == nil)
            #expect(DefaultSocket.doubt(about: folder, peer: geteuid()) == nil)
            #expect(DefaultSocket.doubt(about: folder, peer: 0) == nil)
        }
    }

    @Test(arguments: [0o701, 0o710, 0o750, 0o755, 0o777, 0o1777] as [UInt32])
    func oneThatOthersMayEnterIsNotTrustedWhereOthersMayWrite(mode: UInt32) throws {
        try Self.withFolder(mode: mode) { folder in
            #expect(
                DefaultSocket.doubt(about: folder)
                    == "\(folder) is open to others, below /tmp, which others may write to")
        }
    }

    @Test func anotherUsersSocketInItIsNotTrusted() throws {
        // The folder was looked at after the socket was connected, and may have been another one before.
        try Self.withFolder { folder in
            #expect(DefaultSocket.doubt(about: folder, peer: Self.other)?.contains("a socket of user 65534") == true)
        }
    }

    @Test(.enabled(if: geteuid() == 0)) func anotherUsersIsNotTrusted() throws {
        try Self.withFolder(owner: Self.other) { folder in
            #expect(DefaultSocket.doubt(about: folder)?.contains("belongs to user 65534, below /tmp") == true)
            #expect(DefaultSocket.doubt(about: folder, peer: 0) != nil)
            // Nor root's, for a user: it is root who is free to serve where only root can.
            #expect(DefaultSocket.doubt(about: folder, caller: 1_234) != nil)
        }
        try Self.withFolder { folder in
            #expect(DefaultSocket.doubt(about: folder, caller: Self.other)?.contains("belongs to root") == true)
        }
    }

    @Test func aLinkIsNotFollowedWhereOthersMayWrite() throws {
        try Self.withFolder { folder in
            let link = "\(folder)-link"
            symlink(folder, link)
            defer { unlink(link) }
            #expect(DefaultSocket.doubt(about: link) == "\(link) is not a folder")
        }
    }

    /// Below what root alone may write to, whoever has the folder was given it by root: as the shipped unit's user, who comes
    /// and goes.
    @Test(.enabled(if: geteuid() == 0)) func belowRootsFoldersTheOwnerIsTrusted() throws {
        let base = "/run/catwatch-tests-\(getpid())-\(UInt32.random(in: 0...(.max)))"
        let (folder, link) = ("\(base)/private", "\(base)/link")
        mkdir(base, 0o755)
        mkdir(folder, 0o755)
        chown(folder, Self.other, Self.other)
        symlink(folder, link)
        defer {
            unlink(link)
            rmdir(folder)
            rmdir(base)
        }
        for caller in [0, 1_234, Self.other] as [UInt32] {
            #expect(DefaultSocket.doubt(about: folder, peer: Self.other, caller: caller) == nil)
            #expect(DefaultSocket.doubt(about: link, peer: Self.other, caller: caller) == nil)
        }
        // Not where the folder itself is anybody's, nor below what is.
        chmod(folder, 0o775)
        #expect(DefaultSocket.doubt(about: folder) == "others may write to \(folder)")
        chmod(folder, 0o757)
        #expect(DefaultSocket.doubt(about: link) == "others may write to \(folder)")
        chmod(folder, 0o755)
        for mode in [0o775, 0o757, 0o1777] as [UInt32] {
            chmod(base, mode)
            #expect(
                DefaultSocket.doubt(about: folder)
                    == "\(folder) belongs to user 65534, below \(base), which others may write to")
            #expect(DefaultSocket.doubt(about: link) == "\(link) is not a folder")
        }
        chmod(base, 0o755)
        chown(base, 1_234, 0)
        #expect(DefaultSocket.doubt(about: folder, caller: 1_234) == nil)
        #expect(DefaultSocket.doubt(about: folder, caller: 1_235)?.contains("below \(base)") == true)
    }

    /// Behind a slash, lstat(2) looks at what a link leads to.
    @Test(arguments: ["", "/", "//", "/.", "/./"]) func aLinkIsNoneTheLessOneBehindSlashes(end: String) throws {
        try Self.withFolder { folder in
            let link = "\(folder)-link"
            symlink(folder, link)
            defer { unlink(link) }
            let path = DefaultSocket.path(environment: ["XDG_RUNTIME_DIR": link + end])
            #expect(path == "\(link)/catwatch.sock")
            #expect(throws: SocketFile.Refusal.self) { try DefaultSocket.prepareFolder(of: path) }
        }
        #expect(DefaultSocket.path(environment: ["XDG_RUNTIME_DIR": "/"]) == "/catwatch.sock")
        #expect(DefaultSocket.path(environment: ["XDG_RUNTIME_DIR": "/a.b"]) == "/a.b/catwatch.sock")
    }

    @Test func aPeerOfWhomTheKernelDoesNotSayWhoItIsIsNotTrusted() throws {
        try Self.withFolder { folder in
            let path = "\(folder)/catwatch.sock"
            let socket = try StreamSocket.bound(to: path)
            defer { unlink(path) }
            try StreamSocket.listen(socket)
            let refusal = #expect(throws: SocketFile.Refusal.self) {
                _ = try DefaultSocket.connected(to: path) { _ in nil }
            }
            #expect(refusal?.description.contains("has a socket of an unknown user, below /tmp") == true)
        }
    }

    @Test func connectsAndSaysTheWayOut() throws {
        try Self.withFolder { folder in
            let path = "\(folder)/catwatch.sock"
            #expect(throws: SystemError.self) { _ = try DefaultSocket.connected(to: path) }
            let socket = try StreamSocket.bound(to: path)
            defer { unlink(path) }
            try StreamSocket.listen(socket)
            _ = try DefaultSocket.connected(to: path)
            try DefaultSocket.prepareFolder(of: path)
            chmod(folder, 0o755)
            let refusal = #expect(throws: SocketFile.Refusal.self) { _ = try DefaultSocket.connected(to: path) }
            #expect(refusal?.description.hasSuffix("; say --attach=\(path) if that is meant") == true)
            // What nobody would attach to is not served either.
            #expect(throws: SocketFile.Refusal.self) { try DefaultSocket.prepareFolder(of: path) }
        }
    }
}
