import Glibc
import TestSupport
import Testing

/// The command line as a user meets it.
@Suite(.limited) struct OptionTests {
    @Test func helpFitsOnAScreen() async throws {
        try await Stage.run { stage in
            for option in ["--help", "-h"] {
                let run = try await stage.finish([option])
                #expect(run.ending == .exited(0) && run.errors == "")
                let lines = run.outputText.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                #expect(lines.count <= 24)
                #expect(lines.allSatisfy { $0.count <= 80 })
                #expect(run.outputText.contains("catwatch --demo | jq ."))
            }
        }
    }

    @Test func whatWaitsInAPipeIsNotEatenByACheck() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                """
                mkfifo "$folder/pipe"
                echo hello >"$folder/pipe" &
                "$catwatch" check "$folder/pipe" >/dev/null
                timeout 5 cat "$folder/pipe"
                """)
            let run = try await Finished(of: program)
            #expect(run.outputText == "hello\n" && run.ending == .exited(0), "\(run.errors)")
        }
    }

    @Test(arguments: [
        (["--evry", "1s"], "did you mean '--every'?"), (["--durtion=1"], "did you mean '--duration'?"),
        (["--zzz"], "unknown option '--zzz'"), (["-Z"], "unknown option '-Z'"), (["--every"], "needs an argument"),
        (["--every", "0"], "--every"), (["--every", "1parsec"], "1parsec"), (["--every", "-1s"], "--every"),
        (["--interval", "1.5"], "--interval"), (["--interval", "2h"], "--interval"), (["-n", "0"], "--count"),
        (["-n", "many"], "many"), (["-n", "99999999999999999999"], "--count"), (["-d", ""], "--duration"),
        (["--history", "1s"], "--history"), (["--demo=yes"], "takes no argument"), (["--ma", "1"], "ambiguous"),
        (["-u", ""], "--url"), (["-u", "catfact.ninja/fact"], "http://"), (["-u", "ftp://host/x"], "ftp"),
        (["-u", "file:///etc/passwd"], "file"), (["-u", "http://"], "--url"), (["-u", "http://host:99999/"], "99999"),
        (["-u", "http://ho st/"], "%20"), (["-u", "http:/host"], "two slashes"), (["-u", "http://[::1/"], "--url"),
        (["-u", "http://host\\x"], "backslash"), (["--value", "length"], "JSON Pointer"), (["--text", "/~2"], "~2"),
        (["--preset", "fcat"], "fact"), (["-o", "xml"], "xml"), (["--header", "no colon"], "--header"),
        (["--bearer-file", "/nonexistent"], "/nonexistent"), (["--bearer-env", "UNSET_VARIABLE"], "UNSET_VARIABLE"),
        (["--cacert", ""], "--cacert"), (["--key-file", "/x"], "--cert"), (["--log-bytes", "1"], "--log-bytes"),
        (["--max-body", "0"], "--max-body"), (["--max-redirects", "51"], "--max-redirects"),
        (["host/x.json"], "no file that is there"), (["chekc"], "check"), (["--help=some"], "--help=all"),
    ])
    func aWrongOptionIsNamedAndNothingRuns(arguments: [String], words: String) async throws {
        try await Stage.run { stage in
            let run = try await stage.finish(arguments)
            #expect(run.ending == .exited(2))
            #expect(run.output.isEmpty)
            #expect(run.errors.hasPrefix("catwatch: ") && run.errors.contains(words), "\(run.errors)")
            #expect(run.errorLines.count == 2 && run.errorLines.last == "Try 'catwatch --help'.", "\(run.errors)")
        }
    }

    @Test func theEnvironmentIsHeardAndFlagsWin() async throws {
        try await Stage.run { stage in
            let urls = try await "\(stage.url("/fact")) \(stage.url("/breeds?limit=1"))"
            let environment = ["CATWATCH_URL": urls, "CATWATCH_COUNT": "4", "CATWATCH_EVERY": "10ms"]
            let run = try await stage.finish([], environment: environment)
            #expect(run.ending == .exited(0))
            #expect(try run.lines().count(where: \.isData) == 4)
            #expect(Set(try run.lines().filter(\.isData).map(\.source)) == ["fact", "breeds"])

            let flags = try await stage.finish(
                ["-n", "2", "-u", stage.url("/facts?limit=1")], environment: environment)
            #expect(try flags.lines().filter(\.isData).map(\.source) == ["facts", "facts"])

            let wrong = try await stage.finish(["--demo"], environment: ["CATWATCH_EVERY": "never"])
            #expect(wrong.ending == .exited(2) && wrong.errors.contains("CATWATCH_EVERY"))
        }
    }

    @Test func theCountIsExact() async throws {
        try await Stage.run { stage in
            for count in [1, 2, 37] {
                let url = try await stage.url("/fact")
                let run = try await stage.finish(["-u", url, "-u", url, "-u", url, "-e", "10ms", "-n", "\(count)"])
                #expect(try run.lines().count(where: \.isData) == count)
                #expect(try run.lines().last?.string("reason") == "count")
                #expect(run.ending == .exited(0))
            }
        }
    }
}
