import Feed
import Glibc

/// docs/wire-format.schema.json, for tests of what is written: a line has the keys that the schema says, in its order, and no others.
package struct LineSchema {
    private let definitions: JSONTree

    /// - Throws: when the file cannot be read.
    package init() throws {
        let path = VectorFiles.folder("../../docs/wire-format.schema.json")
        guard let bytes = VectorFiles.read(path),
            let definitions = JSONTree(try JSONMinifier.minify(bytes[...])).find("/$defs")
        else { throw Unreadable(path: path) }
        self.definitions = definitions
    }

    private struct Unreadable: Error { let path: String }

    /// What is wrong with the keys of a line, which may end in a newline: `/sources/0: no "since"`.
    package func faults(of line: [UInt8]) throws -> [String] {
        let tree = JSONTree(try JSONMinifier.minify(line[...]))
        let type = tree.find("/type")?.text ?? ""
        // An error without a source is the answer to a reader who asked for something.
        let hasNumber = tree.find("/seq") != nil
        let name =
            switch type {
            case "error" where tree.find("/source") == nil: "refusal"
            case "window" where !hasNumber: "column"
            default: type
            }
        guard let schema = definitions.find("/" + name) ?? definitions.find("/data") else { return ["no schema"] }
        return faults(of: tree, schema, at: "")
    }

    private func faults(of value: JSONTree, _ schema: JSONTree, at path: String) -> [String] {
        if let name = schema.find("/$ref")?.text?.split(separator: "/").last {
            return definitions.find("/\(name)").map { faults(of: value, $0, at: path) } ?? ["no schema \(name)"]
        }
        if let items = schema.find("/items") {
            return value.values.indices.flatMap { faults(of: value.values[$0], items, at: "\(path)/\($0)") }
        }
        guard let members = schema.find("/properties") else { return [] }
        var found: [String] = []
        let order = value.keys.compactMap { members.keys.firstIndex(of: $0) }
        if order.count < value.keys.count { found.append("\(path): more keys than the schema has: \(value.keys)") }
        if order != order.sorted() { found.append("\(path): another order: \(value.keys)") }
        let required = schema.find("/required")?.values.compactMap(\.text) ?? []
        found += required.filter { !value.keys.contains($0) }.map { "\(path): no \"\($0)\"" }
        for (key, member) in zip(value.keys, value.values) {
            guard let index = members.keys.firstIndex(of: key) else { continue }
            found += faults(of: member, members.values[index], at: "\(path)/\(key)")
        }
        return found
    }
}
