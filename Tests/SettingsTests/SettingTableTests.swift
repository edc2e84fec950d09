import Glibc
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct SettingTableTests {
    /// Every name that a row has: as a source's key, as a key of the top level, as an option.
    private static let names: Set<String> = Set(
        SettingTable.ofSources.map(\.setting.name) + SettingTable.inFile.map(\.key) + Option.all.map(\.long)
            + Option.all.map(\.flag))

    @Test func everyRowIsReached() {
        // What is only declared and in none of the lists would be a setting that nobody can set.
        let rows = Mirror(reflecting: SettingTable.rows).children.compactMap { $0.value as? any Setting }
        #expect(rows.count == Mirror(reflecting: SettingTable.rows).children.count)
        for row in rows {
            let isOption = row.option != nil && Option.all.contains { $0.long == row.option?.long }
            let isOfSources = SettingTable.ofSources.contains { $0.setting === row }
            #expect(isOption || isOfSources)
        }
        #expect(Set(SettingTable.ofSources.map(\.setting.name)).count == SettingTable.ofSources.count)
    }

    /// Words of the lines (keys, codes, reasons), of the view and of system calls that are names of settings as well.
    private static let others: [String: Set<String>] = [
        "Feed": [
            "alert", "bands", "config", "connect", "count", "format", "from", "items", "n", "name", "output",
            "series", "since", "source",
            "text", "time", "timeout", "total", "type", "unit", "until", "value", "version",
        ],
        "Inputs": ["http", "limit", "n", "replay"],
        "Outputs": ["connect", "from", "journal", "n", "replay", "series", "since", "until"],
        "Reactor": ["connect", "listen"],
        "catwatch": ["count", "duration", "journal", "source", "until"], "Settings": ["alerts", "source"],
        "Terminal": [
            "alert", "alerts", "connect", "help", "history", "n", "name", "next", "output", "pause", "series", "source",
            "speed",
            "summary",
            "text", "type",
            "until",
            "url",
            "value",
            "version",
        ],
    ]

    /// A new setting is one row: its name in quotes stands in one file, and in none outside of the module.
    @Test func aNameStandsInItsRowAlone() throws {
        var inside: [String: Set<String>] = [:]
        var outside: [String: Set<String>] = [:]
        var count = 0
        // Not of the benchmarks, which run programs, nor of the stand-in, whose documents are others'.
        for module in ["Reactor", "Feed", "WebSocket", "Inputs", "Outputs", "Terminal", "Settings", "catwatch"] {
            for path in files("\(ConfigFixture.root)/Sources/\(module)") {
                count += 1
                let text = try ConfigFile.read(path)
                for name in words(in: text.bytes) where Self.names.contains(name) {
                    if Self.others[module]?.contains(name) == true { continue }
                    if module == "Settings" {
                        inside[name, default: []].insert(path)
                    } else {
                        outside[name, default: []].insert(path)
                    }
                }
            }
        }
        #expect(count > 150)
        #expect(outside == [:])
        #expect(inside.filter { $0.value.count != 1 } == [:])
        // The rows have one form of each name: the others are made of it.
        let written = Set(inside.keys)
        for (setting, _) in SettingTable.ofSources { #expect(written.contains(setting.name), "\(setting.name)") }
    }

    /// What stands in quotes in a Swift file, but in comments and single characters.
    private func words(in bytes: [UInt8]) -> Set<String> {
        var words: Set<String> = []
        for line in bytes.split(separator: 0x0A) {
            let text = String(decoding: line, as: UTF8.self)
            if text.drop(while: \.isWhitespace).hasPrefix("//") { continue }
            let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() where index > 0 && index < parts.count - 1 {
                if !parts[index - 1].hasSuffix("ascii: ") { words.insert(String(part)) }
            }
        }
        return words
    }

    private func files(_ folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var files: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            if name.hasSuffix(".swift") {
                files.append("\(folder)/\(name)")
            } else {
                files += self.files("\(folder)/\(name)")
            }
        }
        return files
    }
}
