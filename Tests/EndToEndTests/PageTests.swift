import Glibc
import TestSupport
import Testing

/// What the page asks the program for beside the feed.
@Suite(.limited) struct PageTests {
    @Test func pollsAndPicturesOfTheDemo() async throws {
        try await Stage.run { stage in
            let program = try await stage.catwatch([
                "--demo", "-p", "dogs", "-e", "1h", "--http=127.0.0.1:0", "--http-host=cats.test",
            ])
            let client = try await SnapshotTests.client(of: program)
            try await program.wait(for: "ten dogs") { program in
                FeedLine.lines(program.outputBytes).count { $0?.isData == true } == 10 ? () : nil
            }
            let polled = try client.talk(
                client.request(
                    "POST", "/poll/dogs",
                    fields: ["Connection: close", "Content-Type: application/json", "Content-Length: 2"]) + "{}")
            #expect(polled.text.hasPrefix("HTTP/1.1 202"), "\(polled.text)")
            try await program.wait(for: "ten more") { program in
                FeedLine.lines(program.outputBytes).count { $0?.isData == true } == 20 ? () : nil
            }
            let config = String(decoding: try client.get("/config").body, as: UTF8.self)
            let dog = try #require(FeedLine.lines(await program.outputBytes).compactMap { $0 }.first(where: \.isData))
            let data = try #require(dog.raw("data")).filter { $0 != "\\" }
            let origin = try #require(config.split(separator: "\"").first { $0.hasPrefix("http://127.0.0.1:") })
            #expect(config.contains(#""pictures":["https://cdn2.thedogapi.com"]"#))
            let url = try #require(data.split(separator: "\"").first { $0.hasPrefix(origin) })
            let picture = try client.get("/demo\(url.dropFirst(origin.count))")
            #expect(picture.status == 200 && picture.body.starts(with: "<svg ".utf8))
            for path in ["/demo/fact", "/demo/v1/images/search", "/demo//pictures/beagle-1.svg"] {
                #expect(try client.get(path).status == 404)
            }
        }
    }

    @Test func picturesAreReadAgainAndAreNoneOfAnAttachedAgents() async throws {
        try await Stage.run { stage in
            func configuration(_ pictures: String) async throws -> String {
                let url = try await stage.url("/fact")
                return
                    #"{"listen":"\#(stage.folder)/feed.sock","sources":[{"url":"\#(url)","pictures":[\#(pictures)]}]}"#
            }
            let http = ["--http=127.0.0.1:0", "--http-host=cats.test", "-o", "none"]
            let path = try await stage.write(configuration(#""https://a.example""#), to: "config.jsonc")
            let program = try await stage.catwatch(["-c", path] + http)
            let client = try await SnapshotTests.client(of: program)
            func config(_ client: RawClient) throws -> (text: String, policy: String) {
                let answer = try client.get("/config")
                return (String(decoding: answer.body, as: UTF8.self), answer.fields["content-security-policy"] ?? "")
            }
            let first = try config(client)
            #expect(first.text.contains(#""pictures":["https://a.example"],"attached":false}"#), "\(first.text)")
            #expect(first.policy.contains("img-src 'self' https://a.example;"), "\(first.policy)")
            _ = try await stage.write(configuration(#""https://b.example""#), to: "config.jsonc")
            try await program.signal(SIGHUP)
            try await program.waitForError("reloaded")
            let second = try config(client)
            #expect(second.text.contains(#""pictures":["https://b.example"]"#))
            #expect(second.policy.contains("img-src 'self' https://b.example;"))

            let attached = try await stage.catwatch(["--attach=\(stage.folder)/feed.sock"] + http)
            let third = try config(await SnapshotTests.client(of: attached))
            #expect(third.text.contains(#""pictures":[],"attached":true}"#), "\(third.text)")
            #expect(third.policy.contains("img-src 'self';"))
        }
    }
}
