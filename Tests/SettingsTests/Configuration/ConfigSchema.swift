import Conditions
import Feed
import Inputs
import Nats

@testable import Settings

/// docs/config.schema.json, made from the program's tables (JSON Schema 2020-12).
enum ConfigSchema {
    typealias Member = JSONTree.Member

    /// Made once, which takes a tenth of a second in a debug build.
    static let text: String = {
        var properties: [Member] = [Member("$schema", .object([Member("type", .string("string"))]))]
        for row in SettingTable.inFile { properties.append(Member(row.key, option(row.option, row.setting.shape))) }
        properties.append(
            Member(
                "bands",
                described(
                    "Scales of bands, by the names that sources call them.",
                    [
                        Member("type", .string("object")),
                        Member(
                            "propertyNames",
                            .object([
                                Member("minLength", .integer(1)),
                                Member("maxLength", .integer(SourceName.maximumLength)),
                                Member("not", .object([Member("enum", .strings(ConfigScale.builtIn.keys.sorted()))])),
                            ])),
                        Member("additionalProperties", reference("scale")),
                    ])))
        properties.append(
            Member(
                "sources",
                described(
                    "What to watch.",
                    [
                        Member("type", .string("array")), Member("maxItems", .integer(Configuration.mostSources)),
                        Member("items", reference("source")),
                    ])))
        properties.append(
            Member(
                "alerts",
                described(
                    "What a person wants to be told: conditions, or objects with a condition.",
                    [
                        Member("type", .string("array")), Member("maxItems", .integer(AlertRule.mostConditions)),
                        Member(
                            "items",
                            .object([Member("anyOf", .array([condition, object(ConfiguredAlert.keys)]))])),
                    ])))
        return JSONTree.object([
            Member("$schema", .string("https://json-schema.org/draft/2020-12/schema")),
            Member("title", .string("A configuration of catwatch")),
            Member("type", .string("object")),
            Member("additionalProperties", .boolean(false)),
            Member("properties", .object(properties)),
            Member(
                "$defs",
                .object([
                    Member("source", source), Member("scale", object(ConfigScale.keys)), Member("secret", secret),
                    Member("duration", duration(nil)), Member("size", size(nil)),
                ])),
        ]).text
    }()

    // MARK: Options

    private static func option(_ entry: Option, _ shape: ValueShape) -> JSONTree {
        let help = entry.help.prefix(1).uppercased() + entry.help.dropFirst() + "."
        switch (entry.argument, entry.completion) {
        case (.none, _): return described(help, [Member("type", .string("boolean"))])
        case (.optional, _):
            if entry.repeats != .last {
                let item: [Member] = [
                    Member("type", .strings(["boolean", "string"])), Member("minLength", .integer(1)),
                ]
                let array: [Member] = [Member("type", .string("array")), Member("items", .object(item))]
                return described(help, [Member("anyOf", .array([.object(item), .object(array)]))])
            }
            let port: [Member] = [Member("minimum", .integer(0)), Member("maximum", .integer(65_535))]
            return described(
                help,
                [
                    Member("type", .strings(["boolean", "string"] + (entry.takesNumber ? ["integer"] : []))),
                    Member("minLength", .integer(1)),
                ] + (entry.takesNumber ? port : []))
        case (.required, let completion):
            if entry.repeats != .last {
                var item: [Member] = [Member("type", .string("string")), Member("minLength", .integer(1))]
                if case .words(let words) = completion { item = [Member("enum", .strings(words))] }
                let array: [Member] = [Member("type", .string("array")), Member("items", .object(item))]
                return described(help, [Member("anyOf", .array([.object(item), .object(array)]))])
            }
            if case .words(let words) = completion { return described(help, [Member("enum", .strings(words))]) }
            switch shape {
            case .duration: return described(help, [Member("$ref", .string("#/$defs/duration"))])
            case .size: return described(help, [Member("$ref", .string("#/$defs/size"))])
            case .integer: return described(help, [Member("type", .strings(["integer", "string"]))])
            case .nats:
                let ways: [JSONTree] = [.object(string(8_192)), object(NatsSettings.keys)]
                return described(help, [Member("anyOf", .array(ways))])
            case .key: return described(help, pointer("string", isKey: true))
            case .pointer: return described(help, pointer("string", isKey: false))
            case .states: return described(help, constraints(shape))
            default: return described(help, [Member("type", .string("string")), Member("minLength", .integer(1))])
            }
        }
    }

