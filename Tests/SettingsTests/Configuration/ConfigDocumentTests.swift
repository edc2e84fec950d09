import Nats
import TestSupport
import Testing

@testable import Settings

/// The documents beside the program say what it does.
///
/// `CATWATCH_WRITE_DOCS=1 swift test --filter ConfigDocumentTests` writes them anew.
@Suite(.limited) struct ConfigDocumentTests {
    @Test func theSchemaIsTheProgramsOwn() throws {
        let path = "docs/config.schema.json"
        ConfigFixture.rewrite(path, ConfigSchema.text)
        #expect(try ConfigFixture.file(path) == ConfigSchema.text)
    }

    @Test func theTablesAreTheProgramsOwn() throws {
        let path = "docs/configuration.md"
        let document = try ConfigFixture.file(path)
        var rewritten = document
        for table in ConfigTables.all {
            let begin = "<!-- generated: \(table.name) -->\n"
            let end = "\n<!-- end: \(table.name) -->"
            let head = try #require(rewritten.firstRange(of: begin), "\(table.name)")
            let tail = try #require(rewritten.firstRange(of: end), "\(table.name)")
            rewritten.replaceSubrange(head.upperBound..<max(head.upperBound, tail.lowerBound), with: table.text)
        }
        ConfigFixture.rewrite(path, rewritten)
        #expect(try ConfigFixture.file(path) == rewritten)
    }

