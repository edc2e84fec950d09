extension ConfigReader {
    /// `{"env": "NAME"}`, `{"env": "NAME", "optional": true}` or `{"file": "PATH"}`.
    mutating func secret(_ node: ConfigNode, _ path: String) -> Secret? {
        if case .string = node.value {
            // The text is not repeated in the message: it may be the secret.
            issues.add(node.offset, path, #"a secret does not stand here; write {"env": "NAME"} or {"file": "PATH"}"#)
            return nil
        }
        guard let members = members(node, path, known: ["env", "file", "optional"]) else { return nil }
        var name: String?
        var file: String?
        var optional = false
        var isWhole = true
        for (member, path) in members {
            switch member.name {
            case "env":
                name = string(member.value, path)
                isWhole = isWhole && name != nil
                if let given = name, given.utf8.contains(UInt8(ascii: "=")) {
                    issues.add(member.value.offset, path, "is no name of a variable")
                    isWhole = false
                }
            case "file":
                file = string(member.value, path)
                isWhole = isWhole && file != nil
            default: optional = boolean(member.value, path) ?? false
            }
        }
        guard isWhole else { return nil }
        switch (name, file) {
        case (let name?, nil): return .environment(name, optional: optional)
        case (nil, let file?) where !optional: return .file(file)
        case (nil, _?): issues.add(node.offset, path, "optional goes with env, not with file")
        default: issues.add(node.offset, path, #"needs one of {"env": "NAME"} and {"file": "PATH"}"#)
        }
        return nil
    }

    mutating func headers(_ node: ConfigNode, _ path: String) -> [SecretHeader]? {
        guard case .object(let members) = node.value else {
            wrong(node, path, "an object of names and values")
            return nil
        }
        var headers: [SecretHeader] = []
        var seen: Set<String> = []
        for member in members {
            let path = Self.path(path, member.name)
            guard !member.name.isEmpty, member.name.utf8.allSatisfy(HeaderField.isTokenByte) else {
                issues.add(member.offset, path, "a header's name is letters, digits and hyphens")
                continue
            }
            guard seen.insert(member.name.lowercased()).inserted else {
                issues.add(member.offset, path, "is given twice; leave one out")
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

    mutating func basic(_ node: ConfigNode, _ path: String) -> BasicCredentials? {
        guard let members = members(node, path, known: ["user", "password"]) else { return nil }
        var user: String?
        var password: Secret?
        for (member, path) in members {
            if member.name == "user" {
                user = string(member.value, path, limit: 256)
                if user?.utf8.contains(UInt8(ascii: ":")) == true {
                    issues.add(member.value.offset, path, "must not hold a colon")
                }
            } else {
                password = secret(member.value, path)
            }
        }
        let given = Set(members.map(\.member.name))
        for name in ["user", "password"] where !given.contains(name) {
            issues.add(node.offset, path, "needs \(name)")
        }
        guard let user, let password else { return nil }
        return BasicCredentials(user: user, password: password)
    }
}
