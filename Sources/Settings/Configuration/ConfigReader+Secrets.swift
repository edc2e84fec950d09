extension ConfigReader {
    /// `{"env": "NAME"}`, `{"env": "NAME", "optional": true}` or `{"file": "PATH"}`.
    mutating func secret(_ node: JSONTree, _ path: String) -> Secret? {
        if case .string = node.value {
            // The text is not repeated in the message: it may be the secret.
            return refuse(node, path, #"a secret does not stand here; write {"env": "NAME"} or {"file": "PATH"}"#)
        }
        var parts = Secret.Parts()
        guard object(node, path, Secret.keys, into: &parts)?.isWhole == true else { return nil }
        switch (parts.env, parts.file) {
        case (let name?, nil): return .environment(name, optional: parts.isOptional == true)
        case (nil, let file?) where parts.isOptional != true: return .file(file)
        case (nil, _?): return refuse(node, path, "optional goes with env, not with file")
        default: return refuse(node, path, #"needs one of {"env": "NAME"} and {"file": "PATH"}"#)
        }
    }

    mutating func headers(_ node: JSONTree, _ path: String) -> [SecretHeader]? {
        guard case .object(let members) = node.value else { return wrong(node, path, "an object of names and values") }
        var headers: [SecretHeader] = []
        var seen: Set<String> = []
        for member in members {
            let path = Self.path(path, member.name)
            guard !member.name.isEmpty, member.name.utf8.allSatisfy(HeaderField.isTokenByte) else {
                issues.add(member.position, path, "a header's name is letters, digits and hyphens")
                continue
            }
            guard seen.insert(member.name.lowercased()).inserted else {
                issues.add(member.position, path, "is given twice; leave one out")
                continue
            }
            if case .string(let text) = member.value.value, !SecretHeader.holdsSecret(member.name) {
                let field = checked(member.value, path) { () throws(UsageError) in
                    try HeaderField("\(member.name): \(text)")
                }
                if let field { headers.append(.init(name: field.name, value: .text(field.value))) }
            } else if let secret = secret(member.value, path) {
                headers.append(.init(name: member.name, value: .secret(secret)))
            }
        }
        return headers
    }

    mutating func basic(_ node: JSONTree, _ path: String) -> BasicCredentials? {
        var credentials = BasicCredentials(user: "", password: .file(""))
        return object(node, path, BasicCredentials.keys, into: &credentials)?.isWhole == true ? credentials : nil
    }
}
