internal import Feed

/// A value of a configuration, with its place for error messages.
///
/// A read throws without a place what is wrong with the value itself; what is wrong with its parts has places.
struct ConfigNode {
    let tree: JSONTree
    let mark: ConfigMark
    var value: JSONTree.Value { tree.value }

    private init(_ tree: JSONTree, in file: String, _ path: String) {
        (self.tree, mark) = (tree, ConfigMark(file: file, at: tree.position, path: path))
    }

    /// - Throws: `UsageError` with the place of the first fault when the text is not JSON.
    init(_ text: ConfigText) throws(UsageError) { self.init(try JSONTree.parse(text), in: text.name, "") }

    /// The error for a value of the wrong kind.
    func wrong(_ expected: String) -> UsageError { UsageError("is \(tree.kind) where \(expected) should be") }

    func boolean() throws(UsageError) -> Bool {
        guard case .boolean(let flag) = value else { throw wrong("true or false") }
        return flag
    }

    /// Returns a string of 1 to `limit` characters.
    func string(limit: Int = 4_096) throws(UsageError) -> String {
        guard case .string(let text) = value else { throw wrong("a string") }
        guard !text.isEmpty else { throw UsageError("is empty") }
        guard text.unicodeScalars.count <= limit else { throw UsageError("is longer than \(limit) characters") }
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw UsageError("holds a control character")
        }
        return text
    }

    /// Returns what `read` makes of an array's elements.
    ///
    /// - Throws: `UsageError` with the mistakes of all elements, or when it is no array or too long.
    func elements<Element>(
        atMost limit: Int, _ read: (ConfigNode) throws(UsageError) -> Element
    ) throws(UsageError) -> [Element] {
        guard case .array(let elements) = value else { throw wrong("an array") }
        guard elements.count <= limit else { throw UsageError("has \(elements.count) elements; \(limit) is the most") }
        var (values, issues) = ([Element](), ConfigIssues())
        for (index, element) in elements.enumerated() {
            let node = ConfigNode(element, in: mark.file, "\(mark.path)[\(index)]")
            issues.noting(node.mark) { () throws(UsageError) in values.append(try read(node)) }
        }
        try issues.check()
        return values
    }

    /// Reads an object's members.
    ///
    /// - Parameters:
    ///   - expected: the value, for the message that it is no object.
    ///   - check: refuses a name.
    /// - Throws: `UsageError` with all mistakes: names that are refused or repeated, and what `read` throws.
    func members(
        _ expected: String = "an object", check: (String) throws(UsageError) -> Void,
        _ read: (String, ConfigNode) throws(UsageError) -> Void
    ) throws(UsageError) {
        guard case .object(let members) = value else { throw wrong(expected) }
        var issues = ConfigIssues()
        var seen: Set<String> = []
        for member in members {
            // Cut, because a key may be a megabyte long.
            let name = member.name.utf8.count > 64 ? String(member.name.prefix(64)) + "…" : member.name
            let path = mark.path.isEmpty ? name : "\(mark.path).\(name)"
            let isNew: Void? = issues.noting(ConfigMark(file: mark.file, at: member.position, path: path)) {
                () throws(UsageError) in
                try check(member.name)
                guard seen.insert(member.name).inserted else { throw UsageError("is given twice; leave one out") }
            }
            let node = ConfigNode(member.value, in: mark.file, path)
            if isNew != nil { issues.noting(node.mark) { () throws(UsageError) in try read(member.name, node) } }
        }
        try issues.check()
    }

    /// Reads an object's keys into `root`, and returns what `finish` makes of it and of the names of the given keys.
    ///
    /// - Parameter finish: called when every needed key is there and none is wrong, but for unknown ones.
    /// - Throws: `UsageError` with all mistakes.
    func object<Root, Value>(
        _ keys: [ObjectKey<Root>], into root: Root, _ finish: (Root, Set<String>) throws(UsageError) -> Value
    ) throws(UsageError) -> Value {
        guard case .object = value else { throw wrong("an object") }
        var (root, given) = (root, Set<String>())
        var (issues, faults) = (ConfigIssues(), ConfigIssues())
        issues.noting(mark) { () throws(UsageError) in
            try members(keys.map(\.name)) { name, node throws(UsageError) in
                given.insert(name)
                let key = keys.first { $0.name == name }
                faults.noting(node.mark) { () throws(UsageError) in try key?.read(node, &root) }
            }
        }
        for key in keys where key.isNeeded && !given.contains(key.name) { faults.add(mark, "needs \(key.name)") }
        let value = faults.count == 0 ? issues.noting(mark) { () throws(UsageError) in try finish(root, given) } : nil
        issues.add(faults)
        guard let value, issues.count == 0 else { throw UsageError(issues) }
        return value
    }

    /// Reads an object's members, whose names are known.
    func members(_ known: [String], _ read: (String, ConfigNode) throws(UsageError) -> Void) throws(UsageError) {
        try members(check: { name throws(UsageError) in try Self.check(name, among: known) }, read)
    }

    /// - Throws: `UsageError` when the name is not a known one.
    static func check(_ name: String, among known: [String]) throws(UsageError) {
        guard !known.contains(name) else { return }
        let hint = EditDistance.suggestion(for: name, among: known).map { "; did you mean '\($0)'?" } ?? ""
        throw UsageError("is no known key\(hint)")
    }
}
