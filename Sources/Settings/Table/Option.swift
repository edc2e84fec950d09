/// A setting as the command line writes it.
struct Option: Sendable {
    /// The long name, without its dashes.
    private(set) var long: String
    /// The short name, an ASCII letter.
    let short: Character?
    let group: Group
    /// One line, at most 50 characters in the main group.
    let help: String
    /// Whether repeating the option adds values, and how its environment variable separates them.
    private(set) var repeats: Repeats
    let effect: Effect
    let traits: Traits
    private(set) var argument: Argument
    private(set) var completion = Completion.nothing

    enum Argument: Sendable, Equatable {
        case none
        /// A required argument, by its placeholder in the help.
        case required(String)
        case optional(String)
    }

    enum Repeats: Sendable {
        /// Only the last value counts.
        case last
        /// All values count; separated by blanks in the environment.
        case words
        /// All values count; one on each line in the environment.
        case lines

        /// Splits the text of an environment variable into arguments.
        func parts(of text: String) -> [String] {
            switch self {
            case .last: [text]
            case .words: text.split(whereSeparator: \.isWhitespace).map(String.init)
            case .lines: text.split(whereSeparator: \.isNewline).map(String.init)
            }
        }
    }

    enum Group: String, Sendable, CaseIterable {
        case main = "Options"
        case documents = "Reading documents (for every feed)"
        case feed = "Serving, attaching, pushing"
        case http = "HTTP, TLS and secrets (for every feed)"
        case log = "Reading a journal (catwatch log)"
        case wait = "Waiting (catwatch wait)"
        case program = "More"
    }

    /// The completion that a shell offers for the argument.
    enum Completion: Sendable, Equatable {
        case nothing, file
        case words([String])
    }

    enum Effect: Sendable {
        case set
        /// The command to run instead of watching; gets the option's argument, empty when there is none.
        case request(@Sendable (String) throws(UsageError) -> Command)
        /// Applies to these subcommands only, nil for watching; no variable and no configuration can set it.
        case with([Command.Word?])
    }

    struct Traits: OptionSet, Sendable {
        let rawValue: Int
        /// A configuration may not set it.
        static let notInFile = Traits(rawValue: 1)
        /// A reload applies it; everything else needs a restart.
        static let reloads = Traits(rawValue: 2)
        /// Chooses what to watch; a configuration's value is ignored when a nearer layer does that.
        static let choosesFeed = Traits(rawValue: 4)
        // Options that exclude each other: the nearest layer wins, then the last one; see `SettingTable.exclusive`.
        static let verbosity = Traits(rawValue: 8)
        static let bearer = Traits(rawValue: 16)
    }

    /// - Parameters:
    ///   - argument: the placeholder in the help, unless the type's own will do.
    ///   - long: the option's name, unless it is the setting's.
    ///   - repeats: how values are separated, for a list that is not separated by blanks.
    ///   - effect: nil to set a value, of its subcommand for an option in a subcommand's group.
    init(
        _ short: Character? = nil, _ group: Group, _ help: String, argument: String = "", long: String = "",
        repeats: Repeats = .last, effect: Effect? = nil, traits: Traits = []
    ) {
        self.short = short
        self.group = group
        self.help = help
        self.argument = .required(argument)
        self.long = long
        self.repeats = repeats
        self.effect = effect ?? (group == .log ? .with([.log]) : group == .wait ? .with([.wait]) : .set)
        self.traits = group == .documents || group == .http ? traits.union(.reloads) : traits
    }

    /// Returns the option with what follows from the setting's name and type.
    func completed(_ name: String, _ shape: ValueShape, isList: Bool = false) -> Option {
        var option = self
        if isList, repeats == .last { option.repeats = .words }
        if long.isEmpty { option.long = String(name.map { $0 == "_" ? "-" : $0 }) }
        if argument == .required("") { option.argument = shape.argument }
        option.completion = shape.completion
        return option
    }

    /// All options, in the order of the help.
    static let all = SettingTable.options.map(\.option)

    /// `--every`, as messages name it.
    var flag: String { "--\(long)" }

    /// The environment variable that sets the option; nil for requests such as `--help`.
    var environment: String? {
        guard case .set = effect else { return nil }
        return "CATWATCH_" + String(long.uppercased().map { $0 == "-" ? "_" : $0 })
    }

    /// The key at the top level of a configuration; nil when none may set it.
    var key: String? {
        guard !traits.contains(.notInFile), environment != nil else { return nil }
        return String(long.map { $0 == "-" ? "_" : $0 })
    }

    /// Whether a configuration may give a bare number.
    var takesNumber: Bool {
        ["DURATION", "SIZE", "N"].contains { argument == .required($0) } || argument == .optional("HOST:PORT")
    }

    /// `-e, --every DURATION`
    var usage: String {
        let short = short.map { "-\($0), " } ?? "    "
        return switch argument {
        case .none: "\(short)--\(long)"
        case .required(let name): "\(short)--\(long) \(name)"
        case .optional(let name): "\(short)--\(long)[=\(name)]"
        }
    }
}

/// A setting as a key of sources.
struct InSource: Sendable {
    /// The section of the documentation; keys for the same kinds stand together.
    enum Section: Sendable, CaseIterable {
        case general, place, nats, items, fields, request, pages, webSocket, lines, fibonacci

        fileprivate var kinds: [SourceKind] {
            switch self {
            case .general: SourceKind.own
            case .place, .request: SourceKind.remote
            case .items, .fields: SourceKind.documents
            case .nats: [.feed]
            case .pages: [.pages]
            case .webSocket: [.websocket]
            case .lines: [.stdin, .file]
            case .fibonacci: [.fibonacci]
            }
        }
    }

    let section: Section
    /// The kinds of sources that the key applies to.
    let kinds: [SourceKind]
    /// Whole sentences, for docs/configuration.md and for editors.
    let help: String

    init(_ section: Section, _ help: String, kinds: [SourceKind]? = nil) {
        self.section = section
        self.kinds = kinds ?? section.kinds
        self.help = help
    }
}
