import TestSupport
import Testing

@testable import Settings

@Suite(.limited)
struct PictureOriginTests {
    private func faults(_ pictures: String) -> [String] {
        ConfigFixture.faults(#"{"sources":[{"url":"http://h/","pictures":\#(pictures)}]}"#)
    }

    @Test(arguments: [
        (#"["http://a.b"]"#, "'http://a.b' is not https"), (#"["wss://a.b"]"#, "'wss://a.b' is not https"),
        (#"["https://*.a.b"]"#, "'https://*.a.b' has a wildcard; write each origin out"),
        (#"["https:"]"#, "'https:' needs two slashes after 'https:'"),
        (#"["https://a.b/c"]"#, "'https://a.b/c' is more than an origin; write https://a.b"),
        (#"["https://a.b?"]"#, "'https://a.b?…' is more than an origin; write https://a.b"),
        (#"["https://a.b:99/#x"]"#, "'https://a.b:99/#x' is more than an origin; write https://a.b:99"),
        (
            #"["https://me:secret@a.b"]"#,
            "'https://…@a.b' holds a user name or password; an origin has none"
        ),
        (
            #"["https://[::1]"]"#,
            "'https://[::1]' has a host that no policy can name; it is letters, digits, hyphens and dots"
        ),
        (
            #"["https://a_b"]"#,
            "'https://a_b' has a host that no policy can name; it is letters, digits, hyphens and dots"
        ),
        (
            #"["https://a..b"]"#,
            "'https://a..b' has a host that no policy can name; it is letters, digits, hyphens and dots"
        ),
        (
            #"["https://a.b; script-src *"]"#,
            "'https://a.b; script-src *' has a wildcard; write each origin out"
        ),
        (#"["https://a.b;x"]"#, "'https://a.b;x' has a host that is no valid name"),
        (
            #"["https://a.b 'self'"]"#,
            "'https://a.b 'self'' holds a space or a control character; write %20 for a space"
        ),
        (#"["https://a.b","https://A.b:443/"]"#, "is given twice; leave one out"),
        (#"[5]"#, "is a number where a string should be"), (#""https://a.b""#, "is a string where an array should be"),
    ])
    func refusesWhatIsNoOrigin(_ pictures: String, _ message: String) {
        let faults = faults(pictures)
        #expect(faults.count == 1 && faults[0].hasSuffix(": \(message)"), "\(faults)")
        #expect(faults[0].contains("sources[0].pictures"), "\(faults)")
    }

    @Test func writesOriginsAsBrowsersDo() throws {
        let plan = try ConfigFixture.plan(
            """
            {"sources":[
                {"url":"http://h/a","pictures":["https://IMG.example","https://b.example:8443/"]},
                {"url":"http://h/b","pictures":["https://img.example:443","https://192.0.2.1"]},
                {"kind":"fibonacci","n":1},{"preset":"dogs"},{"url":"http://h/c","pictures":[]}]}
            """)
        #expect(
            plan.pictures == [
                "https://img.example", "https://b.example:8443", "https://192.0.2.1", "https://cdn2.thedogapi.com",
            ])
        #expect(plan.effectiveText().contains(#""pictures": ["https://img.example", "https://b.example:8443"]"#))
        #expect(try ConfigFixture.plan(#"{"sources":[{"preset":"dogs","pictures":[]}]}"#).pictures == [])
        #expect(try ConfigFixture.plan(nil, ["--attach=/x"]).pictures == [])
    }

    @Test func boundsThemASourceAndInAll() throws {
        func origins(_ count: Int, of name: String) -> String {
            "[" + (0..<count).map { "\"https://\(name)\($0)\"" }.joined(separator: ",") + "]"
        }
        #expect(faults(origins(16, of: "a")) == [])
        #expect(faults(origins(17, of: "a")).map { $0.contains("17 elements; 16 is the most") } == [true])

        // 2,048 bytes with a blank each; what several sources name counts once.
        let long = String(repeating: "a", count: 119 - 8)
        func sources(_ last: String) -> String {
            let sixteen = "[" + (10..<26).map { "\"https://\(long)\($0).bcdef\"" }.joined(separator: ",") + "]"
            let full = #"{"url":"http://h/","pictures":\#(sixteen)}"#
            return #"{"sources":[\#(full),\#(full)\#(last)]}"#
        }
        #expect(ConfigFixture.faults(sources("")) == [])
        let faults = ConfigFixture.faults(sources(#",{"url":"http://h/","pictures":["https://b"]}"#))
        #expect(
            faults.count == 1
                && faults[0].hasSuffix(
                    "sources[2].pictures: the origins of all sources take more than 2048 bytes together"),
            "\(faults)")
    }
}
