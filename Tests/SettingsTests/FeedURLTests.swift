import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct FeedURLTests {
    @Test func takesAURLApart() throws {
        let url = try FeedURL("HTTPS://me:p%40ss@Api.Example.org:8443/v1/Fact?key=s3cret#top")
        #expect(url.scheme == .https)
        #expect(url.userInfo == "me:p%40ss")
        #expect(url.host == "api.example.org")
        #expect(url.port == 8443)
        #expect(url.path == "/v1/Fact")
        #expect(url.query == "key=s3cret")
        #expect(url.origin == "https://api.example.org:8443")
        #expect(url.withoutUserInfo == "https://api.example.org:8443/v1/Fact?key=s3cret")
    }

    @Test(arguments: [
        ("http://a", "http://a/"), ("http://a?x", "http://a/?x"), ("http://a#f", "http://a/"),
        ("http://[::1]:80/x", "http://[::1]:80/x"), ("http://127.0.0.1:1/", "http://127.0.0.1:1/"),
        ("http://a/ü?ß", "http://a/%C3%BC?%C3%9F"), ("http://a/x?", "http://a/x?"),
        ("http://a//b/../c", "http://a//b/../c"),
        ("http://me@you@a/x", "http://a/x"),
    ])
    func writesTheSameURLBackWithoutUserInfo(_ text: String, _ expected: String) throws {
        #expect(try FeedURL(text).withoutUserInfo == expected)
    }

    @Test(arguments: [
        ("", "the URL is empty; write http://HOST/PATH"),
        ("example.org/x", "'example.org/x' has no scheme; write http:// or https:// in front"),
        ("localhost:8080", "'localhost:8080' has no scheme; write http:// or https:// in front"),
        ("http:/a", "'http:/a' needs two slashes after 'http:'"),
        ("ftp://a/x", "'ftp://a/x' is no http, https, ws or wss URL"),
        ("file:///etc/passwd", "'file:///etc/passwd' is no http, https, ws or wss URL"),
        ("http://", "'http://' has no host"), ("http:///x", "'http:///x' has no host"),
        ("http://:80/", "'http://:80/' has no host"),
        ("http://a b/", "'http://a b/' holds a space or a control character; write %20 for a space"),
        ("http://a/\n", "'http://a/␊' holds a space or a control character; write %20 for a space"),
        ("http://a\\b/", "'http://a\\b/' holds a backslash; write / or %5C"),
        ("http://a:0/", "'http://a:0/' has a port that is not a number from 1 to 65535"),
        ("http://a:65536/", "'http://a:65536/' has a port that is not a number from 1 to 65535"),
        ("http://a:/", "'http://a:/' has a port that is not a number from 1 to 65535"),
        ("http://a:+80/", "'http://a:+80/' has a port that is not a number from 1 to 65535"),
        ("http://[::1/", "'http://[::1/' has no ] after its address"),
        ("http://[abc]/", "'http://[abc]/' has no IPv6 address between its brackets"),
        ("http://[::1]x/", "'http://[::1]x/' has a port that is not a number from 1 to 65535"),
        ("http://bücher.example/", "'http://bücher.example/' has a host outside ASCII; write its xn-- form"),
        ("http://a,b/", "'http://a,b/' has a host that is no valid name"),
        ("http://{a}/", "'http://{a}/' has a host that is no valid name"),
    ])
    func namesWhatIsWrong(_ text: String, _ expected: String) {
        #expect(message(text) == expected)
    }

    /// Wrong in many ways, and none may bring the user name, the password or the key to the terminal.
    @Test(arguments: [
        "hunter2:hunter2@host/x", "http:/hunter2:hunter2@host", "ftp://hunter2:hunter2@host/",
        "http://hunter2:hunter2@",
        "http://hunter2:hun ter2@host/", "http://hunter2:hun/hunter2@host/", "http://hunter2:a?hunter2@host/",
        "http://hunter2:hunter2@host:x/", "http://hunter2@a@:9/", "http://host:x/?key=hunter2", "http://ho st/?hunter2",
        "http://hunter2:\\@host/?key=hunter2", "http://me:a@hunter2@host:0/",
    ])
    func tellsNoSecretInItsMessages(_ text: String) {
        let message = message(text)
        #expect(message != nil, "\(text)")
        #expect(message?.contains("hunter2") == false, "\(text)")
    }

    @Test func tellsNoSecretWhenPrinted() throws {
        let url = try FeedURL("http://me:hunter2@host/x?key=hunter2")
        #expect("\(url)" == "http://host/x?…")
        var dumped = ""
        dump(url, to: &dumped)
        var options = Options()
        options.values.set(\.urls, [url])
        options.values.set(\.header, [try HeaderField("X-Key: hunter2")])
        for text in ["\(url)", String(reflecting: url), dumped, "\(options)", String(reflecting: options)] {
            #expect(!text.contains("hunter2"), "\(text)")
            #expect(text.contains("host/x?…"), "\(text)")
        }
    }

    /// Where no URL is expected as well.
    @Test(
        arguments: [
            ["--connect", "http://u:S3CR3T@h/"], ["--connect", "http://h/?key=S3CR3T"],
            ["--connect", "tcp:u:S3CR3T@h:80"], ["--connect", "tcp:h:80?token=S3CR3T"], ["--http=u:S3CR3T@h:80"],
            ["--http=http://u:S3CR3T@h/"], ["--attach=u:S3CR3T@h:80"], ["--http-host", "u:S3CR3T@h"],
            ["--url", "http://u:S3CR3T%40h/"], ["--attach=http://u:S3CR3T%40h/"],
        ])
    func secretsAreNotInMessages(_ arguments: [String]) {
        #expect {
            _ = try Command.parse(["-o", "none"] + arguments, environment: [:])
        } throws: { error in
            let text = "\(error)"
            return !text.contains("S3CR3T") && text.contains("h")
        }
    }

    /// No prefix of a URL traps, and none that is taken has lost its host.
    @Test func survivesEveryPrefix() throws {
        let text = "https://me:pw@[2001:db8::1]:8443/a/b?c=d#e"
        for length in 0...text.count {
            if let url = try? FeedURL(String(text.prefix(length))) { #expect(!url.host.isEmpty) }
        }
        #expect(try FeedURL(text).host == "[2001:db8::1]")
    }

    private func message(_ text: String) -> String? {
        do throws(UsageError) {
            _ = try FeedURL(text)
            return nil
        } catch { return error.message }
    }
}
