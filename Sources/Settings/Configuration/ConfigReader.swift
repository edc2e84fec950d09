internal import Feed

/// Reads the parts of a configuration and collects the mistakes in them.
struct ConfigReader {
    var issues: ConfigIssues

    /// Returns an object's members without the unknown and repeated ones, which are reported; nil when it is no object.
    ///
    /// - Parameter fault: what is wrong with an unknown name, if more is known about it.
    mutating func members(
        _ node: JSONTree, _ path: String, known: [String], fault: (String) -> String? = { _ in nil }
    ) -> [(member: JSONTree.Member, path: String)]? {
        guard case .object(let members) = node.value else { return wrong(node, path, "an object") }
        let names = Set(known)
        var seen: Set<String> = []
        return members.compactMap { member in
            let path = Self.path(path, member.name)
            guard names.contains(member.name) else {
                issues.add(
                    member.position, path, fault(member.name) ?? Self.unknown(member.name, among: known))
                return nil
            }
            guard seen.insert(member.name).inserted else {
                issues.add(member.position, path, "is given twice; leave one out")
                return nil
            }
            return (member, path)
        }
    }

    /// Returns an array's elements with their paths; reports and returns nil when it is no array or too long.
    mutating func elements(
        _ node: JSONTree, _ path: String, atMost limit: Int
    ) -> [(node: JSONTree, path: String)]? {
        guard case .array(let elements) = node.value else { return wrong(node, path, "an array") }
        guard elements.count <= limit else {
            return refuse(node, path, "has \(elements.count) elements; \(limit) is the most")
        }
        return elements.enumerated().map { ($1, "\(path)[\($0)]") }
    }

    /// Reports what is wrong with a value, and returns nil for it.
    mutating func refuse<Value>(_ node: JSONTree, _ path: String, _ message: @autoclosure () -> String) -> Value? {
        issues.add(node.position, path, message())
        return nil
    }

    /// Reports a value of the wrong kind, and returns nil for it.
    mutating func wrong<Value>(_ node: JSONTree, _ path: String, _ expected: String) -> Value? {
        refuse(node, path, "is \(node.kind) where \(expected) should be")
    }

    /// Reads true or false; reports anything else and returns nil.
    mutating func boolean(_ node: JSONTree, _ path: String) -> Bool? {
        if case .boolean(let flag) = node.value { flag } else { wrong(node, path, "true or false") }
    }

    /// Reads a string of 1 to `limit` characters; reports anything else and returns nil.
    mutating func string(_ node: JSONTree, _ path: String, limit: Int = 4_096) -> String? {
        guard case .string(let text) = node.value else { return wrong(node, path, "a string") }
        guard !text.isEmpty else { return refuse(node, path, "is empty") }
        guard text.unicodeScalars.count <= limit else {
            return refuse(node, path, "is longer than \(limit) characters")
        }
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return refuse(node, path, "holds a control character")
        }
        return text
    }

    /// Runs a check that the command line shares; reports its error and returns nil when it throws.
    mutating func checked<Value>(
        _ node: JSONTree, _ path: String, _ check: () throws(UsageError) -> Value
    ) -> Value? {
        issues.noting(issues.mark(node.position, path), check)
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
