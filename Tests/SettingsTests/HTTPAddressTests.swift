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
        #expect(Self.fault(["--http", "8080"])?.message == "an address is written --http=HOST:PORT")
    }

    @Test(arguments: ["cats.example.org", "CATS", "a_b-c.d", "1.2"]) func takesNamesOfHosts(name: String) throws {
        #expect(try Types.host.parse(name) == name.lowercased())
    }

    @Test(arguments: ["", "a b", "a:1", "a/b", "*", "ü", String(repeating: "a", count: 254)])
    func takesNothingElseForOne(name: String) { #expect(throws: UsageError.self) { try Types.host.parse(name) } }

    @Test(arguments: ["https://wall.test", "http://wall.test:8080", "HTTPS://Wall.test"])
    func takesOrigins(text: String) throws { #expect(try Types.origin.parse(text) == text.lowercased()) }

    @Test(arguments: [
        "", "wall.test", "https://wall.test/", "https://wall.test/a", "https://a@wall.test", "wss://wall.test",
        "https://wall.test?x", "https://*", "https://a;script-src *", "https://a b", "null", "'self'", "*",
    ]) func takesNothingElseForOneOfThem(text: String) {
        #expect(throws: UsageError.self) { try Types.origin.parse(text) }
    }
}
