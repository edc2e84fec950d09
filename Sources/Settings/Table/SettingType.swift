internal import Conditions
internal import Feed
internal import Inputs
internal import Nats
internal import Outputs
internal import Reactor

/// The shape of a setting's value, for the documentation, editors and shells.
enum ValueShape: Sendable {
    /// A string of 1 to `limit` characters.
    case string(limit: Int)
    /// A path, usually of a file.
    case path
    /// A path, or nothing for the default.
    case optionalPath
    /// A host and a port, or nothing for the default.
    case optionalAddress
    /// A name of a source, or of its lines' type.
    case name
    case words([String])
    /// One of some words, or nothing.
    case optionalWords([String])
    case boolean
    case integer(ClosedRange<Int>)
    case size(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    /// A duration, or false.
    case durationOrFalse(ClosedRange<Duration>)
    /// Conditions: a line, or an array of them.
    case conditions
    /// - Parameter orNull: whether null is allowed, which turns the setting off.
    case pointer(orNull: Bool)
    /// A pointer or `#`.
    case key
    case url
    case headers
    case secret
    case basic
    /// Words that values may be.
    case states
    /// Names, tokens of RFC 9110.
    case tokens
    /// Origins of pictures: `https://HOST`, or with a port.
    case origins
    /// Patterns of keys: one, or an array of them.
    case patterns
    /// A string, or JSON that is sent as text.
    case message
    /// The name of a scale, or a scale.
    case scale
    case bands
    /// `#RRGGBB`.
    case color
    /// Any number.
    case number
    /// NATS servers: one, or an array of them.
    case servers
    /// NATS servers, or an object that names them.
    case nats

    /// The option's argument and its placeholder.
    var argument: Option.Argument {
        switch self {
        case .boolean: .none
        case .optionalPath: .optional("PATH")
        case .optionalAddress: .optional("HOST:PORT")
        case .optionalWords(let words): .optional(words.joined(separator: "|"))
        case .path: .required("FILE")
        case .integer: .required("N")
        case .size: .required("SIZE")
        case .duration: .required("DURATION")
        case .pointer, .key: .required("POINTER")
        case .url, .nats: .required("URL")
        default: .required("NAME")
        }
    }

    var completion: Option.Completion {
        switch self {
        case .path, .optionalPath: .file
        case .words(let words), .optionalWords(let words): .words(words)
        default: .nothing
        }
    }
}

/// How to read a value from an option's argument and from a source's key, and how to print it without secrets.
struct SettingType<Value: Sendable & Equatable>: Sendable {
    typealias Parser = @Sendable (String) throws(UsageError) -> Value
    typealias Reader = @Sendable (ConfigNode) throws(UsageError) -> Value

    let shape: ValueShape
    let parse: Parser
    let tree: @Sendable (Value) -> JSONTree
    /// The value for a configuration's null; nil when null is not allowed.
    var null: Value?
    /// Combines the values of a repeated setting; nil when the last one counts.
    var combine: (@Sendable (Value, Value) -> Value)?
    private let read: Reader

    /// - Parameters:
    ///   - limit: the most characters of a configuration's string.
    ///   - parse: reads an argument; without it only a configuration can set the value.
    ///   - read: reads a configuration's value; by default a string is parsed.
    init(
        _ shape: ValueShape, limit: Int = 4_096,
        parse: @escaping Parser = { (_) throws(UsageError) in throw UsageError("needs a configuration") },
        tree: @escaping @Sendable (Value) -> JSONTree, read: Reader? = nil
    ) {
        let readText: Reader = { node throws(UsageError) in try parse(try node.string(limit: limit)) }
        (self.shape, self.parse, self.tree, self.read) = (shape, parse, tree, read ?? readText)
    }

    /// Returns the value of a source's key.
    func value(of node: ConfigNode) throws(UsageError) -> Value {
        if case .null = node.value, let null { null } else { try read(node) }
    }

    /// The same type, with nil for no value.
    var optional: SettingType<Value?> {
        SettingType<Value?>(
            shape, parse: { [parse] text throws(UsageError) in try parse(text) },
            tree: { [tree] in $0.map(tree) ?? .null }, read: { [read] node throws(UsageError) in try read(node) })
    }