    @Test func theTemplateMentionsEveryKey() throws {
        let template = try ConfigFixture.example("catwatch")
        let keys =
            SettingTable.inFile.map(\.key) + SettingTable.ofSources.map(\.setting.name)
            + ConfigScale.keys.map(\.name) + ConfigScale.bandKeys.map(\.name) + NatsSettings.keys.map(\.name)
            + ConfiguredAlert.keys.map(\.name) + [Configuration.alertsKey]
        for key in keys { #expect(template.contains("\"\(key)\":"), "\(key)") }
    }

    @Test(arguments: ConfigFixture.examples)
    func theSchemaTakesTheExamples(_ name: String) throws {
        #expect(try SchemaValidator.own.get().accepts(ConfigFixture.example(name)))
    }

    /// What a schema can say: not how values go together, nor the range of `"500ms"`.
    @Test(arguments: [
        #"{"nats": "nats://h"}"#, #"{"nats": {"urls": ["nats://h"]}}"#,
        #"{"nats": {"urls": "nats://h", "lines": true}}"#,
        #"{"nats": {}}"#, #"{"nats": []}"#, #"{"nats": {"urls": []}}"#,
        #"{"nats": {"urls": "nats://h", "every": "1s"}}"#,
        #"{"nats": {"urls": "nats://h", "password": "x"}}"#,
        "{}", "[]", "5", #"{"interval": 10}"#, #"{"interval": "10s"}"#, #"{"interval": "10 s"}"#,
        #"{"interval": true}"#,
        #"{"intervall": 10}"#, #"{"once": true}"#, #"{"once": "html"}"#, #"{"once": "ndjson"}"#, #"{"once": 1}"#,
        #"{"verbose": true}"#,
        #"{"verbose": 1}"#, #"{"listen": true}"#, #"{"listen": "/x"}"#,
        #"{"listen": ""}"#, #"{"listen": 5}"#, #"{"connect": "unix:/x"}"#, #"{"connect": ["unix:/x"]}"#,
        #"{"connect": [5]}"#, #"{"output": "none"}"#, #"{"output": "nothing"}"#, #"{"count": 5}"#, #"{"count": "5"}"#,
        #"{"count": 1.5}"#, #"{"log_bytes": "2MiB"}"#, #"{"log_bytes": "2miles"}"#, #"{"value": "/a"}"#,
        #"{"value": "a"}"#, #"{"value": null}"#, ##"{"key": "#", "items": ""}"##, #"{"preset": ["fact"]}"#,
        #"{"preset": "dogs"}"#, #"{"preset": ["cats"]}"#, #"{"sources": []}"#, #"{"sources": {}}"#,
        #"{"sources": [{"preset": "fact"}]}"#, #"{"sources": [{"preset": "all"}]}"#,
        #"{"sources": [{"url": "http://h/"}]}"#, #"{"sources": [{"url": "gopher://h/"}]}"#,
        #"{"sources": [{"url": "http://me@h/"}]}"#, #"{"sources": [{"url": 5}]}"#,
        #"{"sources": [{"kind": "http", "every": 1}]}"#, #"{"sources": [{"kind": "stdin", "every": 1}]}"#,
        #"{"sources": [{"kind": "stdin", "max_line": 64}]}"#, #"{"sources": [{"kind": "stdin", "max_line": 63}]}"#,
        #"{"sources": [{"kind": "fibonacci"}]}"#, #"{"sources": [{"kind": "fibonacci", "n": 100000}]}"#,
        #"{"sources": [{"kind": "fibonacci", "n": 100001}]}"#, #"{"sources": [{"kind": "fibonacci", "n": 1e3}]}"#,
        #"{"sources": [{"kind": "fibonacci", "n": 1, "every": 0.01}]}"#,
        #"{"sources": [{"kind": "fibonacci", "n": 1, "every": 0.001}]}"#,
        #"{"sources": [{"kind": "fibonacci", "n": 1, "emit": "all"}]}"#,
        #"{"sources": [{"kind": "pages", "url": "http://h/", "items": ""}]}"#,
        #"{"sources": [{"kind": "pages", "url": "http://h/", "items": "", "next": "/n"}]}"#,
        #"{"sources": [{"kind": "pages", "url": "http://h/", "items": "", "next": null}]}"#,
        #"{"sources": [{"kind": "pages", "url": "http://h/", "items": "", "next": "/n", "page_parameter": "p"}]}"#,
        #"{"sources": [{"kind": "websocket", "url": "ws://h/", "subscribe": {"a": [1]}, "subprotocols": ["a"]}]}"#,
        #"{"sources": [{"kind": "websocket", "url": "ws://h/", "subprotocols": ["a", "a"]}]}"#,
        #"{"sources": [{"kind": "websocket", "url": "ws://h/", "subprotocols": ["a b"]}]}"#,
        #"{"sources": [{"url": "http://h/", "pictures": []}]}"#,
        #"{"sources": [{"url": "http://h/", "pictures": ["https://a.b", "HTTPS://c:8443/"]}]}"#,
        #"{"sources": [{"url": "http://h/", "pictures": ["https://a.b", "https://a.b"]}]}"#,
        #"{"sources": [{"url": "http://h/", "pictures": ["http://a.b"]}]}"#,
        #"{"sources": [{"url": "http://h/", "pictures": ["https://a.b/c"]}]}"#,
        #"{"sources": [{"url": "http://h/", "pictures": ["https://*.b"]}]}"#,
        #"{"sources": [{"url": "http://h/", "pictures": "https://a.b"}]}"#,
        #"{"sources": [{"kind": "fibonacci", "n": 1, "pictures": []}]}"#,
        #"{"sources": [{"url": "http://h/", "value": "/s", "states": ["a", "b"]}]}"#,
        #"{"sources": [{"url": "http://h/", "value": "/s", "states": ["a", "a"]}]}"#,
        #"{"sources": [{"url": "http://h/", "value": "/s", "states": []}]}"#,
        #"{"sources": [{"url": "http://h/", "value": "/s", "states": "a"}]}"#,
        #"{"sources": [{"url": "http://h/", "value": "/s", "states": [""]}]}"#,
        #"{"states": ["a"], "value": "/s"}"#, #"{"states": "a", "value": "/s"}"#,
        #"{"sources": [{"url": "http://h/", "name": "stats"}]}"#,
        #"{"sources": [{"url": "http://h/", "name": "a/b"}]}"#,
        #"{"sources": [{"url": "http://h/", "name": "ä"}]}"#, #"{"sources": [{"url": "http://h/", "bearer": "x"}]}"#,
        #"{"sources": [{"url": "http://h/", "bearer": {"env": "X"}}]}"#,
        #"{"sources": [{"url": "http://h/", "bearer": {"env": "X", "file": "y"}}]}"#,
        #"{"sources": [{"url": "http://h/", "bearer": {}}]}"#,
        #"{"sources": [{"url": "http://h/", "basic": {"user": "a", "password": {"file": "y"}}}]}"#,
        #"{"sources": [{"url": "http://h/", "basic": {"user": "a"}}]}"#,
        #"{"sources": [{"url": "http://h/", "headers": {"a": "b", "c": {"env": "D", "optional": true}}}]}"#,
        #"{"sources": [{"url": "http://h/", "headers": {"a b": "c"}}]}"#,
        #"{"sources": [{"url": "http://h/", "headers": {"a": 5}}]}"#,
        #"{"sources": [{"url": "http://h/", "bands": "cpcb"}]}"#, #"{"sources": [{"url": "http://h/", "bands": 5}]}"#,
        ##"{"bands": {"s": {"bands": [{"name": "a", "letter": "A", "color": "#00ff00"}]}}}"##,
        ##"{"bands": {"cpcb": {"bands": [{"name": "a", "letter": "A", "color": "#00ff00"}]}}}"##,
        ##"{"bands": {"s": {"bands": [{"name": "a", "letter": "A", "color": "#00ff0"}]}}}"##,
        ##"{"bands": {"s": {"bands": [{"name": "a", "letter": "AB", "color": "#00ff00"}]}}}"##,
        #"{"alerts": []}"#, #"{"alerts": {}}"#, #"{"alerts": ["> 5"]}"#, #"{"alerts": [""]}"#, #"{"alerts": [5]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5"}]}"#, #"{"alerts": [{"name": "a", "when": ["> 5", "< 1"]}]}"#,
        #"{"alerts": [{"name": "a"}]}"#, #"{"alerts": [{"when": "> 5"}]}"#,
        #"{"alerts": [{"name": "", "when": "> 5"}]}"#,
        #"{"alerts": [{"name": "a", "when": []}]}"#, #"{"alerts": [{"name": "a", "when": 5}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "remind": false, "note": "n", "severity": "info"}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "remind": true}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "remind": "5m"}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "remind": 59}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "remind": 60}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "severity": "bad"}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "note": ""}]}"#,
        #"{"alerts": [{"name": "a", "when": "> 5", "notes": "n"}]}"#,
        #"{"bands": {"s": {"bands": []}}}"#, #"{"bands": {"s": {}}}"#, #"{"$schema": "x"}"#, #"{"$schema": 5}"#,
    ])
    func theSchemaAndTheProgramAgree(_ document: String) throws {
        let faults = ConfigFixture.faults(document)
        #expect(try SchemaValidator.own.get().accepts(document) == faults.isEmpty, "\(faults)")
    }
}

extension String {
    /// Where a part is; nil when it is not there. (The standard library's own needs the regular expressions' engine.)
    fileprivate func firstRange(of part: String) -> Range<Index>? {
        var start = utf8.startIndex
        while start < utf8.endIndex {
            if utf8[start...].starts(with: part.utf8) {
                return start..<utf8.index(start, offsetBy: part.utf8.count)
            }
            start = utf8.index(after: start)
        }
        return nil
    }
}
