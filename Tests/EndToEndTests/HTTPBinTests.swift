import Glibc
import TestSupport
import Testing

/// A server that is not ours: httpbin, from PyPI.
@Suite(.limited, .enabled(if: Installation.hasPython), .httpbin) struct HTTPBinTests {
    private static func url(_ path: String) throws -> String {
        "http://127.0.0.1:\(try #require(HTTPBin.port))" + path
    }

    @Test(arguments: [
        ("/absolute-redirect/3", "/url"), ("/relative-redirect/3", "/url"),
        ("/redirect-to?url=/get&status_code=307", "/url"),
        ("/gzip", "/method"), ("/deflate", "/method"), ("/brotli", "/method"), ("/delay/1", "/url"),
        ("/json", "/slideshow/title"), ("/encoding/utf8?", "/no"), ("/anything/a%20b?c=d", "/args/c"),
    ])
    func isUnderstood(path: String, text: String) async throws {
        try await Stage.run { stage in
            if path.hasPrefix("/encoding") {
                let run = try await stage.finishAfterError(["-u", Self.url("/encoding/utf8")])
                let error = try #require(try run.lines().first { $0.type == "error" })
                #expect(error.string("code") == "not_json" && error.string("message")?.contains("text/html") == true)
                return
            }
            let run = try await stage.finish(["-u", Self.url(path), "--text", text, "-n", "1"])
            #expect(run.ending == .exited(0) && run.errors == "")
            let event = try #require(try run.lines().first { $0.isData })
            #expect(event.string("text")?.isEmpty == false)
            let latency = try #require(try run.lines().first { $0.type == "latency" })
            #expect(latency.number("status") == 200)
            if path == "/delay/1" { #expect(try #require(latency.number("ms")) >= 1_000) }
            if path.contains("redirect") { #expect(event.string("text")?.hasSuffix("/get") == true) }
        }
    }

    @Test func tokensAndPasswordsAreSentAndNeverShown() async throws {
        try await Stage.run { stage in
            let port = try #require(HTTPBin.port)
            let token = try await stage.write("t0ken-of-nobody\n", to: "token")
            let headers = try await stage.write("# a comment\nX-Secret: h1dden\n", to: "headers")
            let runs = [
                try await stage.finish(["-u", Self.url("/bearer"), "--bearer-file", token, "-n", "1", "-v"]),
                try await stage.finish(
                    ["-u", Self.url("/bearer"), "--bearer-env", "TOKEN", "-n", "1", "-v"],
                    environment: ["TOKEN": "t0ken-of-nobody"]),
                try await stage.finish(
                    ["-u", "http://user:pa55word@127.0.0.1:\(port)/basic-auth/user/pa55word?k=qu3ry", "-n", "1", "-v"]),
            ]
            for run in runs {
                #expect(run.ending == .exited(0))
                #expect(try run.lines().contains { $0.isData })
            }
            // httpbin sends the token and the path back: what is looked at is what the program says itself.
            for run in runs {
                let own = try run.lines().filter { !$0.isData }.map(\.description).joined() + run.errors
                for secret in ["t0ken", "h1dden", "pa55word@", "user:", "qu3ry"] {
                    #expect(!own.contains(secret), "\(own)")
                }
            }
            let sent = try await stage.finish(["-u", Self.url("/headers"), "--header-file", headers, "-n", "1"])
            let data = try #require(try sent.lines().first { $0.isData }?.raw("data"))
            #expect(data.contains(#""X-Secret":"h1dden""#) && data.contains(#""User-Agent":"catwatch/"#))
        }
    }

    @Test func secretsAreNotToldInFailures() async throws {
        try await Stage.run { stage in
            let port = try await stage.closedPort()
            let run = try await stage.finishAfterError([
                "-u", "http://user:pa55word@127.0.0.1:\(port)/x?key=qu3ry", "--header", "X-Secret: h1dden", "-v",
            ])
            let all = run.outputText + run.errors
            #expect(run.errors.contains("refused"))
            for secret in ["pa55word", "h1dden", "qu3ry", "user"] { #expect(!all.contains(secret), "\(all)") }
            let wrong = try await stage.finish(["-u", "http://user:pa55word@host:port/?key=qu3ry"])
            #expect(wrong.ending == .exited(2))
            for secret in ["pa55word", "qu3ry"] { #expect(!wrong.errors.contains(secret), "\(wrong.errors)") }
        }
    }
}

/// Has httpbin run while a suite does.
struct HTTPBin: SuiteTrait, TestScoping {
    /// Where it listens on loopback; nil outside of its suite.
    @TaskLocal static var port: Int?

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let python = try #require(Installation.python, "CATWATCH_PYTHON is not set")
        try await Stage.run { stage in
            var launch = Launch(python, ["\(Installation.root)/Tests/python/httpbin_server.py"])
            launch.environment = ["PYTHONDONTWRITEBYTECODE": "1"]
            launch.input = .pipe
            let server = try await stage.start(launch)
            let port = try await server.wait(for: "its port") { server in
                server.outputText.hasSuffix("\n") ? Int(server.outputText.dropLast()) : nil
            }
            try await Self.$port.withValue(port) { try await function() }
        }
    }
}

extension Trait where Self == HTTPBin {
    static var httpbin: Self { HTTPBin() }
}
