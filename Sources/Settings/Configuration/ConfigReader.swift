internal import Feed

/// Reads the parts of a configuration and collects the mistakes in them.
struct ConfigReader {
    var issues: ConfigIssues

    /// Returns an object's members without the unknown and repeated ones, which are reported; nil when it is no object.
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

    /// Returns an array's elements with their paths; reports and returns nil when it is no array or too long.
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

    /// Reads true or false; reports anything else and returns nil.
    mutating func boolean(_ node: ConfigNode, _ path: String) -> Bool? {
        if case .boolean(let flag) = node.value { return flag }
        wrong(node, path, "true or false")
        return nil
    }

    /// Reads a string of 1 to `limit` characters; reports anything else and returns nil.
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

    /// Runs a check that the command line shares; reports its error and returns nil when it throws.
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
        // Cut, because a key may be a megabyte long.
        let name = name.utf8.count > 64 ? String(name.prefix(64)) + "…" : name
        return path.isEmpty ? name : "\(path).\(name)"
    }

    static func unknown(_ name: String, among known: [String]) -> String {
        let hint = EditDistance.suggestion(for: name, among: known).map { "; did you mean '\($0)'?" } ?? ""
        return "is no known key\(hint)"
    }

    /// Returns a number as digits, also when it is whole and written with an exponent.
    static func plain(_ number: String) -> String {
        guard number.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }), let value = Double(number),
            let whole = Int(exactly: value)
        else { return number }
        return "\(whole)"
    }
}