    // MARK: Sources

    private static var source: JSONTree {
        let properties = SettingTable.ofSources.map { setting, key in
            let kinds = key.kinds.count == SourceKind.allCases.count ? "" : " For " + list(key.kinds) + "."
            return Member(setting.name, described(key.help + kinds, constraints(setting.shape)))
        }
        let kinds = SourceKind.allCases.map { kind in
            let names = SettingTable.ofSources.filter { $0.source.kinds.contains(kind) }.map(\.setting.name)
            var then: [Member] = [Member("propertyNames", .object([Member("enum", .strings(names))]))]
            if let required = required(kind) { then.append(required) }
            return JSONTree.object([
                Member(
                    "if",
                    .object([
                        Member(
                            "properties",
                            .object([Member("kind", .object([Member("const", .string(kind.rawValue))]))])),
                        Member("required", .strings(["kind"])),
                    ])), Member("then", .object(then)),
            ])
        }
        return .object([
            Member("type", .string("object")), Member("additionalProperties", .boolean(false)),
            Member("properties", .object(properties)), Member("allOf", .array(kinds)),
        ])
    }

    /// What a kind needs, unless a preset brings it along.
    private static func required(_ kind: SourceKind) -> Member? {
        let preset = JSONTree.object([Member("required", .strings(["preset"]))])
        let own: JSONTree
        switch kind {
        case .http, .websocket, .feed: own = .object([Member("required", .strings(["url"]))])
        case .pages:
            let ways = ["next", "page_parameter"].map { JSONTree.object([Member("required", .strings([$0]))]) }
            own = .object([Member("required", .strings(["url", "items"])), Member("oneOf", .array(ways))])
        case .fibonacci: own = .object([Member("required", .strings(["n"]))])
        case .file: own = .object([Member("required", .strings(["path"]))])
        case .stdin: return nil
        }
        return Member("anyOf", .array([preset, own]))
    }

    private static func constraints(_ shape: ValueShape) -> [Member] {
        switch shape {
        case .string(let limit): return string(limit)
        case .path: return string(4_096)
        case .optionalPath, .optionalAddress, .optionalWords: return []
        case .name:
            return string(SourceName.maximumLength) + [
                Member("pattern", .string(SchemaPattern.name)),
                Member("not", .object([Member("enum", .strings(ReservedNames.all.sorted()))])),
            ]
        case .words(let words): return [Member("enum", .strings(words))]
        case .boolean: return [Member("type", .string("boolean"))]
        case .integer(let range): return [Member("type", .string("integer"))] + limits(range)
        case .size(let range): return members(size(range))
        case .duration(let range): return members(duration(range))
        case .durationOrFalse(let range):
            return [Member("anyOf", .array([.object([Member("const", .boolean(false))]), duration(range)]))]
        case .conditions:
            let array: [Member] = [
                Member("type", .string("array")), Member("minItems", .integer(1)),
                Member("maxItems", .integer(ConfiguredAlert.mostLines)), Member("items", condition),
            ]
            return [Member("anyOf", .array([condition, .object(array)]))]
        case .pointer(let orNull): return pointer(orNull ? nil : "string", isKey: false)
        case .key: return pointer(nil, isKey: true)
        case .url: return string(8_192) + [Member("pattern", .string(SchemaPattern.url))]
        case .headers:
            let value = JSONTree.object([
                Member("anyOf", .array([.object([Member("type", .string("string"))]), reference("secret")]))
            ])
            return [
                Member("type", .string("object")),
                Member("propertyNames", .object([Member("pattern", .string(SchemaPattern.token))])),
                Member("additionalProperties", value),
            ]
        case .secret: return members(reference("secret"))
        case .basic: return members(object(BasicCredentials.keys))
        case .tokens:
            return [
                Member("type", .string("array")), Member("maxItems", .integer(32)),
                Member("uniqueItems", .boolean(true)),
                Member("items", .object(string(256) + [Member("pattern", .string(SchemaPattern.token))])),
            ]
        case .origins:
            return [
                Member("type", .string("array")), Member("maxItems", .integer(Types.mostOrigins)),
                Member("uniqueItems", .boolean(true)),
                Member("items", .object(string(512) + [Member("pattern", .string(SchemaPattern.origin))])),
            ]
        case .patterns:
            let pattern = string(ItemChoice.longestPattern)
            return [
                Member(
                    "anyOf",
                    .array([
                        .object(pattern),
                        .object([
                            Member("type", .string("array")), Member("minItems", .integer(1)),
                            Member("maxItems", .integer(ItemChoice.mostPatterns)),
                            Member("uniqueItems", .boolean(true)), Member("items", .object(pattern)),
                        ]),
                    ]))
            ]
        case .states:
            return [
                Member("type", .string("array")), Member("minItems", .integer(1)),
                Member("maxItems", .integer(BandScale.mostBands)), Member("uniqueItems", .boolean(true)),
                Member("items", .object(string(BandScale.longestName))),
            ]
        case .message, .nats: return []
        case .scale: return [Member("anyOf", .array([.object(string(64)), reference("scale")]))]
        case .bands:
            return [
                Member("type", .string("array")), Member("minItems", .integer(1)),
                Member("maxItems", .integer(ConfigScale.mostBands)), Member("items", object(ConfigScale.bandKeys)),
            ]
        case .color: return [Member("type", .string("string")), Member("pattern", .string(SchemaPattern.color))]
        case .number: return [Member("type", .string("number"))]
        case .servers:
            let server = JSONTree.object(string(4_096))
            let array: [Member] = [
                Member("type", .string("array")), Member("items", server), Member("minItems", .integer(1)),
                Member("maxItems", .integer(NatsSettings.mostServers)),
            ]
            return [Member("anyOf", .array([server, .object(array)]))]
        }
    }

