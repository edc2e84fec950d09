import Glibc
import Reactor
import TestSupport
import Testing

/// `DescriptorStream.standard`: it never blocks, and whoever shares the descriptor sees nothing of that.
@Suite(.limited) struct StandardStreamTests {
    enum Kind: CaseIterable {
        case pipe, terminal, socket, file, null
    }

    /// Something to write to, as a shell hands it to a program; `readEnd` gets what is written. The caller closes both.
    private static func open(_ kind: Kind, in folder: TemporaryFolder) throws -> (writeEnd: Int32, readEnd: Int32) {
        switch kind {
        case .pipe:
            let pipe = try Descriptor.pipe(nonblocking: false)
            return (try pipe.write.duplicate().release(), try pipe.read.duplicate().release())
        case .terminal:
            let (screen, terminal) = try PseudoTerminal.open(nonblocking: false)
            return (terminal, screen)
        case .socket: return try socketPair()
        case .file:
            let writer = try Descriptor.open(folder.path("out"), flags: O_CREAT | O_WRONLY | O_APPEND)
            return (writer.release(), try Descriptor.open(folder.path("out"), flags: O_RDONLY).release())
        case .null:
            return (
                try Descriptor.open("/dev/null", flags: O_WRONLY).release(),
                try Descriptor.open("/dev/null", flags: O_RDONLY).release()
            )
        }
    }

    private static func statusFlags(_ number: Int32) -> Int32 { fcntl(number, F_GETFL) }

    @Test(arguments: Kind.allCases) func writesWithoutChangingWhatOthersShare(kind: Kind) async throws {
        _ = StreamKind.ignoreBrokenPipes
        try await withLoop { loop in
            let folder = try TemporaryFolder()
            let (writeEnd, readEnd) = try Self.open(kind, in: folder)
            defer {
                close(writeEnd)
                close(readEnd)
            }
            let flags = Self.statusFlags(writeEnd)
            #expect(flags & O_NONBLOCK == 0)
            let stream = try DescriptorStream.standard(writeEnd, on: loop)
            #expect(Self.statusFlags(writeEnd) == flags)
            try #expect(stream.write(Array("cats\n".utf8)) == 5)
            var bytes = [UInt8](repeating: 0, count: 10)
            let count = try systemCall("read") { read(readEnd, &bytes, 10) }
            #expect(Array(bytes[..<count]) == Array((kind == .null ? "" : "cats\n").utf8))
            if kind == .pipe || kind == .terminal || kind == .socket {
                // The reader does not read: at some point it takes no more, and does not block.
                try #expect(stream.fill() > 0)
            }
            #expect(Self.statusFlags(writeEnd) == flags)
            stream.close()
            #expect(Self.statusFlags(writeEnd) == flags)  // and it is still open
        }
    }

    @Test(arguments: Kind.allCases) func readsWithoutChangingWhatOthersShare(kind: Kind) async throws {
        try await withLoop { loop in
            let folder = try TemporaryFolder()
            var (writeEnd, readEnd) = try Self.open(kind, in: folder)
            // A program reads from the terminal's side, too.
            if kind == .terminal { swap(&writeEnd, &readEnd) }
            defer { close(readEnd) }
            let flags = Self.statusFlags(readEnd)
            #expect(flags & O_NONBLOCK == 0)
            let stream = try DescriptorStream.standard(readEnd, on: loop)
            if kind != .file && kind != .null { try #expect(stream.read(upTo: 10) == nil) }
            if kind != .null {
                try systemCall("write") { write(writeEnd, "cats\n", 5) }
                try #expect(await stream.next(upTo: 10) == Array("cats\n".utf8))
            }
            close(writeEnd)
            if kind != .terminal { try #expect(await stream.next(upTo: 10) == []) }
            #expect(Self.statusFlags(readEnd) == flags)
            stream.close()
            #expect(Self.statusFlags(readEnd) == flags)
        }
    }

    @Test func appendsToAFileWhereOthersAppendToo() async throws {
        try await withLoop { loop in
            let folder = try TemporaryFolder()
            let (writeEnd, readEnd) = try Self.open(.file, in: folder)
            defer {
                close(writeEnd)
                close(readEnd)
            }
            let stream = try DescriptorStream.standard(writeEnd, on: loop)
            try systemCall("write") { write(writeEnd, "a", 1) }
            try #expect(stream.write([UInt8(ascii: "b")]) == 1)
            try systemCall("write") { write(writeEnd, "c", 1) }
            var bytes = [UInt8](repeating: 0, count: 10)
            try #expect(systemCall("read") { read(readEnd, &bytes, 10) } == 3)
            #expect(Array(bytes[..<3]) == Array("abc".utf8))
        }
    }

    /// A pipe whose reader has left cannot be opened anew for writing.
    @Test func takesAPipeThatNobodyReadsAndSaysSoAtTheFirstWrite() async throws {
        _ = StreamKind.ignoreBrokenPipes
        try await withLoop { loop in
            let folder = try TemporaryFolder()
            let (writeEnd, readEnd) = try Self.open(.pipe, in: folder)
            close(readEnd)
            // It is taken as it is then. The flag has to be set for that, until the process exits: do it here.
            _ = fcntl(writeEnd, F_SETFL, fcntl(writeEnd, F_GETFL) | O_NONBLOCK)
            let stream = try DescriptorStream.standard(writeEnd, on: loop)
            try await stream.waitUntilHungUp()
            #expect(throws: SystemError(code: EPIPE, call: "write")) { try stream.write([1]) }
            close(writeEnd)
        }
    }
}
