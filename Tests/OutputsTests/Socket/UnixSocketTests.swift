import Feed
import Glibc
import Outputs
import Reactor
import TestSupport
import Testing

/// The server over real Unix sockets, in real time; nothing here depends on how long anything takes.
@Suite(.limited) struct UnixSocketTests {
    /// Serves a store at a path of its own while `body` runs.
    private static func serving(
        _ body: @escaping @Sendable (FeedStage, _ path: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("s")
        let socket = try StreamSocket.bound(to: path)
        try StreamSocket.listen(socket)
        let number = socket.release()
        try await withLoop { loop in
            // No window closes while a slow machine runs the tests: its line would have a number, too.
            let stage = await FeedStage(on: loop) { ($0.interval, $0.history) = (.seconds(3_600), .seconds(7_200)) }
            let server = FeedServer(store: stage.store, polls: stage.polls, on: loop)
            try await running {
                try await server.run { try SocketListener(owning: Descriptor(owning: number), on: $0) }
            } while: {
                try await body(stage, path)
            }
        }
    }

    private static func connect(_ path: String, _ loop: EventLoop) throws -> (FeedReader, Int32) {
        let socket = try StreamSocket.connected(to: path)
        let number = socket.number
        return (FeedReader(try DescriptorStream(owning: socket, on: loop)), number)
    }

    @Test func manyReadersGetEveryLine() async throws {
        try await Self.serving { stage, path in
            let transcripts = try await withThrowingTaskGroup(of: FeedTranscript.self) { group in
                for _ in 0..<20 {
                    let (reader, _) = try Self.connect(path, stage.loop)
                    group.addTask { try await reader.transcript(on: stage.loop) }
                }
                for round in 0..<200 {
                    await stage.publish(5, text: round)
                    if round % 10 == 0 { try await stage.loop.sleep(for: .zero) }
                }
                // A reader that has not been let in by the end gets everything all the same.
                await stage.store.finish("end")
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for transcript in transcripts {
                #expect(transcript.fault == nil && transcript.gaps.isEmpty && !transcript.isTorn)
                #expect(transcript.numbers == Array(1...1_000) && transcript.bye?.lastSeq == 1_000)
            }
        }
    }

    @Test func aReaderThatHasSaidAllItHasToSayIsServedOn() async throws {
        try await Self.serving { stage, path in
            await stage.publish(5)
            let (reader, number) = try Self.connect(path, stage.loop)
            // No newline: the end of what it says is the end of its request, as with `printf … | nc -N -U`.
            try await reader.stream.write(all: Array(#"{"since":3}"#.utf8))
            #expect(shutdown(number, Int32(SHUT_WR)) == 0)
            try await reader.skip(2)
            var hellos = 1
            while hellos < 2 { if try await reader.next()?.type == "hello" { hellos += 1 } }
            try await reader.skip(1)
            #expect(try await reader.next()?.seq == 4)
            try await reader.skip(1)
            await stage.publish()
            #expect(try await reader.next()?.seq == 6)
            await stage.store.finish("end")
            #expect(try await reader.next()?.type == "bye")
            #expect(try await reader.next() == nil)
        }
    }

    @Test func aRequestOfOneThatLeavesAtOnceIsHeard() async throws {
        try await Self.serving { stage, path in
            let polled = Wakeup(loop: stage.loop)
            await stage.polls.allowPolling(of: "fact") { _ in
                polled.signal()
                return nil
            }
            let (reader, number) = try Self.connect(path, stage.loop)
            try await reader.skip(2)
            // Both in one job of the loop: it is told of what there is to read together with the end.
            let request = Array("{\"poll\":\"fact\"}\n".utf8)
            #expect(write(number, request, request.count) == request.count)
            reader.stream.close()
            try await polled.wait()
        }
    }

    @Test func aReaderThatLeavesIsNoticedWhileNothingHappens() async throws {
        try await Self.serving { stage, path in
            let (reader, _) = try Self.connect(path, stage.loop)
            try await reader.skip(2)
            #expect(await stage.store.counts.readers == 1)
            reader.stream.close()
            while await stage.store.counts.readers > 0 { try await stage.loop.sleep(for: .milliseconds(1)) }
        }
    }
}
