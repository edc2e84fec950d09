import Inputs
import TestSupport
import Testing

@Suite(.limited) struct EndpointTests {
    @Test(
        arguments: [
            ("https://catfact.ninja/fact", "GET https://catfact.ninja/fact", "catfact.ninja", "catfact.ninja"),
            ("https://catfact.ninja", "GET https://catfact.ninja/", "catfact.ninja", "catfact.ninja"),
            (
                "http://127.0.0.1:8080/a/b?key=SECRET#frag", "GET http://127.0.0.1:8080/a/b", "127.0.0.1:8080",
                "127.0.0.1"
            ),
            ("http://[::1]:8080/x", "GET http://[::1]:8080/x", "[::1]:8080", "[::1]"),
            ("https://user:SECRET@host/x", "GET https://host/x", "host", "host"),
            ("https://user:SEC%40RET@host/x?y", "GET https://host/x", "host", "host"),
            ("HTTP://Host/X", "GET http://Host/X", "Host", "Host"),
            ("http://host/%C3%BC", "GET http://host/%C3%BC", "host", "host"),
        ] as [(String, String, String, String)])
    func showsMethodOriginAndPath(url: String, name: String, authority: String, host: String) {
        let endpoint = Endpoint(url: url)
        #expect(endpoint.name == name)
        #expect(endpoint.authority == authority)
        #expect(endpoint.host == host)
    }

    @Test(arguments: [
        "", "SECRET", "user:SECRET@host/x", "http://", "http://us er:SECRET@/", "http://user:SECRET@ho st/",
        "http://user:SEC@RET@host/", "https://user:SECRET@host:99999/", "http://user:SECRET@host:x/", "//SECRET@host",
        "\u{1b}[2Jhttp://SECRET", "http://host/\nSECRET",
    ])
    func neverShowsWhatItCannotTakeApart(url: String) {
        let endpoint = Endpoint(url: url)
        for text in [endpoint.name, endpoint.authority, endpoint.host] {
            #expect(!text.contains("SEC") && !text.contains("RET"), "\(url.debugDescription) gave \(text)")
        }
    }

    @Test func aLongPathIsCut() {
        let endpoint = Endpoint(url: "http://host/" + String(repeating: "a", count: 100_000))
        #expect(endpoint.name.count == 256)
        #expect(endpoint.name.hasPrefix("GET http://host/aaa") && endpoint.name.hasSuffix("…"))
        #expect(endpoint.host == "host")
    }
}
