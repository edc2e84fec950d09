import Glibc
import Reactor
import TestSupport
import Testing

/// `catwatch fibonacci`, and Fibonacci as a feed.
@Suite(.limited) struct FibonacciTests {
    @Test func pairsAreAlignedAndTheTimeComesLast() async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(["fibonacci", "90"])
            #expect(run.ending == .exited(0) && run.errors == "")
            let lines = run.outputText.split(separator: "\n")
            try #require(lines.count >= 92)
            #expect(lines[90].hasPrefix("90") && lines[90].hasSuffix("2880067194370816120"))
            #expect(Set(lines[0...90].map(\.count)).count == 1)
            #expect(lines.last?.contains("ms") == true)
        }
    }

    @Test func aClosedPipeEndsItQuietly() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash("\"$catwatch\" fibonacci 100000 | head -1; exit ${PIPESTATUS[0]}")
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0) && run.errors == "")
        }
    }

    @Test func aReaderHasItRunOnce() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/s"
            let program = try await stage.catwatch(["--preset", "fibonacci", "-e", "1h", "--listen=\(path)"])
            try await program.wait(for: "the first run") { program in
                FeedLine.lines(program.outputBytes).contains { $0?.type == "fibonacci" } ? () : nil
            }
            let socket = try DescriptorStream(owning: StreamSocket.connected(to: path), on: stage.loop)
            defer { socket.close() }
            try await socket.write(all: Array((#"{"poll":"fibonacci","n":500}"# + "\n").utf8))
            try await program.wait(for: "the run that was asked for") { program in
                FeedLine.lines(program.outputBytes).contains { $0?.raw("data")?.hasPrefix(#"{"n":500,"#) == true }
                    ? () : nil
            }
        }
    }
}
