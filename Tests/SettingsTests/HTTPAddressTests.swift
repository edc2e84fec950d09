import Outputs
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct HTTPAddressTests {
    @Test(
        arguments: [
            ("", "127.0.0.1:2287", true), ("8080", "127.0.0.1:8080", true), ("localhost:80", "127.0.0.1:80", true),
            ("127.8.9.1:0", "127.8.9.1:0", true), ("[::1]:2287", "[::1]:2287", true), ("0.0.0.0:1", "0.0.0.0:1", false),
            ("[::]:65535", "[::]:65535", false), ("10.0.0.1:2287", "10.0.0.1:2287", false),
            ("[fe80::1]:2287", "[fe80::1]:2287", false), ("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", false),
            ("128.0.0.1:1", "128.0.0.1:1", false), ("LocalHost:1", "127.0.0.1:1", true),
            ("127.1:80", "127.0.0.1:80", true), ("[0:0::1]:80", "[::1]:80", true), ("0:80", "0.0.0.0:80", false),
        ])
    func isAnAddressAndAPort(text: String, shown: String, isLoopback: Bool) throws {
        let address = try HTTPAddress(text)
        #expect("\(address)" == shown && address.isLoopback == isLoopback)
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:http", "::1:2287", "[::1]", ":2287",
        "cats.test:2287", "[cats.test]:80", "localhost", "+5", "1 2", "[]:1", "127.0.0.1:2287:5", "http://localhost:80",
    ]) func isNothingElse(text: String) {
        #expect(throws: UsageError.self) { try HTTPAddress(text) }
    }

    private static func fault(_ arguments: [String]) -> UsageError? {
        do throws(UsageError) {
            _ = try Command.parse(arguments)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        [], ["--http"], ["--http=[::1]:80"], ["--http=0.0.0.0:80", "--http-open"],
        ["--http=0.0.0.0:80", "--http-token-file=t"],
    ]) func saysWhomToLetIn(arguments: [String]) { #expect(Self.fault(arguments) == nil) }

    @Test func wantsToKnowWhomToLetInWhereOthersGetTo() {
        for address in ["0.0.0.0:80", "[::]:80", "192.168.0.1:80"] {
            let fault = Self.fault(["--http=\(address)"])
            #expect(fault?.option == "--http" && fault?.message.contains("--http-token-file") == true)
        }
        #expect(
            Self.fault(["--http", "8080"])?.message
                == "an address is written --http=HOST:PORT; what is to be watched stands in front of it")
    }

    @Test(arguments: ["--http-token-file=t", "--http-open", "--http-host=cats.test", "--http-frame=https://cats.test"])
    func whatIsSaidOfThePageWantsOne(argument: String) throws {
        let fault = Self.fault([argument])
        #expect(
            fault?.message == "says nothing without --http"
                && fault.map { argument.hasPrefix($0.option ?? "-") } == true)
        #expect(Self.fault([argument, "--http"]) == nil)
        for names in ["http", "feed:http"] {
            #expect(throws: Never.self) { try Command.parse([argument], environment: ["LISTEN_FDNAMES": names]) }
        }
        #expect(throws: UsageError.self) { try Command.parse([argument], environment: ["LISTEN_FDNAMES": "httpx"]) }
    }

    @Test(arguments: ["cats.example.org", "CATS", "a_b-c.d", "1.2"]) func takesNamesOfHosts(name: String) throws {
        #expect(try Types.host.parse(name) == name.lowercased())
    }

    @Test(arguments: ["", "a b", "a:1", "a/b", "*", "ü", String(repeating: "a", count: 254)])
    func takesNothingElseForOne(name: String) { #expect(throws: UsageError.self) { try Types.host.parse(name) } }

    @Test(arguments: [
        ("https://wall.test", "https://wall.test"), ("http://wall.test:8080", "http://wall.test:8080"),
        ("HTTPS://Wall.test/", "https://wall.test"), ("https://a:443", "https://a"), ("http://a:80", "http://a"),
        ("http://a:443", "http://a:443"), ("https://a:80", "https://a:80"), ("http://192.0.2.1", "http://192.0.2.1"),
    ]) func takesOriginsAsBrowsersWriteThem(text: String, origin: String) throws {
        #expect(try Types.origin.parse(text) == origin)
    }

    @Test(arguments: [
        "", "wall.test", "https://[::1]:3000", "https://a_b", "https://a..b", "https://wall.test/a",
        "https://a@wall.test", "wss://wall.test",
        "https://wall.test?x", "https://wall.test/#x", "https://*", "https://a;script-src *", "https://a b", "null",
        "'self'", "*",
    ]) func takesNothingElseForOneOfThem(text: String) {
        #expect(throws: UsageError.self) { try Types.origin.parse(text) }
    }

    /// 2,048 bytes with a blank each; what is said twice counts once.
    @Test func boundsWhatMayShowThePage() {
        let origins = (10..<26).map { "https://\(String(repeating: "a", count: 111))\($0).bcdef" }
        let message = "all origins take more than 2048 bytes together"
        let flags = ["--http"] + origins.map { "--http-frame=\($0)" }
        #expect(Self.fault(flags + ["--http-frame=\(origins[0])/"]) == nil)
        #expect(Self.fault(flags + ["--http-frame=http://b"]) == UsageError(message, option: "--http-frame"))
    }

    /// With the file and the line, so that `check` says it before a start does.
    @Test func looksAtTheTokenBeforeAnythingStarts() throws {
        let folder = try TemporaryFolder()
        try folder.write("hunter2", to: "short")
        try folder.write("0123456789abcdef\n", to: "token")
        func plan(_ name: String) throws -> WatchPlan {
            let text = """
                {
                    "http_token_file": "\(folder.path(name))",
                    "sources": [{"preset": "fact"}]
                }
                """
            return try ConfigFixture.plan(text, ["check"])
        }
        for (name, message) in [("none", "cannot read "), ("short", "a token has 16 to 1024 letters")] {
            let fault = #expect(throws: UsageError.self) { try plan(name) }
            let place = "test.jsonc:2:24: http_token_file: \(message)"
            #expect(
                fault?.lines.map { $0.hasPrefix(place) && !$0.contains("hunter2") } == [true], "\(fault?.lines ?? [])")
        }
        let whole = try plan("token")
        #expect(whole.webToken == WebToken("0123456789abcdef") && whole.webToken != nil)
        #expect(!"\(whole)".contains("0123456789abcdef"))
        let fault = #expect(throws: UsageError.self) {
            try ConfigFixture.plan(nil, ["--http-token-file", folder.path("short")])
        }
        #expect(fault?.option == "--http-token-file")
    }
}
