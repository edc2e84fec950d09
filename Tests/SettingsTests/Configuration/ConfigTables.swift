import Feed
import Nats
import Reactor

@testable import Settings

/// The tables of docs/configuration.md, made from the program's own.
enum ConfigTables {
    /// By the name in the document's markers.
    static var all: [(name: String, text: String)] {
        [
            ("options", options), ("source", source), ("scale", scale), ("alert", alert), ("nats", nats),
            ("cpcb", cpcb),
        ]
    }

    private static var options: String {
        table(
            ["key", "type", "what it says"],
            SettingTable.inFile.map { key, entry, setting in
                [
                    "`\(key)`", type(of: entry, setting.shape),
                    entry.help.prefix(1).uppercased() + entry.help.dropFirst() + ".",
                ]
            })
    }

    private static func type(of entry: Option, _ shape: ValueShape) -> String {
        switch (entry.argument, entry.completion) {
        case (.none, _): return "boolean"
        case (.optional, _):
            return switch shape {
            case .optionalAddress: "true, `HOST:PORT`, or a port"
            case .optionalWords(let words): "true, " + words.map { "or `\($0)`" }.joined(separator: " ")
            default: entry.repeats == .last ? "true, or a path" : "true, a path or URL, or an array of these"
            }
        case (.required(let name), .words(let words)):
            let list = words.map { "`\($0)`" }.joined(separator: ", ")
            return entry.repeats == .last ? "one of \(list)" : "one or several of \(list) (\(name))"
        case (.required, _) where entry.repeats != .last: return "string, or array of strings"
        case (.required, _):
            return switch shape {
            case .duration: "duration"
            case .size: "size"
            case .integer: "whole number"
            case .pointer, .key: "JSON Pointer"
            case .nats: "string, or object"
            case .states: "array of strings"
            default: "string"
            }
        }
    }

    private static var source: String {
        table(
            ["key", "type", "default", "for", "what it says"],
            SettingTable.ofSources.map { setting, key in
                ["`\(setting.name)`", type(of: setting.shape), initial(of: setting, key), kinds(of: key), key.help]
            })
    }

    private static func initial(of setting: any Setting, _ key: InSource) -> String {
        var values: [(text: String, kinds: [String])] = []
        for kind in key.kinds {
            guard let text = SettingValues.initial(for: kind).entry(of: setting)?.tree.line else { continue }
            if let index = values.firstIndex(where: { $0.text == text }) {
                values[index].kinds.append(kind.rawValue)
            } else {
                values.append((text, [kind.rawValue]))
            }
        }
        if values.count == 1, values[0].kinds.count == key.kinds.count { return "`\(values[0].text)`" }
        return values.map { "`\($0.text)` (\($0.kinds.joined(separator: ", ")))" }.joined(separator: ", ")
    }

    private static func kinds(of key: InSource) -> String {
        let others = SourceKind.allCases.filter { !key.kinds.contains($0) }.map(\.rawValue)
        switch others.count {
        case 0: return "all"
        case 1...2: return "all but " + others.joined(separator: ", ")
        default: return key.kinds.map(\.rawValue).joined(separator: ", ")
        }
    }

    private static func type(of shape: ValueShape) -> String {
        switch shape {
        case .string, .path, .optionalPath, .optionalAddress, .optionalWords, .color: "string"
        case .number: "number"
        case .bands: "array of bands"
        case .name: "string of 1 to \(SourceName.maximumLength) characters"
        case .words(let words): "one of " + words.map { "`\($0)`" }.joined(separator: ", ")
        case .boolean: "boolean"
        case .integer(let range): "whole number, \(range.lowerBound) to \(range.upperBound)"
        case .size(let range):
            "size, \(ByteSize.format(range.lowerBound)) to \(ByteSize.format(range.upperBound))"
        case .duration(let range):
            "duration, \(DurationText.format(range.lowerBound)) to \(DurationText.format(range.upperBound))"
        case .durationOrFalse: "duration, or false"
        case .conditions: "string, or array of strings"
        case .pointer(let orNull): orNull ? "JSON Pointer or null" : "JSON Pointer"
        case .key: "JSON Pointer, `\"#\"` or null"
        case .url: "string"
        case .headers: "object of strings and secrets"
        case .secret: "secret"
        case .basic: "object"
        case .tokens, .origins, .states: "array of strings"
        case .patterns, .servers: "string, or array of strings"
        case .message: "string, or any JSON"
        case .nats: "string or object"
        case .scale: "string or scale"
        }
    }

    private static var scale: String {
        object("key of a scale", ConfigScale.keys) + "\n\n" + object("key of a band", ConfigScale.bandKeys)
    }

    private static var alert: String { object("key", ConfiguredAlert.keys) }

    private static var nats: String { object("key", NatsSettings.keys) }

    /// The keys of an object within a setting, whose limits are in their help.
    private static func object<Root>(_ head: String, _ keys: [ObjectKey<Root>]) -> String {
        table(
            [head, "type", "what it says"],
            keys.map { key in
                let type =
                    switch key.shape {
                    case .duration: "duration"
                    case .string(limit: 1): "string of one character"
                    default: type(of: key.shape)
                    }
                return ["`\(key.name)`", type, key.help]
            })
    }

    private static var cpcb: String {
        table(
            ["band", "letter", "colour", "up to"],
            (ConfigScale.builtIn["cpcb"]?.bands ?? []).map { band in
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

extension Preset {
    /// The source as a configuration has it.
    var tree: JSONTree {
        .object(
            SettingTable.ofSources.compactMap { setting, _ in
                if setting === SettingTable.rows.url, let url = values[\.url] {
                    return .init(setting.name, .string(url.withoutUserInfo))
                }
                return values.entry(of: setting).map { .init(setting.name, $0.tree) }
            })
    }
}
