internal import Feed

/// The place of a secret; the secret itself never stands in a configuration.
struct Secret: Sendable, Hashable {
    /// The environment variable that holds it, or else the file.
    private(set) var variable: String?
    private(set) var file: String?
    /// Whether the setting is ignored while the variable is not set.
    private(set) var isOptional: Bool

    private init(variable: String? = nil, file: String? = nil, isOptional: Bool = false) {
        (self.variable, self.file, self.isOptional) = (variable, file, isOptional)
    }

    static func file(_ path: String) -> Secret { Secret(file: path) }

    static func environment(_ name: String, optional: Bool) -> Secret { Secret(variable: name, isOptional: optional) }

    static let keys: [ObjectKey<Secret>] = [
        .init("env", name, "The environment variable that holds it.", \.variable),
        .init("file", Types.path, "The file that holds it.", \.file),
        .init(
            "optional", flag: "With env: leave out what it is for when the variable is not set.", \.isOptional),
    ]

    private static let name = Types.text(limit: 4_096) { text in
        text.utf8.contains(UInt8(ascii: "=")) ? "is no name of a variable" : nil
    }

    /// Reads `{"env": "NAME"}`, `{"env": "NAME", "optional": true}` or `{"file": "PATH"}`.
    init(_ node: ConfigNode) throws(UsageError) {
        if case .string = node.value {
            // The text is not repeated in the message: it may be the secret.
            throw UsageError(#"a secret does not stand here; write {"env": "NAME"} or {"file": "PATH"}"#)
        }
        self = try node.object(Self.keys, into: Secret()) { secret, _ throws(UsageError) in
            guard (secret.variable == nil) != (secret.file == nil) else {
                throw UsageError(#"needs one of {"env": "NAME"} and {"file": "PATH"}"#)
            }
            guard secret.variable != nil || !secret.isOptional else {
                throw UsageError("optional goes with env, not with file")
            }
            return secret
        }
    }

    /// The secret as a configuration writes it.
    var tree: JSONTree { ObjectKey.tree(of: self, Self.keys) }

    /// Returns the secret without the white space around it; nil when it is optional and not set. Blocks.
    ///
    /// - Throws: `UsageError`, which does not show the secret.
    func read(environment: [String: String]) throws(UsageError) -> String? {
        if let variable {
            if let value = environment[variable], !value.isEmpty { return Self.trimmed(value) }
            if isOptional { return nil }
            throw UsageError("the environment variable \(UsageError.quoted(variable)) is not set")
        }
        guard let file else { return nil }
        let value = Self.trimmed(try SecretFile.read(file))
        guard !value.isEmpty else { throw UsageError("\(UsageError.quoted(file)) holds nothing") }
        return value
    }

    /// Removes the line break that editors add at the end, and other white space.
    private static func trimmed(_ text: String) -> String {
        var bytes = text.utf8[...]
        while let last = bytes.last, last <= 0x20 { bytes = bytes.dropLast() }
        while let first = bytes.first, first <= 0x20 { bytes = bytes.dropFirst() }
        return String(Substring(bytes))
    }
}

/// A header of a source's requests.
struct SecretHeader: Sendable, Equatable {
    enum Value: Sendable, Equatable {
        case text(String)
        case secret(Secret)

        var tree: JSONTree {
            switch self {
            case .text(let text): .string(text)
            case .secret(let secret): secret.tree
            }
        }
    }

    let name: String
    let value: Value

    static func tree(_ headers: [SecretHeader]) -> JSONTree { .object(headers.map { .init($0.name, $0.value.tree) }) }

    /// Reads an object of names and values.
    static func read(_ node: ConfigNode) throws(UsageError) -> [SecretHeader] {
        var headers: [SecretHeader] = []
        var seen: Set<String> = []
        try node.members("an object of names and values") { name throws(UsageError) in
            guard !name.isEmpty, name.utf8.allSatisfy(HeaderField.isTokenByte) else {
                throw UsageError("a header's name is letters, digits and hyphens")
            }
            guard seen.insert(name.lowercased()).inserted else { throw UsageError("is given twice; leave one out") }
        } _: { name, node throws(UsageError) in
            if case .string(let text) = node.value, !holdsSecret(name) {
                let field = try HeaderField("\(name): \(text)")
                headers.append(SecretHeader(name: field.name, value: .text(field.value)))
            } else {
                headers.append(SecretHeader(name: name, value: .secret(try Secret(node))))
            }
        }
        return headers
    }

    /// Whether a header of that name is likely to hold a secret.
    static func holdsSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        let known: Set = [
            "authorization", "proxy-authorization", "cookie", "x-api-key", "apikey", "api-key", "token", "x-auth",
            "secret",
        ]
        return known.contains(name) || ["-token", "-key", "-secret", "-apikey"].contains { name.hasSuffix($0) }
    }
}

/// A user name, and the place of the password.
struct BasicCredentials: Sendable, Equatable {
    private(set) var user = ""
    private(set) var password = Secret.file("")

    init(_ node: ConfigNode) throws(UsageError) {
        self = try node.object(Self.keys, into: Self()) { credentials, _ in credentials }
    }

    private init() {}

    static let keys: [ObjectKey<BasicCredentials>] = [
        .init("user", name, isNeeded: true, \.user), .init("password", Types.secret, isNeeded: true, \.password),
    ]

    private static let name = Types.text(limit: 256) { text in
        text.utf8.contains(UInt8(ascii: ":")) ? "must not hold a colon" : nil
    }

    var tree: JSONTree { ObjectKey.tree(of: self, Self.keys) }
}

/// The secrets of a configuration, read once; never printed.
struct SecretValues: Sendable, CustomStringConvertible, CustomReflectable {
    private var values: [Secret: Result<String?, UsageError>] = [:]
    private let environment: [String: String]

    init(environment: [String: String]) { self.environment = environment }

    /// - Throws: the error of the first attempt to read the secret, every time.
    mutating func value(of secret: Secret) throws(UsageError) -> String? {
        if let value = values[secret] { return try value.get() }
        let value = Result { () throws(UsageError) in try secret.read(environment: environment) }
        values[secret] = value
        return try value.get()
    }

    var description: String { "\(values.count) secrets" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
