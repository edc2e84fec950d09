internal import Feed

/// Converts an event's `data` to rows of a table.
struct EventFields {
    /// A value of the document that is not a container.
    struct Field: Equatable {
        /// Keys and positions from the outside in, joined by points: `breeds.0.life_span`.
        var path: String
        /// A string's text, or another value as JSON.
        var value: String
    }

    private static let longestPath = 200
    private static let mostFields = 200
    private static let deepest = 8

    /// The fields of a document in its order; none when it is not JSON.
    static func read(_ data: [UInt8]) -> [Field] {
        var fields: [Field] = []
        if let document = try? JSONDocument(data[...]) { collect(document, path: "", depth: 0, &fields) }
        return fields
    }

    private static func collect(_ value: JSONDocument, path: String, depth: Int, _ fields: inout [Field]) {
        guard fields.count < mostFields else { return }
        func step(_ name: String) -> String { path.isEmpty ? name : path + "." + name }
        switch value.kind {
        case .object where depth < deepest && path.utf8.count < longestPath:
            for member in value.members {
                collect(
                    member.value, path: step(String(decoding: member.key, as: UTF8.self)), depth: depth + 1, &fields)
            }
        case .array where depth < deepest && path.utf8.count < longestPath:
            let elements = value.members
            if elements.allSatisfy({ $0.value.kind != .object && $0.value.kind != .array }) {
                let texts = elements.prefix(50).map { text($0.value) }
                if !texts.isEmpty { fields.append(Field(path: path, value: texts.joined(separator: ", "))) }
                return
            }
            for (index, element) in elements.enumerated() {
                // A single element needs no number.
                collect(
                    element.value, path: elements.count == 1 ? path : step("\(index + 1)"), depth: depth + 1, &fields)
            }
        default:
            fields.append(Field(path: path, value: text(value)))
        }
    }

    private static func text(_ value: JSONDocument) -> String {
        if value.kind == .string, let text = try? value.string(at: .root) {
            return String(decoding: text, as: UTF8.self)
        }
        return String(decoding: value.minified, as: UTF8.self)
    }

    // MARK: For people

    /// A row: a label, its value, and the address it links to.
    struct Row: Equatable {
        var label: String
        var value: String
        var link: String?
    }

    /// The rows to show: known important fields first, without `text` itself and without empty values.
    static func rows(_ fields: [Field], besides text: String?) -> [Row] {
        var rows: [(rank: Int, row: Row)] = []
        for field in fields where field.value != text && !field.value.isEmpty && field.value != "null" {
            let name = field.path.split(separator: ".").last.map(String.init) ?? field.path
            let isAddress = field.value.hasPrefix("https://") || field.value.hasPrefix("http://")
            rows.append(
                (
                    known.firstIndex { $0.name == name } ?? known.count,
                    Row(label: label(field.path), value: field.value, link: isAddress ? field.value : nil)
                ))
        }
        // A stable sort: fields of equal rank keep their order.
        let order = rows.indices.sorted { (rows[$0].rank, $0) < (rows[$1].rank, $1) }
        return order.map { rows[$0].row }
    }

    private static let known: [(name: String, label: String)] = [
        ("name", "name"), ("breed", "breed"), ("country", "country"), ("origin", "origin"), ("coat", "coat"),
        ("pattern", "pattern"), ("life_span", "life span"), ("temperament", "temperament"), ("bred_for", "purpose"),
        ("breed_group", "group"), ("url", "picture"),
    ]

    private static func label(_ path: String) -> String {
        var steps = path.split(separator: ".").map(String.init)
        guard let last = steps.popLast() else { return "value" }
        if let name = known.first(where: { $0.name == last })?.label {
            // One of several values needs its number.
            let number = steps.last.flatMap { Int($0) }
            return number.map { "\($0) \(name)" } ?? name
        }
        let words = steps.suffix(1) + [last]
        return words.joined(separator: " ").split(separator: "_").joined(separator: " ")
    }
}
