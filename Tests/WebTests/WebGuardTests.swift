import Outputs
import TestSupport
import Testing

@testable import HTTPServer
@testable import Web

@Suite(.limited) struct WebGuardTests {
    @Test(
        arguments: [
            "localhost", "LOCALHOST:2287", "127.0.0.1", "127.0.0.1:2287", "10.1.2.3:80", "[::1]", "[::1]:2287",
            "[FE80::1]:1", "cats.test", "CATS.test:443", "localhost:",
        ])
    func knowsItsNamesAndEveryAddress(host: String) { #expect(WebGuard.isKnown(host, ["cats.test"])) }

    @Test(
        arguments: [
            "", "evil.test", "localhost.evil.test", "evil.localhost", "evillocalhost", "evil.test:2287",
            "127.0.0.1.evil.test", "127.0.0.1.", "127.1", "0x7f000001", "2130706433", "127.0.0.256", "[evil.test]",
            "[::1", "::1", "[::1]x", "[]", "[127.0.0.1]",
            "localhost:x", "localhost:99999", "localhost:-1", "a@localhost", "localhost/", "local host", "cats.test.",
            "dogs.cats.test", "localhost, localhost", "lоcalhost", String(repeating: "1", count: 10_000),
        ])
    func knowsNoOther(host: String) { #expect(!WebGuard.isKnown(host, ["cats.test"])) }

    private static func token() throws -> WebToken { try #require(WebToken("0123456789abcdef")) }

    @Test(
        arguments: [
            "Bearer 0123456789abcdef", "bearer 0123456789abcdef", "BEARER  0123456789abcdef",
            "Basic eDowMTIzNDU2Nzg5YWJjZGVm", "basic OjAxMjM0NTY3ODlhYmNkZWY=",
        ])
    func letsInWhoKnowsTheToken(field: String) throws {
        #expect(WebGuard.isAllowed(field, try Self.token()))
    }

    @Test(
        arguments: [
            nil, "", "Bearer", "Bearer ", "0123456789abcdef", "Bearer 0123456789abcde", "Bearer 0123456789abcdeg",
            "Bearer 0123456789abcdef0", "Bearer 0123456789abcdef0123456789abcdef", "Bearer 0123456789abcdef ",
            "Bearer 1123456789abcdef", "Digest 0123456789abcdef", "Basic 0123456789abcdef", "Basic ", "Basic =",
            "Basic ====", "Basic MDEyMzQ1Njc4OWFiY2RlZg==", "Basic eDowMTIzNDU2Nzg5YWJjZGVn",
            "Basic eDowMTIzNDU2Nzg5YWJjZGVm=", "Basic eDowMTIzNDU2Nzg5YWJjZGV", "Basic eD*wMTIzNDU2Nzg5YWJjZGVm",
            "Bearer 0123456789abcdef, Bearer 0123456789abcdef",
        ])
    func letsInNobodyElse(field: String?) throws {
        #expect(!WebGuard.isAllowed(field, try Self.token()))
    }

    @Test func aTokenHasABoundedLengthAndIsNotPrinted() throws {
        #expect(WebToken("0123456789abcde") == nil && WebToken("0123456789abcde f") == nil)
        #expect(WebToken(String(repeating: "a", count: 1_024)) != nil)
        #expect(WebToken(String(repeating: "a", count: 1_025)) == nil && WebToken("0123456789abcdü-") == nil)
        var settings = WebSettings()
        settings.token = try Self.token()
        var text = ""
        dump(settings, to: &text)
        #expect(!text.contains("0123") && !"\(settings)".contains("0123"))
    }

    private static func isOwn(_ fields: [String: String]) -> Bool {
        let fields = fields.map { HTTPField($0.key, $0.value) }
        return WebGuard.isOwn(HTTPRequest(method: "POST", target: "/", fields: fields, body: []))
    }

    @Test(
        arguments: [
            ["Host": "cats.test:2287"], ["Host": "a", "Sec-Fetch-Site": "same-origin"],
            ["Host": "a", "Sec-Fetch-Site": "same-origin", "Origin": "null"],
            ["Host": "cats.test:2287", "Origin": "http://cats.test:2287"], ["Host": "a", "Origin": "http://A"],
            ["Host": "a", "Origin": "https://a"], ["Host": "a:443", "Origin": "https://a"],
            ["Host": "[::1]:80", "Origin": "http://[::1]"],
        ])
    func takesWhatThePageItselfAsksFor(fields: [String: String]) { #expect(Self.isOwn(fields)) }

    @Test(
        arguments: [
            ["Host": "a", "Sec-Fetch-Site": "same-site"], ["Host": "a", "Sec-Fetch-Site": "cross-site"],
            ["Host": "a", "Sec-Fetch-Site": "none"], ["Host": "a", "Sec-Fetch-Site": ""],
            ["Host": "a", "Sec-Fetch-Site": "cross-site", "Origin": "http://a"], ["Host": "a", "Origin": "null"],
            ["Host": "a", "Origin": "http://b"], ["Host": "a:1", "Origin": "http://a"],
            ["Host": "a:1", "Origin": "http://a:2"], ["Host": "a", "Origin": "a"], ["Host": "a", "Origin": ""],
            ["Host": "a", "Origin": "ftp://a"], ["Host": "a", "Origin": "http://a/"], ["Origin": "http://a"],
            ["Host": "a", "Origin": "http://a.b"], ["Host": "a:80", "Origin": "https://a"],
        ])
    func takesNothingFromAnotherSitesPage(fields: [String: String]) { #expect(!Self.isOwn(fields)) }

    @Test func thePolicyNamesWhatSettingsAllow() {
        var settings = WebSettings()
        func policy() -> String {
            settings.fields.first { $0.name == "Content-Security-Policy" }?.value ?? ""
        }
        #expect(policy().hasPrefix("default-src 'none'; script-src 'self'; "))
        #expect(policy().contains("; img-src 'self'; frame-ancestors 'none'; "))
        settings.frames = ["https://wall.test", "https://b.test"]
        settings.pictures = ["https://pictures.test"]
        #expect(
            policy().contains(
                "; img-src 'self' https://pictures.test; frame-ancestors https://wall.test https://b.test; "))
    }
}
