import TestSupport
import Testing

/// Documents with more items than the log has room for, through outputs that must get everything.
@Suite(.limited) struct LargeDocumentTests {
    private static let items = 150_000

    @Test(arguments: ["1MiB", "8MiB"])
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

    @Test func aPageOfManyItemsComesThrough() async throws {
        try await Stage.run { stage in
            let config = #"""
                {"log_bytes": "1MiB", "sources": [{"name": "p", "kind": "pages", "once": true, "items": "", "next": "/next",
                  "max_body": "8MiB", "url": "\#(try await stage.url("/fault/items?count=\(Self.items)"))"}]}
                """#
            let path = try await stage.write(config, to: "config.json")
            let program = try await stage.bash(
                #"""
                "$catwatch" -o ndjson -c '\#(path)' | { sleep 1; \#(Self.check("p")); }
                echo ${PIPESTATUS[0]}
                """#)
            let run = try await Finished(of: program)
            #expect(run.outputText == "\(Self.items) 0\n0\n")
        }
    }

    @Test(arguments: [(1, 1), (9, 0)])
    func aListingThatIsCutShortEndsWithOne(most: Int, status: Int32) async throws {
        try await Stage.run { stage in
            let config = #"""
                {"sources": [{"name": "p", "kind": "pages", "once": true, "items": "/data", "next": "/next_page_url",
                  "most_pages": \#(most), "url": "\#(try await stage.url("/breeds?limit=50"))"}]}
                """#
            let path = try await stage.write(config, to: "config.json")
            let run = try await stage.finish(["-o", "ndjson", "-c", path])
            #expect(run.ending == .exited(status), "\(run.errors)")
            #expect(try run.lines().count(where: \.isData) >= 25)
            #expect(run.errors.contains("the listing goes on behind page 1") == (status == 1), "\(run.errors)")
        }
    }
}
