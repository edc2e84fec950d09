import Glibc
import TestSupport
import Testing

/// A stdout that takes nothing for a while.
@Suite(.limited) struct StuckReaderTests {
    @Test(.enabled(if: Installation.hasPython)) func pollingGoesOnAndTheGapIsNamed() async throws {
        try await Stage.run { stage in
            // 50 KB a line against a log of 1 MiB: overtaken after some twenty.
            let program = try await stage.catwatch(
                ["-u", stage.url("/fault/large?bytes=50000"), "-e", "10ms", "--log-bytes", "1MiB"]
            ) { $0.readsOutput = false }
            try await stage.waitForRequests(40)
            let resident = try ProcessFile.kilobytes("VmRSS", of: program.id)
            try await stage.waitForRequests(200)
            let after = try ProcessFile.kilobytes("VmRSS", of: program.id)
            // 160 further documents are 8 MB: none of it stays.
            #expect(after <= resident + 4 << 10, "\(resident) KiB, then \(after) KiB")
            #expect(after < 64 << 10)
            try await program.readOutput()
            try await program.wait(for: "lines after the gap") { (program) -> Void? in
                let lines = FeedLine.lines(program.outputBytes)
                guard let gap = lines.firstIndex(where: { $0?.type == "gap" }) else { return nil }
                return lines[gap...].count { $0?.isData == true } > 30 ? () : nil
            }
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let gap = try #require(try run.lines().first { $0.type == "gap" })
            #expect(gap.string("reason") == "slow_reader")
            try await stage.validate(run.output)
        }
    }

    @Test(.enabled(if: Installation.hasPython)) func whatTheLogHoldsIsNotLost() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["-u", stage.url("/fault/large?bytes=5000"), "-e", "10ms"]) {
                $0.readsOutput = false
            }
            // Far more than a pipe holds, and less than the log.
            try await stage.waitForRequests(100)
            try await program.readOutput()
            try await program.signal(SIGTERM)
            let run = try await Finished(of: program)
            let lines = try run.lines()
            #expect(!lines.contains { $0.type == "gap" })
            #expect(lines.count(where: \.isData) >= 99)
            try await stage.validate(run.output)
        }
    }

    @Test func theEndIsNotWaitedForForEver() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(["-u", stage.url("/fault/large?bytes=60000"), "-e", "10ms"]) {
                $0.readsOutput = false
            }
            try await stage.waitForRequests(10)
            try await program.signal(SIGTERM)
            #expect(try await program.waitForExit() == .exited(0))
        }
    }

    @Test func aSlowReaderGetsEverythingAfterTheLastEvent() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch(
                ["-u", stage.url("/fault/large?bytes=60000"), "-e", "10ms", "-n", "20"]) { $0.readsOutput = false }
            try await stage.waitForRequests(20)
            try await program.readOutput()
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            #expect(try run.lines().count(where: \.isData) == 20)
            #expect(try run.lines().last?.type == "bye")
        }
    }

    @Test func stderrThatIsNotReadHoldsNothingUp() async throws {
        try await Stage.run { stage in
            let pipe = try UnreadPipe()
            let program = try await stage.catwatch(["-u", stage.url("/fact"), "-v", "-e", "10ms"]) {
                $0.errors = .shared(pipe.writer)
            }
            // The pipe is full from the start.
            try await program.wait(for: "events") { program in
                FeedLine.lines(program.outputBytes).count { $0?.isData == true } >= 50 ? () : nil
            }
            try await program.signal(SIGINT)
            #expect(try await program.waitForEnd() == .exited(0))
        }
    }
}
