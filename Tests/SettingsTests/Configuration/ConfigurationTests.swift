import TestSupport
import Testing

@testable import Settings

/// What is wrong with a configuration, and where.
@Suite(.limited) struct ConfigurationTests {
    /// A source with these keys beside a URL.
    private static func source(_ keys: String) -> String { #"{"sources":[{"url":"http://h/x",\#(keys)}]}"# }

    private static let wrong: [(String, [String])] = [
        ("[]", ["1:1: is an array where an object should be"]),
        (#"{"intervl": 1}"#, ["1:2: intervl: is no known key; did you mean 'interval'?"]),
        (#"{"zzzzzz": 1}"#, ["1:2: zzzzzz: is no known key"]),
        (#"{"interval": 1, "interval": 2}"#, ["1:17: interval: is given twice; leave one out"]),
        (#"{"interval": true}"#, ["1:14: interval: is true where a string or a number should be"]),
        (#"{"interval": "1.5s"}"#, ["1:14: interval: '1.5s' has a fraction; write whole seconds"]),
        (#"{"history": 0}"#, ["1:13: history: '0' is out of range; write 1s to 1d"]),
        (#"{"every": "-2s"}"#, ["1:11: every: '-2s' is not a duration; write 500ms, 10s, 2m, 1h, or bare seconds"]),
        (#"{"every": []}"#, ["1:11: every: is an array where a string or a number should be"]),
        (#"{"count": 1.5}"#, ["1:11: count: '1.5' is not a whole number from 1"]),
        (#"{"verbose": "yes"}"#, ["1:13: verbose: is a string where true or false should be"]),
        (#"{"listen": 5}"#, ["1:12: listen: is a number where true, false or a string should be"]),
        // One fault is told once.
        (
            ##"{"bands":{"s":{"bands":[{"name":"a","letter":"ab","color":"#000000"}]}},"sources":[{"url":"http://h/","bands":"s"}]}"##,
            ["1:46: bands.s.bands[0].letter: 'ab' is not one visible character"]
        ),
        (
            ##"{"bands":{"s":{"bands":[{"name":"a","letter":"a","color":"#000000","up_to":"x"},{"name":"b","letter":"b","color":"#000000"}]}}}"##,
            ["1:76: bands.s.bands[0].up_to: is a string where a number should be"]
        ),
        (#"{"output": "xml"}"#, ["1:12: output: 'xml' is not known; write view, ndjson or none"]),
        (#"{"connect": ["udp:x"]}"#, ["1:13: connect: 'udp:x': write unix:PATH or tcp:HOST:PORT"]),
        (#"{"connect": [5]}"#, ["1:14: connect[0]: is a number where a string should be"]),
        (#"{"config": "x"}"#, ["1:2: config: is no known key"]),
        (#"{"help": true}"#, ["1:2: help: is no known key"]),
        (
            #"{"header": "Authorization: x"}"#,
            ["1:12: header: a secret does not stand here; write header_file or bearer_file"]
        ),
        (
            #"{"url": "http://me:pw@h/"}"#,
            ["1:9: url: holds a user name or password; write a source with basic, and a secret in it"]
        ),
        (#"{"sources": {}}"#, ["1:13: sources: is an object where an array should be"]),
        (#"{"sources": [5]}"#, ["1:14: sources[0]: is a number where an object should be"]),
        (#"{"sources": [{}]}"#, ["1:14: sources[0]: needs url"]),
        (#"{"sources": [{"preset": "aqi"}]}"#, ["1:14: sources[0]: needs url; the preset aqi has none"]),
        (
            #"{"sources": [{"preset": "all"}]}"#,
            [
                "1:25: sources[0].preset: 'all' is not known; write fact, facts, breeds, dogs, aqi or fibonacci"
            ]
        ),
        (
            #"{"sources": [{"kind": "webscket"}]}"#,
            [
                "1:23: sources[0].kind: 'webscket' is not known; did you mean 'websocket'?"
            ]
        ),
        (source(#""evry":1"#), ["1:33: sources[0].evry: is no known key; did you mean 'every'?"]),
        (#"{"keep":"1h"}"#, [#"1:2: keep: belongs to a source: "sources": [{…, "keep": …}]"#]),
        (
            #"{"page_parameter":5}"#,
            [#"1:2: page_parameter: belongs to a source: "sources": [{…, "page_parameter": …}]"#]
        ),
        (#"{"keeep":"1h"}"#, ["1:2: keeep: is no known key"]),
        (source(#""keep":"999ms""#), ["1:40: sources[0].keep: '999ms' is out of range; write 1s to 30d"]),
        (source(#""keep":"31d""#), ["1:40: sources[0].keep: '31d' is out of range; write 1s to 30d"]),
        (source(#""keep":0"#), ["1:40: sources[0].keep: '0' is out of range; write 1s to 30d"]),
        (source(#""every":0"#), ["1:41: sources[0].every: '0' is out of range; write 10ms to 1d"]),
        (source(#""every":1,"every":2"#), ["1:43: sources[0].every: is given twice; leave one out"]),
        (
            source(#""value":"length""#),
            [
                "1:41: sources[0].value: 'length' is no JSON Pointer; it begins with a slash: '/length'"
            ]
        ),
        (source(#""value":5"#), ["1:41: sources[0].value: is a number where a JSON Pointer or null should be"]),
        (
            source(##""items":"#""##),
            ["1:41: sources[0].items: '#' is no JSON Pointer; it begins with a slash: '/length'"]
        ),
        (source(##""key":"#""##), ["1:39: sources[0].key: # counts items; say with items where they are"]),
        (source(#""key":5,"items":"""#), ["1:39: sources[0].key: is a number where a JSON Pointer or '#' should be"]),
        (source(#""number":"loose""#), ["1:42: sources[0].number: 'loose' is not known; write strict or lenient"]),
        (source(#""next":"/n""#), ["1:40: sources[0].next: says nothing to sources of kind http; it is for pages"]),
        (source(#""kind":"websocket""#), ["1:20: sources[0].url: sources of kind websocket need ws or wss, not http"]),
        (
            source(#""name":"hello""#),
            [
                "1:40: sources[0].name: 'hello' is reserved for what the agent says itself; choose another name"
            ]
        ),
        (
            source(#""name":"latency:x""#),
            [
                "1:40: sources[0].name: 'latency:x': names with 'latency:' in front are the agent's own; choose another name"
            ]
        ),
        (source(#""name":"a/b""#), ["1:40: sources[0].name: 'a/b' may hold letters, digits, '.', '_' and '-' only"]),
        (
            source(#""type":"gap""#),
            [
                "1:40: sources[0].type: 'gap' is reserved for what the agent says itself; choose another name"
            ]
        ),
        (source(#""name":"""#), ["1:40: sources[0].name: is empty"]),
        (source(#""unit":"\u001b[31m""#), ["1:40: sources[0].unit: holds a control character"]),
        (source(#""max_redirects":51"#), ["1:49: sources[0].max_redirects: '51' is not a whole number, 0 to 50"]),
        (
            source(#""max_redirects":"5""#),
            ["1:49: sources[0].max_redirects: is a string where a whole number should be"]
        ),
        (source(#""max_body":0"#), ["1:44: sources[0].max_body: '0' is out of range; write whole bytes, 1B to 1GiB"]),
        (source(#""proxy":1"#), ["1:41: sources[0].proxy: is a number where true or false should be"]),
        (source(#""key_file":"k""#), ["1:44: sources[0].key_file: needs the certificate it belongs to"]),
        (source(#""bands":"cpbc""#), ["1:41: sources[0].bands: 'cpbc' is no scale; did you mean 'cpcb'?"]),
        (source(#""bands":"zzzzzzz""#), ["1:41: sources[0].bands: 'zzzzzzz' is no scale; there is cpcb"]),
        (source(#""url":"http://h/y""#), ["1:33: sources[0].url: is given twice; leave one out"]),
        (#"{"sources":[{"url":"ftp://h/"}]}"#, ["1:20: sources[0].url: 'ftp://h/' is no http, https, ws or wss URL"]),
        (
            #"{"sources":[{"url":"http://me:pw@h/"}]}"#,
            [
                "1:20: sources[0].url: holds a user name or password; write basic or bearer with a secret instead"
            ]
        ),
        (
            #"{"sources":[{"kind":"pages","url":"http://h/"}]}"#,
            [
                "1:13: sources[0]: needs items", "1:13: sources[0]: needs next or page_parameter",
            ]
        ),
        (
            #"{"sources":[{"kind":"pages","url":"http://h/","items":"","page_parameter":5}]}"#,
            [
                "1:75: sources[0].page_parameter: is a number where a string should be"
            ]
        ),
        (
            #"{"sources":[{"kind":"pages","url":"http://h/","items":"","next":"/n","page_parameter":"p"}]}"#,
            [
                "1:87: sources[0].page_parameter: is given beside next; leave one of them out"
            ]
        ),
        (
            #"{"sources":[{"kind":"pages","url":"http://h/","items":"","next":"/n","first_page":2}]}"#,
            [
                "1:83: sources[0].first_page: says nothing without page_parameter"
            ]
        ),
        (
            #"{"sources":[{"kind":"pages","url":"http://h/","items":"","next":"/n","once":true,"every":1}]}"#,
            [
                "1:90: sources[0].every: says nothing beside once: leave one of them out"
            ]
        ),
        (#"{"sources":[{"kind":"fibonacci"}]}"#, ["1:13: sources[0]: needs n"]),
        (
            #"{"sources":[{"kind":"fibonacci","n":100001}]}"#,
            [
                "1:37: sources[0].n: '100001' is not a whole number, 0 to 100000"
            ]
        ),
        (
            #"{"sources":[{"kind":"stdin","name":"a"},{"kind":"fibonacci","n":1,"name":"a"}]}"#,
            [
                "1:74: sources[1].name: 'a' is another source's name already"
            ]
        ),
    ]

    @Test(arguments: wrong)
    func namesThePlaceOfWhatIsWrong(_ text: String, _ expected: [String]) {
        #expect(ConfigFixture.faults(text) == expected)
    }

    @Test(arguments: [
        (
            #""bearer":"abc""#,
            [#"sources[0].bearer: a secret does not stand here; write {"env": "NAME"} or {"file": "PATH"}"#]
        ),
        (
            #""headers":{"X-Api-Key":"abc"}"#,
            [
                #"sources[0].headers.X-Api-Key: a secret does not stand here; write {"env": "NAME"} or {"file": "PATH"}"#
            ]
        ),
        (
            #""headers":{"My-Token":"abc"}"#,
            [
                #"sources[0].headers.My-Token: a secret does not stand here; write {"env": "NAME"} or {"file": "PATH"}"#
            ]
        ),
        (#""headers":{"Cookie":5}"#, ["sources[0].headers.Cookie: is a number where an object should be"]),
        (#""headers":{"a b":"c"}"#, ["sources[0].headers.a b: a header's name is letters, digits and hyphens"]),
        (#""headers":{"A":"b","a":"c"}"#, ["sources[0].headers.a: is given twice; leave one out"]),
        (
            #""headers":{"A":"b\r\nC: d"}"#,
            ["sources[0].headers.A: the value of header 'A' holds a line break or control character"]
        ),
        (#""headers":[]"#, ["sources[0].headers: is an array where an object of names and values should be"]),
        (#""bearer":{}"#, [#"sources[0].bearer: needs one of {"env": "NAME"} and {"file": "PATH"}"#]),
        (
            #""bearer":{"env":"A","file":"b"}"#,
            [#"sources[0].bearer: needs one of {"env": "NAME"} and {"file": "PATH"}"#]
        ),
        (#""bearer":{"env":"A=B"}"#, ["sources[0].bearer.env: is no name of a variable"]),
        (#""bearer":{"file":"a","optional":true}"#, ["sources[0].bearer: optional goes with env, not with file"]),
        (
            #""bearer":{"en":"A"}"#,
            [
                #"sources[0].bearer: needs one of {"env": "NAME"} and {"file": "PATH"}"#,
                "sources[0].bearer.en: is no known key; did you mean 'env'?",
            ]
        ),
        (#""basic":{"user":"a"}"#, ["sources[0].basic: needs password"]),
        (#""basic":{"user":"a:b","password":{"env":"A"}}"#, ["sources[0].basic.user: must not hold a colon"]),
        (
            #""basic":{"user":"a","password":"b"}"#,
            [
                #"sources[0].basic.password: a secret does not stand here; write {"env": "NAME"} or {"file": "PATH"}"#
            ]
        ),
        (
            #""bearer":{"env":"A"},"basic":{"user":"a","password":{"env":"B"}}"#,
            [
                "sources[0].basic: more than one of bearer, basic says who asks; leave one"
            ]
        ),
    ])
    func keepsSecretsOut(_ keys: String, _ expected: [String]) {
        let faults = ConfigFixture.faults(Self.source(keys)).map { line in
            line.split(separator: " ", maxSplits: 1).last.map(String.init) ?? ""
        }
        #expect(faults == expected)
    }

    private static func scale(_ text: String) -> String { "{\"bands\":{\"s\":\(text)}}" }
    private static let good = ##"{"name":"a","letter":"A","color":"#000000"}"##

    @Test(arguments: [
        ("5", ["bands.s: is a number where the name of a scale or a scale should be"]),
        ("{}", ["bands.s: needs bands"]), (#"{"bands":[]}"#, ["bands.s.bands: is empty; a scale has a band at least"]),
        (
            #"{"bands":[{}]}"#,
            [
                "bands.s.bands[0]: needs name", "bands.s.bands[0]: needs letter", "bands.s.bands[0]: needs color",
            ]
        ),
        (
            "{\"bands\":[\(good),\(good)]}",
            [
                "bands.s.bands[0]: needs up_to: only the last band has no end",
                "bands.s.bands[1]: there is a band 'a' already",
            ]
        ),
        (
            ##"{"bands":[{"name":"a","letter":"A","color":"#000000","up_to":5}]}"##,
            [
                "bands.s.bands[0].up_to: the last band has no end; leave it out"
            ]
        ),
        (
            ##"{"bands":[{"name":"b","letter":"A","color":"#000000","up_to":5},{"name":"c","letter":"A","color":"#000000","up_to":5},"##
                + good + "]}", ["bands.s.bands[1].up_to: is not above the band before it"]
        ),
        (
            ##"{"bands":[{"name":"a","letter":"AB","color":"#000000"}]}"##,
            [
                "bands.s.bands[0].letter: 'AB' is not one visible character"
            ]
        ),
        (
            #"{"bands":[{"name":"a","letter":"A","color":"red"}]}"#,
            [
                "bands.s.bands[0].color: 'red' is no colour; write it like #00b050"
            ]
        ),
        (
            ##"{"bands":[{"name":"a","letter":"A","color":"#000000","up_to":1e999},"## + good + "]}",
            [
                "bands.s.bands[0].up_to: is no number that can be told from others"
            ]
        ),
        ("{\"higher\":1,\"bands\":[\(good)]}", ["bands.s.higher: is no known key"]),
    ])
    func wantsScalesToCoverEverything(_ text: String, _ expected: [String]) {
        let faults = ConfigFixture.faults(Self.scale(text)).map { line in
            line.split(separator: " ", maxSplits: 1).last.map(String.init) ?? ""
        }
        #expect(Set(faults) == Set(expected))
    }

    @Test(arguments: ["X-Shop-Key", "Shop-Token", "x-shop-secret", "X-Shop-Apikey", "Cookie", "X-Auth"])
    func aHeaderThatIsLikelyToBeSecretHasToBe(_ name: String) {
        let faults = ConfigFixture.faults(Self.source("\"headers\":{\"\(name)\":\"hunter2\"}"))
        #expect(faults.count == 1 && faults.first?.contains("headers.\(name): a secret does not stand here") == true)
        #expect(ConfigFixture.faults(Self.source(#""headers":{"X-Keyboard":"de"}"#)) == [])
    }

    @Test(arguments: ["\u{301}", "\u{fe0f}", "\u{e000}", "\u{20dd}", "\u{202e}", "\u{903}"])
    func aBandsLetterIsSeenByItself(_ letter: String) {
        let faults = ConfigFixture.faults(
            Self.scale(##"{"bands":[{"name":"a","letter":"\##(letter)","color":"#000000"}]}"##))
        #expect(faults.count == 1 && faults.first?.hasSuffix("is not one visible character") == true, "\(faults)")
    }

    @Test func aBandsNameHasNoHiddenCharacter() {
        func faults(_ name: String) -> [String] {
            ConfigFixture.faults(Self.scale(##"{"bands":[{"name":"\##(name)","letter":"é","color":"#000000"}]}"##))
        }
        #expect(
            faults("very \u{202e}poor") == [
                #"1:33: bands.s.bands[0].name: 'very \u{202e}poor' holds a character that cannot be seen"#
            ])
        #expect(faults("sehr schlecht ☔\u{fe0f}") == [])
    }

    @Test func tellsEverythingAtOnceUpToALimit() {
        let text = #"{"sources":[\#((0..<80).map { _ in #"{"every":0}"# }.joined(separator: ",\n"))]}"#
        let error = #expect(throws: UsageError.self) { try Configuration.read(ConfigFixture.text(text)) }
        #expect(error?.lines.count == 51)
        #expect(error?.lines.last == "test.jsonc: and 110 more")
        #expect(error?.message == "160 errors in the configuration")
        #expect(error?.description.hasSuffix("\ncatwatch: 160 errors in the configuration") == true)
        #expect(error?.lines.first == "test.jsonc:1:22: sources[0].every: '0' is out of range; write 10ms to 1d")
    }
}
