import Feed
import Glibc
import Outputs
import Reactor
import TestSupport
import Testing

/// The output over real pipes and devices.
@Suite(.limited) struct StreamOutputPipeTests {
    static let ignoresPipeSignal: Bool = {
        signal(SIGPIPE, SIG_IGN)
        return true
    }()

    /// Runs an output into the write end of a pipe; `read` gets the other end.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable (EventStore, SourceID, EventLoop, DescriptorStream) async throws -> Value
    ) async throws -> (StreamOutput.Ending?, Value) {
        #expect(ignoresPipeSignal)
        return try await withLoop { loop in
            let store = EventStore(on: loop, wall: SystemWallClock(), identity: StreamOutputTests.identity)
            let source = await store.register(SourceDescription(name: "fact", type: "fact"))
            let pipe = try Descriptor.pipe()
            let far = try DescriptorStream(owning: try pipe.read.duplicate(), on: loop)
            let near = Near(try pipe.write.duplicate().release())
            _ = consume pipe
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            return try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                group.addTask {
                    try await output.run { loop throws(SystemError) in
                        try DescriptorStream(owning: Descriptor(owning: near.number), on: loop)
                    }
                }
                let value = try await body(store, source, loop, far)
                return (try await group.next(), value)
            }
        }
    }

    struct Near: Sendable {
        let number: Int32
        init(_ number: Int32) { self.number = number }
    }

    static func readAll(_ stream: DescriptorStream, atOnce size: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: size)
        while true {
            guard let read = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) else {
                try await stream.waitUntilReadable()
                continue
            }
            if read == 0 { return bytes }
            bytes += buffer[..<read]
        }
    }

    @Test(arguments: [17, 1_000, 65_536])
    func aSlowReaderGetsEveryLineWhole(size: Int) async throws {
        let count = size < 100 ? 300 : 3_000
        let (ending, bytes) = try await Self.run { store, source, loop, far in
            // More than the pipe holds, before anything is read.
            for start in stride(from: 0, to: count, by: 100) {
                await store.publish(StreamOutputTests.events(start..<start + 100, source: source))
            }
            try await loop.sleep(for: .milliseconds(5))
            await store.finish("end")
            return try await Self.readAll(far, atOnce: size)
        }
        #expect(ending == .finished)
        let lines = try StreamOutputTests.decode(bytes)
        // A window may have closed meanwhile, which is a line too.
        #expect(lines.count { $0.type == "fact" } == count)
        StreamOutputTests.expectAccounted(lines)
    }

    @Test func nothingIsPublishedLaterBecauseNobodyReads() async throws {
        let (ending, published) = try await Self.run { store, source, loop, far in
            for start in stride(from: 0, to: 20_000, by: 1_000) {
                await store.publish(StreamOutputTests.events(start..<start + 1_000, source: source))
            }
            let published = await store.counts.data
            far.close()
            return published
        }
        #expect(published == 20_000)
        #expect(ending == .readerGone)
    }

    @Test func aReaderThatLeavesWhileIdleIsNoticedAtOnce() async throws {
        let (ending, _) = try await Self.run { _, _, loop, far in
            try await loop.sleep(for: .milliseconds(5))
            far.close()
        }
        #expect(ending == .readerGone)
    }

    @Test func aReaderThatIsGoneBeforeTheFirstLineIsNoticed() async throws {
        let (ending, _) = try await Self.run { _, _, _, far in far.close() }
        #expect(ending == .readerGone)
    }

    @Test func aReaderThatTakesOneLineAndLeavesEndsItQuietly() async throws {
        let (ending, first) = try await Self.run { store, source, _, far in
            await store.publish(StreamOutputTests.events(0..<10, source: source))
            var buffer = [UInt8](repeating: 0, count: 10)
            try await far.waitUntilReadable()
            let read = try buffer.withUnsafeMutableBytes { try far.read(into: $0) }
            far.close()
            await store.publish(StreamOutputTests.events(10..<20, source: source))
            return Array(buffer[..<(read ?? 0)])
        }
        #expect(ending == .readerGone)
        #expect(String(decoding: first, as: UTF8.self) == #"{"type":"h"#)
    }

    @Test func aFullDiskIsAFailureThatSaysSo() async throws {
        try await withLoop { loop in
            let store = EventStore(on: loop, wall: SystemWallClock(), identity: StreamOutputTests.identity)
            let output = StreamOutput("stdout", store: store, on: loop, holdsInputs: true)
            let ending = try await output.run { loop throws(SystemError) in
                try DescriptorStream(owning: try Descriptor.open("/dev/full", flags: O_WRONLY), on: loop)
            }
            #expect(ending == .failed(SystemError(code: ENOSPC, call: "write")))
            #expect(await store.counts.readers == 0)
        }
    }

    @Test func aFileGetsEverythingUntilTheEnd() async throws {
        var template = Array("/tmp/catwatch-test-XXXXXX".utf8CString)
        let number = mkstemp(&template)
        try #require(number >= 0)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(path) }
        close(number)
        try await withLoop { loop in
            let store = EventStore(on: loop, wall: SystemWallClock(), identity: StreamOutputTests.identity)
            let source = await store.register(SourceDescription(name: "fact", type: "fact"))
            let output = StreamOutput("file", store: store, on: loop, holdsInputs: true)
            try await withThrowingTaskGroup(of: StreamOutput.Ending.self) { group in
                group.addTask {
                    try await output.run { loop throws(SystemError) in
                        try DescriptorStream(owning: try Descriptor.open(path, flags: O_WRONLY), on: loop)
                    }
                }
                await store.publish(StreamOutputTests.events(0..<500, source: source))
                await store.finish("end")
                let ending = try await group.next()
                #expect(ending == .finished)
            }
            let file = try Descriptor.open(path, flags: O_RDONLY)
            let bytes = try await Self.readAll(try DescriptorStream(owning: file, on: loop), atOnce: 65_536)
            let lines = try StreamOutputTests.decode(bytes)
            #expect(lines.count { $0.type == "fact" } == 500)
            StreamOutputTests.expectAccounted(lines)
        }
    }
}