    /// A list with one element for each value given.
    ///
    /// - Parameters:
    ///   - once: whether values that are in the list already are skipped.
    ///   - print: how the list is printed, if not as an array.
    func list(once: Bool = false, print: (@Sendable ([Value]) -> JSONTree)? = nil) -> SettingType<[Value]> {
        var type = SettingType<[Value]>(
            shape, parse: { [parse] text throws(UsageError) in [try parse(text)] },
            tree: { [tree] in print?($0) ?? .array($0.map(tree)) })
        type.combine = { all, more in all + more.filter { !once || !all.contains($0) } }
        return type
    }
}

/// The types of all settings.
enum Types {
    static let path = SettingType(
        .path, parse: { text throws(UsageError) in try nonEmpty(text, "the path") }, tree: JSONTree.string)
    static let name = SettingType(
        .name, limit: SourceName.maximumLength, parse: SourceName.check, tree: JSONTree.string)
    static let url = SettingType(
        .url, parse: FeedURL.init(_:), tree: { .string($0.description) }, read: url)
    static let socket = SettingType(
        .optionalPath, parse: { SocketPath(path: $0.isEmpty ? nil : $0) },
        tree: { $0.path.map(JSONTree.string) ?? .boolean(true) })
    /// Another agent: its socket, or an address.
    static let agent = SettingType<FeedURL>(
        .optionalPath,
        parse: { text throws(UsageError) in
            guard text.hasPrefix("unix:") || text.utf8.containsScheme else {
                // Text like HOST:PORT is not meant as a file in this folder.
                guard text.utf8.contains(UInt8(ascii: "/")) || !text.utf8.contains(UInt8(ascii: ":")) else {
                    throw UsageError(
                        "\(FeedURL.redact(text)) is no address; write http://HOST:PORT, nats://HOST, or ./PATH for a socket"
                    )
                }
                return FeedURL(socket: text)
            }
            let url = try FeedURL(text)
            guard !url.scheme.isWebSocket else {
                throw UsageError("an agent is read by its socket, http or https, not by \(url.scheme.rawValue)")
            }
            return url
        },
        tree: { url in
            guard url.scheme == .unix else { return .string(url.description) }
            return url.path.isEmpty ? .boolean(true) : .string(url.path)
        })
    static let agents = agent.list { $0.count == 1 ? agent.tree($0[0]) : .array($0.map(agent.tree)) }
    static let address = SettingType(
        .optionalAddress, parse: HTTPAddress.init, tree: { .string($0.description) })
    /// A name of this machine, as a `Host` header field has it.
    static let host = SettingType(
        .string(limit: 253),
        parse: { text throws(UsageError) in
            let name = text.lowercased()
            guard 1...253 ~= name.utf8.count, name.utf8.allSatisfy(FeedURL.isHostByte) else {
                throw UsageError("\(FeedURL.redact(text)) is no name of a host; write one without a port")
            }
            return name
        }, tree: JSONTree.string)
    /// An origin of other pages: `https://HOST` or `http://HOST`, with an optional port.
    static let origin = SettingType(
        .string(limit: 8_192),
        parse: { text throws(UsageError) in try PolicyOrigin.parse(text, [.https, .http]) }, tree: JSONTree.string)
    static let header = SettingType(
        .string(limit: 8_192), parse: HeaderField.init, tree: { .string($0.description) })
    // Types that only a configuration can set.
    static let message = SettingType(.message, tree: JSONTree.string, read: message)
    static let headers = SettingType(.headers, tree: SecretHeader.tree, read: SecretHeader.read)
    static let secret = SettingType(.secret, tree: \.tree, read: Secret.init)
    static let basic = SettingType(.basic, tree: \.tree, read: BasicCredentials.init)
    static let tokens = SettingType(.tokens, tree: JSONTree.strings, read: tokens)
    static let origins = SettingType(.origins, tree: JSONTree.strings, read: origins)
    static let states = SettingType(
        .states,
        parse: { text throws(UsageError) in
            var words: [String] = []
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                // Blanks behind commas are for people.
                var word = word
                while word.first == " " { word.removeFirst() }
                while word.last == " " { word.removeLast() }
                let state = try Types.state(String(word))
                guard !words.contains(state) else {
                    throw UsageError("\(UsageError.quoted(state)) is given twice; leave one out")
                }
                words.append(state)
            }
            guard words.count <= BandScale.mostBands else {
                throw UsageError("has \(words.count) words; \(BandScale.mostBands) is the most")
            }
            return words
        }, tree: JSONTree.strings, read: states)
    static let scale = SettingType(
        .scale, parse: { ScaleReference.named($0) }, tree: \.tree, read: ScaleReference.init)

