import Feed

@testable import Settings

/// The tables of docs/configuration.md, made from the program's own.
enum ConfigTables {
    /// By the name in the document's markers.
    static var all: [(name: String, text: String)] {
        [("options", options), ("source", source), ("scale", scale), ("presets", presets), ("cpcb", cpcb)]
    }

    private static var options: String {
        table(
            ["key", "type", "what it says"],
            Configuration.options.map { entry in
                ["`\(entry.key)`", type(of: entry), entry.help.prefix(1).uppercased() + entry.help.dropFirst() + "."]
            })
    }

    private static func type(of entry: OptionTable.Entry) -> String {
        switch (entry.argument, entry.completion) {
        case (.none, _): return "boolean"
        case (.optional, _): return "true, or a path"
        case (.required(let name), .words(let words)):
            let list = words.map { "`\($0)`" }.joined(separator: ", ")
            return entry.repeats == .last ? "one of \(list)" : "one or several of \(list) (\(name))"
        case (.required, _) where entry.repeats != .last: return "string, or array of strings"
        case (.required("DURATION"), _): return "duration"
        case (.required("SIZE"), _): return "size"
        case (.required("N"), _): return "whole number"
        case (.required("POINTER"), _): return "JSON Pointer"
        case (.required, _): return "string"
        }
    }

    private static var source: String {
        table(
            ["key", "type", "default", "for", "what it says"],
            ConfigKey.source.map { key in
                ["`\(key.name)`", type(of: key.type), initial(of: key), kinds(of: key), key.help]
            })
    }

    private static func initial(of key: ConfigKey) -> String {
        var values: [(text: String, kinds: [String])] = []
        for kind in key.kinds {
            guard let text = key.initial(for: kind) else { continue }
            if let index = values.firstIndex(where: { $0.text == text }) {
                values[index].kinds.append(kind.rawValue)
            } else {
                values.append((text, [kind.rawValue]))
            }
        }
        if values.count == 1, values[0].kinds.count == key.kinds.count { return "`\(values[0].text)`" }
        return values.map { "`\($0.text)` (\($0.kinds.joined(separator: ", ")))" }.joined(separator: ", ")
    }

    private static func kinds(of key: ConfigKey) -> String {
        key.kinds.count == SourceKind.allCases.count ? "all" : key.kinds.map(\.rawValue).joined(separator: ", ")
    }

    private static func type(of type: ConfigType) -> String {
        switch type {
        case .string: "string"
        case .name: "string of 1 to \(SourceName.maximumLength) characters"
        case .words(let words): "one of " + words.map { "`\($0)`" }.joined(separator: ", ")
        case .boolean: "boolean"
        case .integer(let range): "whole number, \(range.lowerBound) to \(range.upperBound)"
        case .size(let range):
            "size, \(ByteSize.format(range.lowerBound)) to \(ByteSize.format(range.upperBound))"
        case .duration(let range):
            "duration, \(DurationText.format(range.lowerBound)) to \(DurationText.format(range.upperBound))"
        case .pointer(let orNull): orNull ? "JSON Pointer or null" : "JSON Pointer"
        case .key: "JSON Pointer, `\"#\"` or null"
        case .url: "string"
        case .headers: "object of strings and secrets"
        case .secret: "secret"
        case .basic: "object"
        case .tokens: "array of strings"
        case .message: "string, or any JSON"
        case .scale: "string or scale"
        }
    }

    private static var scale: String {
        let types = [
            "unit": "string", "higher_is_better": "boolean", "bands": "array of bands", "name": "string",
            "letter": "string of one character", "color": "string", "up_to": "number",
        ]
        func rows(_ keys: [(name: String, help: String)]) -> [[String]] {
            keys.map { ["`\($0.name)`", types[$0.name] ?? "", $0.help] }
        }
        return table(["key of a scale", "type", "what it says"], rows(ConfigReader.scaleKeys)) + "\n\n"
            + table(["key of a band", "type", "what it says"], rows(ConfigReader.bandKeys))
    }

    private static var presets: String {
        Options.Preset.single.map { "`\($0.rawValue)`:\n\n```jsonc\n\($0.text)\n```" }.joined(separator: "\n\n")
    }

    private static var cpcb: String {
        table(
            ["band", "letter", "colour", "up to"],
            (BuiltInScales.all["cpcb"]?.scale.bands ?? []).map { band in
                [
                    band.name, String(band.letter), "`\(band.color.hex)`",
                    band.upTo.map { "\(Int($0))" } ?? "no end",
                ]
            })
    }

    private static func table(_ head: [String], _ rows: [[String]]) -> String {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        return ([line(head), line(head.map { _ in "---" })] + rows.map(line)).joined(separator: "\n")
    }
}
