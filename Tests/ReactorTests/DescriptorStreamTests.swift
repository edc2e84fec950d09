import Glibc
import Reactor
import TestSupport
import Testing

/// What only real descriptors do; the rest is in `ByteStreamTests`.
@Suite(.limited) struct DescriptorStreamTests {
    @Test func writesAndReadsAFileWithoutEverWaiting() async throws {
        try await withLoop { loop in
            let folder = try TemporaryFolder()
            let path = folder.path("file")
            let writer = try DescriptorStream(
                owning: Descriptor.open(path, flags: O_CREAT | O_WRONLY), on: loop)
            let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
            try #expect(writer.write(bytes) == bytes.count)
            try await writer.waitUntilWritable()
            let reader = try DescriptorStream(owning: Descriptor.open(path, flags: O_RDONLY), on: loop)
            try await reader.waitUntilReadable()
            let (read, isAtEnd) = try reader.drain()
            #expect(read == bytes)
            #expect(isAtEnd)
            // A file hangs up when it is closed here, and no sooner.
            let ends = Ends(writer: writer, reader: reader)
            async let hangUp: Void = ends.writer.waitUntilHungUp()
            await letOthersRun()
            ends.writer.close()
            try await hangUp
        }
    }

    @Test func talksThroughATerminalAndNoticesThatItIsGone() async throws {
        try await withLoop { loop in
            let (screen, terminal) = try PseudoTerminal.open(nonblocking: true)
            let ends = Ends(
                writer: try DescriptorStream(owning: Descriptor(owning: terminal), on: loop),
                reader: try DescriptorStream(owning: Descriptor(owning: screen), on: loop))
            try #expect(ends.writer.write(Array("cats".utf8)) == 4)
            try #expect(await ends.reader.next(upTo: 10) == Array("cats".utf8))
            try #expect(ends.reader.write(Array("meow\n".utf8)) == 5)
            try #expect(await ends.writer.next(upTo: 10) == Array("meow\n".utf8))
            // A terminal that nobody reads takes no more at some point, and goes on after that.
            let taken = try ends.writer.fill()
            #expect(taken > 0)
            async let more: Void = {
                while try ends.writer.write([1]) == 0 { try await ends.writer.waitUntilWritable() }
            }()
            await letOthersRun()
            var left = taken
            while left > 0 { left -= try await ends.reader.next(upTo: 65_536).count }
            try await more

            async let hangUp: Void = ends.writer.waitUntilHungUp()
            await letOthersRun()
            ends.reader.close()
            try await hangUp
            let code = await errorCode { _ = try ends.writer.write([1]) }
            #expect(code == EIO)
        }
    }

    @Test func goesOnReadingWhatAPeerSaidBeforeItClosedItsWritingHalf() async throws {
        try await withLoop { loop in
            let (one, other) = try socketPair()
            let stream = try DescriptorStream(owning: Descriptor(owning: one), on: loop)
            let here = Ends(writer: stream, reader: stream)
            let there = Descriptor(owning: other)
            async let everything = here.reader.readToTheEnd()
            await letOthersRun()
            try systemCall("write") { write(there.number, "abc", 3) }
            try systemCall("shutdown") { shutdown(there.number, Int32(SHUT_WR)) }
            try #expect(await everything == Array("abc".utf8))
            // Half closed is not hung up: it still reads.
            try #expect(here.writer.write([1, 2]) == 2)
            var bytes = [UInt8](repeating: 0, count: 10)
            try #expect(systemCall("read") { read(there.number, &bytes, 10) } == 2)
        }
    }

    /// Who writes on when it is told of room hears of it when a write did not fit, and else never.
    @Test func tellsOfRoomAfterAWriteThatDidNotFit() async throws {
        try await withLoop { loop in
            let (one, other) = try socketPair()
            let stream = try DescriptorStream(owning: Descriptor(owning: one), on: loop)
            let peer = try DescriptorStream(owning: Descriptor(owning: other), on: loop)
            let log = Log<Readiness>()
            stream.whenReady { log.entries.append($0) }
            for round in 1...3 {
                let piece = [UInt8](repeating: 1, count: 4 << 20)
                let taken = try stream.write(piece)
                #expect(taken > 0 && taken < piece.count)
                _ = try peer.drain()
                try await loop.sleep(for: .milliseconds(1))
                #expect(log.entries.count { $0.contains(.write) } == round)
                // What fits has room already.
                for _ in 0..<3 {
                    try #expect(stream.write([1]) == 1)
                    _ = try peer.drain()
                    try await loop.sleep(for: .milliseconds(1))
                }
                #expect(log.entries.count { $0.contains(.write) } == round)
            }
        }
    }

    @Test func refusesADescriptorThatIsNotOpen() async throws {
        try await withLoop { loop in
            _ = #expect(throws: SystemError(code: EBADF, call: "fstat")) {
                _ = try DescriptorStream(owning: Descriptor(owning: 1_000_000), on: loop)
            }
        }
    }

    /// Half of them are closed, half let go of.
    @Test(arguments: [StreamKind.pipe, .socket]) func leaksNoDescriptor(kind: StreamKind) async throws {
        try await withLoop { loop in
            var made: Set<Inode> = []
            for cycle in 0..<1_000 {
                let (one, other) = try kind == .pipe ? openPipe() : socketPair()
                for number in [one, other] { made.insert(try #require(Inode(of: number))) }
                let writer = try DescriptorStream(owning: Descriptor(owning: other), on: loop)
                let reader = try DescriptorStream(owning: Descriptor(owning: one), on: loop)
                try #expect(writer.write([1]) == 1)
                if cycle % 2 == 0 {
                    writer.close()
                    reader.close()
                }
                if cycle % 512 == 0 { await Task.yield() }
            }
            // Told by their inodes, since other tests of this process open descriptors meanwhile.
            #expect(made.count >= 1_000)
            let limit = try systemCall("getdtablesize") { getdtablesize() }
            #expect((0..<limit).allSatisfy { number in Inode(of: number).map { !made.contains($0) } ?? true })
        }
    }
}

/// What a descriptor is open on.
private struct Inode: Hashable {
    let device: dev_t
    let number: ino_t

    /// Nil when it is not open.
    init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        device = status.st_dev
        number = status.st_ino
    }
}

/// The ends of a pipe to read from and to write to.
private func openPipe() throws(SystemError) -> (Int32, Int32) {
    let pipe = try Descriptor.pipe()
    return (try pipe.read.duplicate().release(), try pipe.write.duplicate().release())
}
