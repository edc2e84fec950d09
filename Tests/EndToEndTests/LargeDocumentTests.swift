import TestSupport
import Testing

/// Documents with more items than the log has room for, through outputs that must get everything.
@Suite(.limited) struct LargeDocumentTests {
    private static let items = LongRun.rounds(short: 40_000, long: 150_000)

    @Test(arguments: LongRun.isOn ? ["1MiB", "8MiB"] : ["1MiB"])
    func oneLineOfManyItemsComesThrough(log: String) async throws {
        try await Stage.run { stage in
            let document = "[\((0..<Self.items).map(String.init).joined(separator: ","))]"
            let path = try await stage.write(document, to: "input")
            let program = try await stage.bash(
                #"""
                "$catwatch" - --items '' --log-bytes \#(log) --output-file "$folder/file" < '\#(path)' \
                    | { sleep 1; cat > "$folder/stdout"; }
                echo ${PIPESTATUS[0]}
                for name in file stdout; do \#(Self.check("stdin")) "$folder/$name"; done
                """#)
            let run = try await Finished(of: program)
            #expect(run.outputText == "0\n\(Self.items) 0\n\(Self.items) 0\n")
        }
    }

    /// Prints how many numbers came, each once and in order, and how many gaps.
    private static func check(_ type: String) -> String {
        #"awk -F'"value":' '/"type":"\#(type)"/ && $2 + 0 == next_ { next_++ } /"type":"gap"/ { gaps++ } END { print next_ + 0, gaps + 0 }'"#
    }
}
