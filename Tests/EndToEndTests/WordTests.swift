import Glibc
import TestSupport
import Testing

/// Words on the command line that are no options.
@Suite(.limited) struct WordTests {
    private static func numbers(_ range: ClosedRange<Int>) -> String { range.map { "\($0)\n" }.joined() }

    @Test(.enabled(if: Installation.hasPython)) func filesAreReadToTheirEndEachAsASource() async throws {
        try await Stage.run { stage in
            let big = try await stage.write(Self.numbers(1...20_000), to: "big.ndjson")
            let small = try await stage.write("{\"cats\":1}\nno JSON\n{\"cats\":2}", to: "small")
            // More than the log holds: who reads stdout slowly holds the file up, and gets all of it.
            let run = try await stage.finish([big, small, "--log-bytes", "1MiB"])
            #expect(run.ending == .exited(0))
            let lines = try run.lines()
            let data = lines.filter(\.isData)
            func values(of source: String) -> [Double] {
                data.filter { $0.source == source }.compactMap { $0.number("value") }
            }
            #expect(values(of: "big.ndjson") == (1...20_000).map(Double.init))
            #expect(values(of: "small") == [1, 2])
            #expect(run.errors.contains("catwatch: small: line 2: "))
            #expect(lines.last?.string("reason") == "end" && !lines.contains { $0.type == "gap" })
            try await stage.validate(run.output)
        }
    }

    @Test func thereMayBeMoreFilesThanDescriptors() async throws {
        try await Stage.run { stage in
            for number in 1...200 { _ = try await stage.write("\(number)\n", to: "\(number).ndjson") }
            let program = try await stage.bash(
                """
                ulimit -n 64
                exec "$catwatch" "$folder"/*.ndjson
                """)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0) && run.errors == "", "\(run.errors)")
            let data = try run.lines().filter(\.isData)
            #expect(Set(data.compactMap { $0.number("value") }) == Set((1...200).map(Double.init)) && data.count == 200)
        }
    }

    @Test func aFIFOAndAProcessSubstitutionAreFilesToo() async throws {
        try await Stage.run { stage in
            let fifo = "\(stage.folder)/fifo"
            #expect(mkfifo(fifo, 0o600) == 0)
            let program = try await stage.bash(
                "'\(Installation.program)' '\(fifo)' <(echo 7) <(true) & (sleep 0.1; seq 3) > '\(fifo)'; wait")
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0))
            let data = try run.lines().filter(\.isData)
            #expect(data.filter { $0.source == "fifo" }.compactMap { $0.number("value") } == [1, 2, 3])
            #expect(data.count == 4 && data.contains { $0.number("value") == 7 })
        }
    }

    @Test func whatCannotBeReadIsSaidBeforeAnythingStarts() async throws {
        try await Stage.run { stage in
            let none = try await stage.finish(["\(stage.folder)/none"])
            #expect(none.ending == .exited(2) && none.errors.contains("none' is no file that is there"))
            let folder = try await stage.finish([stage.folder])
            #expect(folder.ending == .exited(2) && folder.errors.contains("Is a directory"), "\(folder.errors)")
            #expect(mknod("\(stage.folder)/s", S_IFSOCK | 0o600, 0) == 0)
            let socket = try await stage.finish(["\(stage.folder)/s"])
            #expect(socket.ending == .exited(2) && socket.errors.contains("read by --attach=PATH"), "\(socket.errors)")
        }
    }
}
