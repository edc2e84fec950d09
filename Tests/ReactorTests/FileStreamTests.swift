import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct FileStreamTests {
    /// Everything that a stream gives.
    private static func read(_ stream: any ByteStream, atMost: Int = 100_000) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        let buffer = ReadBuffer(count: atMost)
        while true {
            guard let count = try stream.read(into: buffer.memory) else {
                try await stream.waitUntilReadable()
                continue
            }
            if count == 0 { return bytes }
            bytes += buffer.memory[..<count]
        }
    }

    private static func write(_ text: String, to number: Int32) throws {
        try Array(text.utf8).withUnsafeBytes { try Descriptor.write($0, to: number) }
    }

    /// Reads the file of this path with a worker that has a thread of its own, and with one that is the loop itself.
    private static func read(_ path: String) async throws -> [[UInt8]] {
        let thread = try LoopThread(name: "disk")
        defer { thread.stop() }
        let real = try await withLoop { loop in
            try await read(FileStream(path, on: loop, worker: thread.loop))
        }
        let simulated = try await withLoop(virtual: true) { loop in
            try await read(FileStream(path, on: loop, worker: loop), atMost: 7_777)
        }
        return [real, simulated]
    }

    @Test(arguments: [0, 1, 262_143, 262_144, 262_145, 1_000_000])
    func readsAFileToItsEnd(size: Int) async throws {
        let folder = try TemporaryFolder()
        let text = String(String(repeating: "0123456789abcde\n", count: size / 16 + 1).prefix(size))
        try folder.write(text, to: "x")
        for bytes in try await Self.read(folder.path("x")) { #expect(bytes == Array(text.utf8)) }
    }

    @Test func saysWhyAFileCannotBeRead() async throws {
        let folder = try TemporaryFolder()
        for (path, code) in [(folder.path("none"), ENOENT), (folder.path, EISDIR)] {
            let error = await #expect(throws: SystemError.self) { try await Self.read(path) }
            #expect(error?.code == code)
        }
        for bytes in try await Self.read("/dev/null") { #expect(bytes.isEmpty) }
    }

    @Test func staysAtTheEndOfAFileThatGrows() async throws {
        let folder = try TemporaryFolder()
        try folder.write("1\n", to: "x")
        try await withLoop { loop in
            let stream = FileStream(folder.path("x"), on: loop, worker: loop)
            #expect(try await Self.read(stream) == Array("1\n".utf8))
            let log = try Descriptor.open(folder.path("x"), flags: O_WRONLY | O_APPEND)
            try Self.write("2\n", to: log.number)
            #expect(try await Self.read(stream) == [])
        }
    }

    @Test func aFIFOIsReadFromItsFirstWriterToItsLast() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("fifo")
        #expect(mkfifo(path, 0o600) == 0)
        try await withLoop { loop in
            let stream = FileStream(path, on: loop, worker: loop)
            let isOver = LoopBound(Flag())
            try await withThrowingTaskGroup(of: Void.self) { group in
                let bound = LoopBound(stream)
                group.addTask {
                    let bytes = try await Self.read(bound.value)
                    #expect(bytes == Array("onetwo".utf8))
                    isOver.value.isSet = true
                }
                // Nobody writes yet: that is not its end.
                try await loop.sleep(for: .milliseconds(20))
                #expect(!isOver.value.isSet)
                let first = try Descriptor.open(path, flags: O_WRONLY)
                let second = try Descriptor.open(path, flags: O_WRONLY)
                try Self.write("one", to: first.number)
                close(first.release())
                try await loop.sleep(for: .milliseconds(5))
                #expect(!isOver.value.isSet)
                try Self.write("two", to: second.number)
                close(second.release())
                try await group.waitForAll()
            }
        }
    }

    @Test func oneThatIsClosedWhileItIsReadWaitsForNobody() async throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.path("fifo"), 0o600) == 0)
        try folder.write("1", to: "x")
        let thread = try LoopThread(name: "disk")
        defer { thread.stop() }
        try await withLoop { loop in
            for name in ["fifo", "x", "none"] {
                let stream = FileStream(folder.path(name), on: loop, worker: thread.loop)
                let buffer = ReadBuffer()
                #expect(try stream.read(into: buffer.memory) == nil)
                stream.close()
                // Until what was under way has come back.
                try await loop.offload(to: thread.loop) {}
                try await stream.waitUntilReadable()
                let error = #expect(throws: SystemError.self) { try stream.read(into: buffer.memory) }
                #expect(error?.code == EBADF)
            }
        }
    }

    private final class Flag { var isSet = false }
}
