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