    // MARK: Parts

    /// An object with these keys.
    ///
    /// - Parameter rules: what holds besides.
    private static func object<Root>(_ keys: [ObjectKey<Root>], _ rules: [Member] = []) -> JSONTree {
        let needed = keys.filter(\.isNeeded).map(\.name)
        let properties = keys.map { key in
            Member(key.name, described(key.help.isEmpty ? nil : key.help, constraints(key.shape)))
        }
        return .object(
            [Member("type", .string("object")), Member("additionalProperties", .boolean(false))]
                + (needed.isEmpty ? [] : [Member("required", .strings(needed))]) + rules
                + [Member("properties", .object(properties))])
    }

    private static var condition: JSONTree { .object(string(4_096)) }

    private static var secret: JSONTree {
        let ways = ["env", "file"].map { JSONTree.object([Member("required", .strings([$0]))]) }
        return object(Secret.keys, [Member("oneOf", .array(ways))])
    }

    private static func duration(_ range: ClosedRange<Duration>?) -> JSONTree {
        var number: [Member] = [Member("type", .string("number"))]
        if let range {
            number += [
                Member("minimum", .number(range.lowerBound / .seconds(1))),
                Member("maximum", .number(range.upperBound / .seconds(1))),
            ]
        }
        let text: [Member] = [Member("type", .string("string")), Member("pattern", .string(SchemaPattern.duration))]
        return .object([Member("anyOf", .array([.object(number), .object(text)]))])
    }

    private static func size(_ range: ClosedRange<Int>?) -> JSONTree {
        let number: [Member] = [Member("type", .string("integer"))] + (range.map(limits) ?? [])
        let text: [Member] = [Member("type", .string("string")), Member("pattern", .string(SchemaPattern.size))]
        return .object([Member("anyOf", .array([.object(number), .object(text)]))])
    }

    private static func pointer(_ type: String?, isKey: Bool) -> [Member] {
        [
            Member("type", type.map(JSONTree.string) ?? .strings(["string", "null"])),
            Member("pattern", .string(isKey ? SchemaPattern.key : SchemaPattern.pointer)),
        ]
    }

    private static func limits(_ range: ClosedRange<Int>) -> [Member] {
        [Member("minimum", .integer(range.lowerBound)), Member("maximum", .integer(range.upperBound))]
    }

    private static func string(_ limit: Int) -> [Member] {
        [Member("type", .string("string")), Member("minLength", .integer(1)), Member("maxLength", .integer(limit))]
    }

    private static func described(_ help: String?, _ members: [Member]) -> JSONTree {
        .object((help.map { [Member("description", .string($0))] } ?? []) + members)
    }

    private static func reference(_ name: String) -> JSONTree { .object([Member("$ref", .string("#/$defs/\(name)"))]) }

    private static func members(_ tree: JSONTree) -> [Member] {
        guard case .object(let members) = tree.value else { return [] }
        return members
    }

    private static func list(_ kinds: [SourceKind]) -> String {
        kinds.map { "`\($0.rawValue)`" }.joined(separator: ", ")
    }
}
