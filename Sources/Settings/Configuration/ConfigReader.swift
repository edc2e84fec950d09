internal import Feed

/// Reads the parts of a configuration and collects what is wrong with them.
struct ConfigReader {
    var issues: ConfigIssues

    /// An object's members; unknown and repeated ones are told and left out. Nil when it is none.
    mutating func members(
        _ node: ConfigNode, _ path: String, known: [String]
    ) -> [(member: ConfigNode.Member, path: String)]? {
        guard case .object(let members) = node.value else {
            wrong(node, path, "an object")
            return nil
        }
        let names = Set(known)
        var seen: Set<String> = []
        return members.compactMap { member in
            let path = Self.path(path, member.name)
            guard names.contains(member.name) else {
                issues.add(member.offset, path, Self.unknown(member.name, among: known))
                return nil
            }
            guard seen.insert(member.name).inserted else {
                issues.add(member.offset, path, "is given twice; leave one out")
                return nil
            }
            return (member, path)
        }
    }

    /// An array's elements and their paths. Nil when it is none.
    mutating func elements(
        _ node: ConfigNode, _ path: String, atMost limit: Int
    ) -> [(node: ConfigNode, path: String)]? {
        guard case .array(let elements) = node.value else {
            wrong(node, path, "an array")
            return nil
        }
        guard elements.count <= limit else {
            issues.add(node.offset, path, "has \(elements.count) elements; \(limit) is the most")
            return nil
        }
        return elements.enumerated().map { ($1, "\(path)[\($0)]") }
    }

    mutating func wrong(_ node: ConfigNode, _ path: String, _ expected: String) {
        issues.add(node.offset, path, "is \(node.kind) where \(expected) should be")
    }

    /// Whether it is true or false; nil, and told, when it is neither.
    mutating func boolean(_ node: ConfigNode, _ path: String) -> Bool? {
        if case .boolean(let flag) = node.value { return flag }
        wrong(node, path, "true or false")
        return nil
    }

    /// A string of 1 to `limit` characters; nil, and told, when it is none.
    mutating func string(_ node: ConfigNode, _ path: String, limit: Int = 4_096) -> String? {
        guard case .string(let text) = node.value else {
            wrong(node, path, "a string")
            return nil
        }
        if text.isEmpty {
            issues.add(node.offset, path, "is empty")
        } else if text.unicodeScalars.count > limit {
            issues.add(node.offset, path, "is longer than \(limit) characters")
        } else if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            issues.add(node.offset, path, "holds a control character")
        } else {
            return text
        }
        return nil
    }

    /// Runs a check of the command line's; nil, and told, when it throws.
    mutating func checked<Value>(
        _ node: ConfigNode, _ path: String, _ check: () throws(UsageError) -> Value
    ) -> Value? {
        do throws(UsageError) {
            return try check()
        } catch {
            issues.add(node.offset, path, error.message)
            return nil
        }
    }

    static func path(_ path: String, _ name: String) -> String {
        // A key of a megabyte is not repeated.
        let name = name.utf8.count > 64 ? String(name.prefix(64)) + "…" : name
        return path.isEmpty ? name : "\(path).\(name)"
    }

    static func unknown(_ name: String, among known: [String]) -> String {
        let hint = EditDistance.suggestion(for: name, among: known).map { "; did you mean '\($0)'?" } ?? ""
        return "is no known key\(hint)"
    }

    /// A number as digits, also when it has an exponent.
    static func plain(_ number: String) -> String {
        guard number.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }), let value = Double(number),
            let whole = Int(exactly: value)
        else { return number }
        return "\(whole)"
    }
}
