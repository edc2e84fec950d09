internal import Feed

/// The one declaration of every option: the parser, the help, the manual page and the completions are made from it.
package enum OptionTable {
    /// Sets what an option stands for; throws a `UsageError` that does not name the option, the parser adds that.
    package typealias Setter = @Sendable (inout Options, String) throws(UsageError) -> Void
    /// What to do instead of watching; gets the option's argument, empty when there is none.
    package typealias Request = @Sendable (String) throws(UsageError) -> Command

    /// One option.
    package struct Entry: Sendable {
        /// Without its dashes.
        package let long: String
        /// An ASCII letter.
        package var short: Character?
        package var argument: Argument = .none
        package let group: Group
        /// One line, at most 50 characters in the main group.
        package let help: String
        package var completion: Completion = .nothing
        /// Whether giving it again adds to what was given, and how the environment variable separates several.
        package var repeats: Repeats = .last
        package let effect: Effect

        /// The environment variable that sets it; nil for requests such as `--help`.
        package var environment: String? {
            guard case .set = effect else { return nil }
            return "CATWATCH_" + String(long.uppercased().map { $0 == "-" ? "_" : $0 })
        }

        /// `-e, --every DURATION`
        package var usage: String {
            let short = short.map { "-\($0), " } ?? "    "
            return switch argument {
            case .none: "\(short)--\(long)"
            case .required(let name): "\(short)--\(long) \(name)"
            case .optional(let name): "\(short)--\(long)[=\(name)]"
            }
        }
    }

    package enum Argument: Sendable, Equatable {
        case none
        /// The name that stands for it in the help.
        case required(String)
        case optional(String)
    }

    package enum Repeats: Sendable {
        /// The last one counts.
        case last
        /// All count; separated by blanks in the environment.
        case words
        /// All count; one a line in the environment.
        case lines
    }

    package enum Group: String, Sendable, CaseIterable {
        case main = "Options"
        case documents = "Reading documents (for every feed)"
        case feed = "Serving, attaching, pushing"
        case http = "HTTP, TLS and secrets (for every feed)"
        case program = "More"
    }

    /// What a shell offers for the argument.
    package enum Completion: Sendable, Equatable {
        case nothing, file
        case words([String])
    }

    package enum Effect: Sendable {
        case set(Setter)
        case request(Request)
        /// What `catwatch check` is to do beyond checking.
        case online
    }

    /// The entry with that long name.
    package static func entry(_ long: String) -> Entry? { entries.first { $0.long == long } }

    /// One of an enumeration's words.
    ///
    /// - Parameter planned: words of the contract that this version does not know yet.
    static func choice<Value: RawRepresentable & CaseIterable>(
        _ text: String, planned: [String] = []
    ) throws(UsageError) -> Value where Value.RawValue == String {
        if let value = Value(rawValue: text) { return value }
        let known = Value.allCases.map(\.rawValue)
        let quoted = UsageError.quoted(text)
        if planned.contains(text) {
            throw UsageError("\(quoted) is not in this version yet; it has \(list(known))")
        }
        if let suggestion = EditDistance.suggestion(for: text.lowercased(), among: known) {
            throw UsageError("\(quoted) is not known; did you mean '\(suggestion)'?")
        }
        throw UsageError("\(quoted) is not known; write \(list(known))")
    }

    /// A whole number within the range.
    static func integer(_ text: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
        guard let number = DecimalNumber(prefixOf: text.utf8), number.rest.isEmpty, let value = number.scaled(by: 1),
            range.contains(Int(value))
        else {
            let end = range.upperBound == .max ? "a whole number from" : "a whole number,"
            let limits = range.upperBound == .max ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            throw UsageError("\(UsageError.quoted(text)) is not \(end) \(limits)")
        }
        return Int(value)
    }

    /// A duration of whole seconds within the range.
    static func wholeSeconds(_ text: String, in range: ClosedRange<Duration>) throws(UsageError) -> Duration {
        let duration = try DurationText.parse(text, in: range)
        guard duration.components.attoseconds == 0 else {
            throw UsageError("\(UsageError.quoted(text)) has a fraction; write whole seconds")
        }
        return duration
    }

    /// A JSON Pointer (RFC 6901, 3).
    static func pointer(_ text: String) throws(UsageError) -> String {
        guard text.isEmpty || text.hasPrefix("/") else {
            throw UsageError("\(UsageError.quoted(text)) is no JSON Pointer; it begins with a slash: '/length'")
        }
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            guard byte == UInt8(ascii: "~") else { continue }
            guard let next = bytes.next(), next == UInt8(ascii: "0") || next == UInt8(ascii: "1") else {
                throw UsageError("\(UsageError.quoted(text)) has a ~ that is neither ~0 (for ~) nor ~1 (for /)")
            }
        }
        return text
    }

    /// A JSON Pointer, parsed.
    static func jsonPointer(_ text: String) throws(UsageError) -> JSONPointer {
        let text = try pointer(text)
        do throws(Failure) {
            return try JSONPointer(text)
        } catch {
            throw UsageError(error.message)
        }
    }

    /// A path, or a name: anything but nothing.
    static func nonEmpty(_ text: String, _ what: String) throws(UsageError) -> String {
        guard !text.isEmpty else { throw UsageError("\(what) is empty") }
        return text
    }

    /// The words as `a, b or c`.
    static func list(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }
}