    /// The name of a NATS stream.
    static let stream = text(limit: NatsSettings.longestStream) { text in
        text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !".*>/\\".utf8.contains($0) }
            ? nil : "is no name of a stream: no blank, dot, *, > or slash stands in one"
    }
    /// The subjects to read from the stream.
    static let subject = text(limit: NatsSubject.longest) { text in
        NatsSubject.isPattern(text)
            ? nil : "\(UsageError.quoted(text)) is no subject; write one like \(NatsSubject.all)"
    }
    static let nats = SettingType<NatsSettings>(
        .nats, parse: NatsSettings.init(urls:), tree: \.tree, read: NatsSettings.init(_:))
    /// An agent's name among others.
    static let agentName = text(limit: AgentName.longest) { text in
        AgentName.isValid(text)
            ? SourceName.reserved(text)
            : "\(UsageError.quoted(text)) is no name of an agent, which has \(AgentName.rule)"
    }

    /// Patterns of keys; an option adds one.
    static let patterns: SettingType<[String]> = {
        var type = SettingType<[String]>(
            .patterns, parse: { text throws(UsageError) in [try pattern(text)] }, tree: JSONTree.strings, read: patterns
        )
        type.combine = { all, more in all + more.filter { !all.contains($0) } }
        return type
    }()

    static let pointer = pointer(.pointer(orNull: false), "a JSON Pointer", null: nil, JSONPointer.parse) {
        .string($0.text)
    }
    static let pointerOrNull = pointer(
        .pointer(orNull: true), "a JSON Pointer or null", null: .some(JSONPointer?.none),
        { text throws(UsageError) in try JSONPointer.parse(text) }, { $0.map { .string($0.text) } ?? .null })
    static let place = pointer(
        .pointer(orNull: true), "a JSON Pointer or null", null: Extraction.Place.nowhere, none: "none",
        { text throws(UsageError) in .at(try JSONPointer.parse(text)) },
        { if case .at(let pointer) = $0 { .string(pointer.text) } else { .null } })
    /// The pointer to the name of a series within an item, or `#`.
    static let key = pointer(
        .key, "a JSON Pointer or '#'", null: .some(Extraction.Key?.none),
        { text throws(UsageError) in text == "#" ? .position : .at(try JSONPointer.parse(text)) },
        {
            switch $0 {
            case .at(let pointer)?: .string(pointer.text)
            case .position?: .string("#")
            case nil: .null
            }
        })

    /// The command line gives an empty text; the environment gives a word.
    static let flag = SettingType(
        .boolean,
        parse: { text throws(UsageError) in
            switch text.lowercased() {
            case "", "1", "true", "yes", "on": return true
            case "0", "false", "no", "off": return false
            default: throw UsageError("\(UsageError.quoted(text)) is neither 1 nor 0")
            }
        }, tree: JSONTree.boolean, read: { node throws(UsageError) in try node.boolean() })

    /// A condition, as a line.
    static let condition = SettingType<Condition>(
        .string(limit: 4_096),
        parse: { text throws(UsageError) in
            do throws(ConditionFault) {
                return try Condition(text)
            } catch {
                throw UsageError(error.description)
            }
        }, tree: { .string($0.text) })

    static let time = SettingType(
        .string(limit: 64), parse: TimeWord.init, tree: { .string($0.text) })

    /// A flag with an optional form.
    static let once = SettingType<OnceForm?>(
        .optionalWords(OnceForm.allCases.filter { $0 != .text }.map(\.rawValue)),
        parse: { text throws(UsageError) in
            if let form = OnceForm(rawValue: text) { return form }
            guard let isOn = try? flag.parse(text) else {
                throw UsageError("\(UsageError.quoted(text)) is not known; write --once, --once=html or --once=ndjson")
            }
            return isOn ? .text : nil
        }, tree: { form in form.map { $0 == .text ? .boolean(true) : .string($0.rawValue) } ?? .boolean(false) })

    /// The speed at which a recording is played back.
    static let speed = SettingType<ReplaySpeed>(
        .string(limit: 16),
        parse: { text throws(UsageError) in
            if text == "max" { return .most }
            guard let number = DecimalNumber(prefixOf: text.utf8),
                number.rest.isEmpty || number.rest.elementsEqual("x".utf8)
            else { throw UsageError("\(UsageError.quoted(text)) is no speed; write one like 10x, 0.5x or max") }
            guard let value = number.scaled(by: 1_000), ReplaySpeed.range.contains(Int(value)) else {
                throw UsageError("\(UsageError.quoted(text)) is out of range; write 0.1x to 10000x, or max")
            }
            return .thousandths(Int(value))
        }, tree: { .string($0.text) })

    /// The permissions of a file, in octal.
    static let mode = SettingType(
        .string(limit: 4_096),
        parse: { text throws(UsageError) in
            guard let mode = UInt32(text, radix: 8), mode <= 0o777 else {
                throw UsageError("\(UsageError.quoted(text)) is no mode; write one like 660")
            }
            return mode
        }, tree: { .string(String($0, radix: 8)) })

    static let target = SettingType(
        .string(limit: 8_192),
        parse: { text throws(UsageError) in
            do throws(PushTarget.Fault) {
                return try PushTarget(text)
            } catch {
                throw UsageError("\(FeedURL.redact(text)): \(error.message)")
            }
        }, tree: { .string($0.description) })

    /// - Parameters:
    ///   - what: the value's name, for the message that it is empty.
    ///   - fault: returns what is wrong with a text, if anything.
    static func text(
        _ what: String = "the text", limit: Int = 4_096, fault: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> SettingType<String> {
        SettingType(
            .string(limit: limit), limit: limit,
            parse: { text throws(UsageError) in
                if let fault = fault(try nonEmpty(text, what)) { throw UsageError(fault) }
                return text
            }, tree: JSONTree.string)
    }

    /// One of an enumeration's words.
    static func words<Value: RawRepresentable<String> & Sendable & Equatable>(_ values: [Value]) -> SettingType<Value> {
        let known = values.map(\.rawValue)
        return SettingType(
            .words(known),
            parse: { text throws(UsageError) in
                if let value = values.first(where: { $0.rawValue == text }) { return value }
                let suggestion = EditDistance.suggestion(for: text.lowercased(), among: known)
                let hint = suggestion.map { "did you mean '\($0)'?" } ?? "write \(UsageError.list(known))"
                throw UsageError("\(UsageError.quoted(text)) is not known; \(hint)")
            }, tree: { .string($0.rawValue) })
    }

    static func integer(_ range: ClosedRange<Int>) -> SettingType<Int> {
        let isOpen = range.upperBound == .max
        let limits = isOpen ? " from \(range.lowerBound)" : ", \(range.lowerBound) to \(range.upperBound)"
        return figure(.integer(range), "a whole number", takesText: false, JSONTree.integer) {
            text throws(UsageError) in
            guard let number = DecimalNumber(prefixOf: text.utf8), number.rest.isEmpty,
                let value = number.scaled(by: 1), range.contains(Int(value))
            else { throw UsageError("\(UsageError.quoted(text)) is not a whole number\(limits)") }
            return Int(value)
        }
    }

    static func size(_ range: ClosedRange<Int>) -> SettingType<Int> {
        figure(
            .size(range), "a size", { .string(ByteSize.format($0)) },
            parse: { text throws(UsageError) in try ByteSize.parse(text, in: range) })
    }

    static func duration(_ range: ClosedRange<Duration>, wholeSeconds: Bool = false) -> SettingType<Duration> {
        @Sendable func parse(_ text: String) throws(UsageError) -> Duration {
            let duration = try DurationText.parse(text, in: range)
            guard !wholeSeconds || duration.components.attoseconds == 0 else {
                throw UsageError("\(UsageError.quoted(text)) has a fraction; write whole seconds")
            }
            return duration
        }
        return figure(.duration(range), "a duration", { .string(DurationText.format($0)) }, parse: parse)
    }

    /// A number with a unit, or a bare number.
    private static func figure<Value>(
        _ shape: ValueShape, _ what: String, takesText: Bool = true, _ tree: @escaping @Sendable (Value) -> JSONTree,
        parse: @escaping SettingType<Value>.Parser
    ) -> SettingType<Value> {
        SettingType(shape, parse: parse, tree: tree) { node throws(UsageError) in
            switch node.value {
            case .number(let text): return try parse(ConfigNode.plain(text))
            case .string(let text) where takesText: return try parse(text)
            default: throw node.wrong(what)
            }
        }
    }

    /// - Parameter none: the command line's word for null.
    private static func pointer<Value>(
        _ shape: ValueShape, _ expected: String, null: Value?, none: String? = nil,
        _ parse: @escaping SettingType<Value>.Parser, _ tree: @escaping @Sendable (Value) -> JSONTree
    ) -> SettingType<Value> {
        let argument: SettingType<Value>.Parser = { text throws(UsageError) in
            if text == none, let null { null } else { try parse(text) }
        }
        var type = SettingType(shape, parse: argument, tree: tree) { node throws(UsageError) in
            guard case .string(let text) = node.value else { throw node.wrong(expected) }
            return try parse(text)
        }
        type.null = null
        return type
    }

    private static func nonEmpty(_ text: String, _ what: String) throws(UsageError) -> String {
        guard !text.isEmpty else { throw UsageError("\(what) is empty") }
        return text
    }
}

