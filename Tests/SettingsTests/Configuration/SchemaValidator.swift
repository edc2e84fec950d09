import Testing

@testable import Settings

/// As much of JSON Schema 2020-12 as docs/config.schema.json uses; anything else in it is a failure of the test.
struct SchemaValidator {
    private let root: JSONTree

    /// Of the program's own schema, which is read once.
    static let own = Result { try SchemaValidator(ConfigSchema.text) }

    init(_ schema: String) throws { root = try JSONTree.parse(ConfigFixture.text(schema)) }

    func accepts(_ document: String) throws -> Bool {
        accepts(try JSONTree.parse(ConfigFixture.text(document)), root)
    }

    private func accepts(_ node: JSONTree, _ schema: JSONTree) -> Bool {
        switch schema.value {
        case .boolean(let flag): return flag
        case .object(let keywords): return keywords.allSatisfy { holds($0.name, $0.value, node, schema) }
        default:
            Issue.record("a schema is \(schema.kind)")
            return false
        }
    }

    private func holds(_ keyword: String, _ value: JSONTree, _ node: JSONTree, _ schema: JSONTree) -> Bool {
        switch keyword {
        case "$schema", "title", "description", "$defs", "then": return true
        case "$ref":
            let name = value.string?.split(separator: "/").last.map(String.init) ?? ""
            guard let target = root["$defs"]?[name] else {
                Issue.record("no definition \(name)")
                return false
            }
            return accepts(node, target)
        case "type": return (value.strings ?? [value.string ?? ""]).contains { isOf($0, node) }
        case "enum": return value.strings?.contains { $0 == node.string } ?? false
        case "const": return value.value == node.value
        case "anyOf": return value.elements.contains { accepts(node, $0) }
        case "oneOf": return value.elements.count { accepts(node, $0) } == 1
        case "allOf": return value.elements.allSatisfy { accepts(node, $0) }
        case "not": return !accepts(node, value)
        case "if": return !accepts(node, value) || schema["then"].map { accepts(node, $0) } ?? true
        default: return holdsForKind(keyword, value, node, schema)
        }
    }

    private func holdsForKind(
        _ keyword: String, _ value: JSONTree, _ node: JSONTree, _ schema: JSONTree
    ) -> Bool {
        switch keyword {
        case "minimum": return node.number.map { $0 >= value.number ?? .nan } ?? true
        case "maximum": return node.number.map { $0 <= value.number ?? .nan } ?? true
        case "minLength": return node.string.map { Double($0.unicodeScalars.count) >= value.number ?? .nan } ?? true
        case "maxLength": return node.string.map { Double($0.unicodeScalars.count) <= value.number ?? .nan } ?? true
        case "pattern":
            guard let text = node.string else { return true }
            guard let matches = SchemaPattern.matches(text, value.string ?? "") else {
                Issue.record("unknown pattern \(value.string ?? "")")
                return false
            }
            return matches
        case "required":
            guard case .object(let members) = node.value else { return true }
            return (value.strings ?? []).allSatisfy { name in members.contains { $0.name == name } }
        case "properties":
            guard case .object(let members) = node.value else { return true }
            return members.allSatisfy { member in value[member.name].map { accepts(member.value, $0) } ?? true }
        case "additionalProperties":
            guard case .object(let members) = node.value else { return true }
            return members.allSatisfy { schema["properties"]?[$0.name] != nil || accepts($0.value, value) }
        case "propertyNames":
            guard case .object(let members) = node.value else { return true }
            return members.allSatisfy { accepts(JSONTree.string($0.name), value) }
        case "items": return node.elements.allSatisfy { accepts($0, value) }
        case "minItems": return node.isArray ? Double(node.elements.count) >= value.number ?? .nan : true
        case "maxItems": return node.isArray ? Double(node.elements.count) <= value.number ?? .nan : true
        case "uniqueItems": return Set(node.elements.map(\.compact)).count == node.elements.count
        default:
            Issue.record("unknown keyword \(keyword)")
            return false
        }
    }

    private func isOf(_ type: String, _ node: JSONTree) -> Bool {
        switch (type, node.value) {
        case ("object", .object), ("array", .array), ("string", .string), ("number", .number), ("boolean", .boolean),
            ("null", .null):
            true
        case ("integer", .number(let text)): Double(text).map { $0 == $0.rounded() } ?? false
        default: false
        }
    }
}

extension JSONTree {
    fileprivate subscript(name: String) -> JSONTree? {
        guard case .object(let members) = value else { return nil }
        return members.first { $0.name == name }?.value
    }

    fileprivate var string: String? {
        guard case .string(let text) = value else { return nil }
        return text
    }

    fileprivate var number: Double? {
        guard case .number(let text) = value else { return nil }
        return Double(text)
    }

    fileprivate var elements: [JSONTree] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }

    fileprivate var isArray: Bool {
        guard case .array = value else { return false }
        return true
    }

    fileprivate var strings: [String]? { isArray ? elements.compactMap(\.string) : nil }
}
