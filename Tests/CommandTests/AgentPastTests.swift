import Feed
import Glibc
import Reactor
import Terminal
import TestSupport
import Testing

@testable import catwatch

/// Asking an agent for what was before, with one that is a stand-in.
@Suite(.limited) struct AgentPastTests {
    private final class Taken: @unchecked Sendable {  // touched on one loop only
        var bytes: [UInt8] = []
        var failure: PastFailure?
        var hasEnded = false
    }

    private static let request = PastRequest(
        series: "a\"b/\u{1}", source: "a\"b", width: 60, from: Timestamp(seconds: 1_772_366_400),
        until: Timestamp(seconds: 1_772_366_700))

    /// Asks an agent of which `body` is the other end; what came is wanted up to so many bytes.
    private static func ask(
        upTo most: Int = .max, _ body: @escaping @Sendable (EventLoop, SimulatedStream, Taken) async throws -> Void
    ) async throws {
        try await withLoop(virtual: true) { loop in
            let (near, far) = SimulatedStream.pair(on: loop)
            let ends = LoopBound((near, far))
            let taken = Taken()
            let past = AgentPast(on: loop) { LoopBound(ends.value.0) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do {
                        try await past.read(request) { bytes in
                            taken.bytes += bytes
                            return taken.bytes.count < most
                        }
                    } catch let failure as PastFailure {
                        taken.failure = failure
                    }
                    taken.hasEnded = true
                }
                try await loop.sleep(for: .milliseconds(1))
                try await body(loop, ends.value.1, taken)
                group.cancelAll()
            }
            #expect(near.isClosed)
        }
    }

    private static func write(_ text: String, to stream: SimulatedStream) throws {
        _ = try Array(text.utf8).withUnsafeBytes { try stream.write($0) }
    }

    @Test func asksOnceAndLeavesWhenThereIsEnough() async throws {
        try await Self.ask(upTo: 8) { loop, agent, taken in
            let buffer = ReadBuffer()
            let count = try agent.read(into: buffer.memory) ?? 0
            let line =
                #"{"from":"2026-03-01T12:00:00.000000Z","until":"2026-03-01T12:05:00.000000Z","sources":["a\"b"],"#
                + #""series":"a\"b/\u0001","width":60}"#
            #expect(String(decoding: buffer.memory[..<count], as: UTF8.self) == line + "\n")
            for piece in ["one\n", "two", "\nthree"] {
                #expect(!taken.hasEnded)
                try Self.write(piece, to: agent)
                try await loop.sleep(for: .milliseconds(1))
            }
            #expect(taken.hasEnded && taken.failure == nil && taken.bytes == Array("one\ntwo\nthree".utf8))
        }
    }

    @Test func anAgentThatLeavesIsTheEnd() async throws {
        try await Self.ask { loop, agent, taken in
            try Self.write("one\n", to: agent)
            agent.close()
            try await loop.sleep(for: .milliseconds(1))
            #expect(taken.hasEnded && taken.failure == nil && taken.bytes == Array("one\n".utf8))
        }
    }

    @Test func onlySilenceIsTooLong() async throws {
        try await Self.ask { loop, agent, taken in
            for _ in 0..<5 {
                try await loop.sleep(for: .seconds(19))
                try Self.write("x", to: agent)
            }
            try await loop.sleep(for: .seconds(19))
            #expect(!taken.hasEnded && taken.bytes.count == 5)
            try await loop.sleep(for: .seconds(2))
            #expect(taken.failure == PastFailure("the agent takes too long"))
        }
    }
}