// Reads of values that are more than the text of an option.
extension Types {
    private static func url(_ node: ConfigNode) throws(UsageError) -> FeedURL {
        let url = try FeedURL(try node.string(limit: 8_192))
        guard url.userInfo == nil else {
            throw UsageError("holds a user name or password; write basic or bearer with a secret instead")
        }
        return url
    }

    private static func tokens(_ node: ConfigNode) throws(UsageError) -> [String] {
        try unique(node, atMost: 32, limit: 256) { word throws(UsageError) in
            guard word.utf8.allSatisfy(HeaderField.isTokenByte) else {
                throw UsageError("\(UsageError.quoted(word)) is no token: letters, digits and hyphens")
            }
            return word
        }
    }

    private static func pattern(_ text: String) throws(UsageError) -> String {
        guard try nonEmpty(text, "the key").utf8.count <= ItemChoice.longestPattern else {
            throw UsageError("is longer than \(ItemChoice.longestPattern) bytes")
        }
        return text
    }

    /// Reads patterns of keys: a string or an array of them.
    private static func patterns(_ node: ConfigNode) throws(UsageError) -> [String] {
        if case .string = node.value { return [try pattern(try node.string(limit: ItemChoice.longestPattern))] }
        let patterns = try unique(node, atMost: ItemChoice.mostPatterns, limit: ItemChoice.longestPattern, pattern)
        guard !patterns.isEmpty else { throw UsageError("has no key; leave it out to take all items") }
        return patterns
    }

