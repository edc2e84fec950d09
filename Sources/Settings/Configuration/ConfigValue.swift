internal import Feed

/// A value of a source's key that was checked.
enum ConfigValue: Sendable, Equatable {
    case null
    case string(String)
    case boolean(Bool)
    case integer(Int)
    case size(Int)
    case duration(Duration)
    case pointer(JSONPointer)
    /// `"#"`, for a key.
    case position
    case url(FeedURL)
    case secret(Secret)
    case headers([Header])
    case basic(user: String, password: Secret)
    case strings([String])
    case scale(ConfigScale)
    /// A scale that is defined elsewhere.
    case scaleName(String)

    /// A request's header.
    struct Header: Sendable, Equatable {
        enum Value: Sendable, Equatable {
            case text(String)
            case secret(Secret)
        }

        let name: String
        let value: Value

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

    /// As a configuration has it, without secrets.
    var tree: JSONTree {
        switch self {
        case .null: .raw("null")
        case .string(let text), .scaleName(let text): .string(text)
        case .boolean(let flag): .boolean(flag)
        case .integer(let number): .integer(number)
        case .size(let size): .string(ByteSize.format(size))
        case .duration(let duration): .string(DurationText.format(duration))
        case .pointer(let pointer): .string(pointer.text)
        case .position: .string("#")
        case .url(let url): .string(url.description)
        case .secret(let secret): secret.tree
        case .headers(let headers):
            .object(
                headers.map { header in
                    switch header.value {
                    case .text(let text): .init(header.name, .string(text))
                    case .secret(let secret): .init(header.name, secret.tree)
                    }
                })
        case .basic(let user, let password):
            .object([.init("user", .string(user)), .init("password", password.tree)])
        case .strings(let words): .strings(words)
        case .scale(let scale): scale.tree
        }
    }
}

/// A scale of bands as a configuration defines it.
struct ConfigScale: Sendable, Equatable {
    var scale: BandScale
    /// For sources that name no unit of their own.
    var unit: String?

    var tree: JSONTree {
        var members: [JSONTree.Member] = []
        if let unit { members.append(.init("unit", .string(unit))) }
        members.append(.init("higher_is_better", .boolean(scale.higherIsBetter)))
        members.append(
            .init(
                "bands",
                .array(
                    scale.bands.map { band in
                        var members: [JSONTree.Member] = [
                            .init("name", .string(band.name)), .init("letter", .string(String(band.letter))),
                            .init("color", .string(band.color.hex)),
                        ]
                        if let end = band.upTo { members.append(.init("up_to", .number(end))) }
                        return .object(members)
                    })))
        return .object(members)
    }
}