    // Origins of a source's pictures: 16; wrong configuration, exit 2.
    static let mostOrigins = 16

    /// Reads the origins that pictures may come from.
    private static func origins(_ node: ConfigNode) throws(UsageError) -> [String] {
        try unique(node, atMost: Self.mostOrigins, limit: 512) { text throws(UsageError) in
            try PolicyOrigin.parse(text, [.https])
        }
    }

    // States of a source: 64, of 64 bytes each; wrong configuration, exit 2.
    /// Reads the words that values may be.
    private static func states(_ node: ConfigNode) throws(UsageError) -> [String] {
        let words = try unique(node, atMost: BandScale.mostBands, limit: 4_096, state)
        guard !words.isEmpty else { throw UsageError("is empty; write the words that values may be") }
        return words
    }

    /// Checks a word that values may be. It is also the name of a band.
    private static func state(_ word: String) throws(UsageError) -> String {
        let (length, most) = (try nonEmpty(word, "a word").utf8.count, BandScale.longestName)
        guard length <= most else {
            throw UsageError("\(UsageError.quoted(word)) has \(length) bytes; a word has \(most) at the most")
        }
        guard !word.unicodeScalars.contains(where: Sanitizer.isHidden) else {
            throw UsageError("\(UsageError.quoted(word)) holds a character that cannot be seen")
        }
        return word
    }

    /// Reads an array of strings that differ.
    private static func unique(
        _ node: ConfigNode, atMost most: Int, limit: Int, _ check: (String) throws(UsageError) -> String
    ) throws(UsageError) -> [String] {
        var seen: Set<String> = []
        return try node.elements(atMost: most) { node throws(UsageError) in
            let word = try check(try node.string(limit: limit))
            guard seen.insert(word).inserted else { throw UsageError("is given twice; leave one out") }
            return word
        }
    }

    /// Reads a message to send: a string, or JSON, which becomes compact text.
    private static func message(_ node: ConfigNode) throws(UsageError) -> String {
        let text = if case .string(let plain) = node.value { plain } else { node.tree.compact }
        guard text.utf8.count <= 64 << 10 else { throw UsageError("is longer than 64KiB") }
        return text
    }
}

extension JSONPointer {
    /// Parses a pointer that a person wrote (RFC 6901, 3).
    static func parse(_ text: String) throws(UsageError) -> JSONPointer {
        do throws(Fault) {
            return try JSONPointer(text)
        } catch {
            let reason =
                switch error {
                case .noSlash: "is no JSON Pointer; it begins with a slash: '/length'"
                case .escape: "has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
                }
            throw UsageError("\(UsageError.quoted(text)) \(reason)")
        }
    }
}

/// The path of a socket, or the default path.
package struct SocketPath: Sendable, Equatable {
    /// nil for the default path.
    package let path: String?

    package static let usual = SocketPath(path: nil)
}
