import CLinux
import Feed
internal import Reactor

/// Splits a command line with Glibc's `getopt_long(3)` and words its error messages.
///
/// That brings the usual conventions: abbreviated long options, `--name=value`, clustered short options, options after
/// operands (unless POSIXLY_CORRECT is set), and `--` before operands that begin with a dash.
struct LongOptions {
    struct Scan {
        /// The options in the order given.
        var occurrences: [Occurrence] = []
        var operands: [String] = []
    }

    struct Occurrence {
        /// The index into the options.
        var entry: Int
        /// Empty when there is none.
        var argument: String
        /// The word after the option, unless that is its argument; nil when an option follows, or nothing.
        var next: String?
    }

    /// Stops at the first request such as `--help`: the rest of the command line does not matter then.
    ///
    /// - Parameter options: the options that there are.
    /// - Throws: `UsageError` for an unknown, ambiguous or repeated option, or a missing or unexpected argument.
    static func scan(_ arguments: [String], for options: [Option] = Option.all) throws(UsageError) -> Scan {
        try turn.withLock { _ throws(UsageError) in try LongOptions(options: options).scan(arguments) }
    }

    private let options: [Option]

    private func scan(_ arguments: [String]) throws(UsageError) -> Scan {
        let names = options.map { strdup($0.long) }
        let strings = (["catwatch"] + arguments).map { strdup($0) }
        defer {
            for pointer in names { free(pointer) }
            for pointer in strings { free(pointer) }
        }
        // getopt_long reorders the vector although it is declared constant, so this is no Swift array.
        let vector = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
        for (index, pointer) in strings.enumerated() { (vector + index).initialize(to: pointer) }
        (vector + strings.count).initialize(to: nil)
        defer { vector.deallocate() }
        var table = options.enumerated().map { index, entry in
            option(
                name: UnsafePointer(names[index]), has_arg: entry.argument.kind, flag: nil,
                val: Self.firstLong + Int32(index))
        }
        table.append(option())
        let short = shortOptions

        var scan = Scan()
        var restart: Int32 = 1
        while true {
            let step = cw_next_option(Int32(strings.count), vector, short, table, restart)
            restart = 0
            if step.code == -1 {
                for index in Int(step.next)..<strings.count {
                    if let pointer = vector[index] { scan.operands.append(String(cString: pointer)) }
                }
                return scan
            }
            if let index = index(of: step.code) {
                let entry = options[index]
                var argument = step.argument.map { String(cString: $0) } ?? ""
                // `-l=PATH` means `--listen=PATH`, but getopt_long takes the sign for a part of the path.
                if case .optional = entry.argument, step.code < Self.firstLong, argument.hasPrefix("=") {
                    argument.removeFirst()
                }
                // An empty argument is most likely an unset variable, not meant as an empty value.
                if case .optional(let name) = entry.argument, step.argument != nil, argument.isEmpty {
                    throw UsageError(
                        "needs \(name) behind '='; leave '=' out for the usual one",
                        option: "--\(entry.long)")
                }
                if entry.argument != .none, case .last = entry.repeats,
                    scan.occurrences.contains(where: { $0.entry == index })
                {
                    throw UsageError("is given twice; leave one out", option: "--\(entry.long)")
                }
                let next = Int(step.next) < strings.count ? vector[Int(step.next)].map { String(cString: $0) } : nil
                let word = next.flatMap { $0.hasPrefix("-") ? nil : $0 }
                scan.occurrences.append(Occurrence(entry: index, argument: argument, next: word))
                if case .request = entry.effect { return scan }
                continue
            }
            // The last argument that getopt_long looked at: the unknown option, if that is a long one.
            let current = vector[Int(max(1, step.next)) - 1].map { String(cString: $0) } ?? ""
            throw complaint(missing: step.code == Self.colon, option: step.option, current: current)
        }
    }

    private func complaint(missing: Bool, option code: Int32, current: String) -> UsageError {
        if let index = index(of: code) {
            let entry = options[index]
            // getopt's `optopt` says which option it was, but not whether it was written long or short.
            if missing, case .required(let argument) = entry.argument {
                return UsageError("needs an argument: \(argument)", option: "--\(entry.long)")
            }
            return UsageError("takes no argument", option: "--\(entry.long)")
        }
        if code != 0 {
            // A byte of a character outside ASCII is passed on unchanged, as a negative number.
            let byte = UInt8(truncatingIfNeeded: code)
            return UsageError("unknown option '-\(Sanitizer.visible(bytes: CollectionOfOne(byte)))'")
        }
        let name = current.drop { $0 == "-" }.prefix { $0 != "=" }
        let alike = options.map(\.long).filter { $0.hasPrefix(name) }
        if alike.count > 1 && !name.isEmpty {
            let words = alike.map { "--\($0)" }.joined(separator: ", ")
            return UsageError("option \(UsageError.quoted("--" + name)) is ambiguous: \(words)")
        }
        // The text after the equals sign may be a secret, so only the name is shown.
        let key = String(name.map { $0 == "-" ? "_" : $0 })
        if SettingTable.ofSources.contains(where: { $0.setting.name == key }) {
            return UsageError(
                "\(UsageError.quoted("--" + name)) is no option; a configuration says it of a source: "
                    + Configuration.place(of: key))
        }
        let known = options.map(\.long)
        let hint = EditDistance.suggestion(for: name, among: known).map { "; did you mean '--\($0)'?" } ?? ""
        return UsageError("unknown option \(UsageError.quoted("--" + name))\(hint)")
    }

    /// Begins with a colon, so that getopt_long reports a missing argument differently from an unknown option.
    private var shortOptions: String {
        options.reduce(into: ":") { text, entry in
            guard let short = entry.short else { return }
            text += "\(short)" + String(repeating: ":", count: Int(entry.argument.kind))
        }
    }

    private func index(of code: Int32) -> Int? {
        if code >= Self.firstLong { return Int(code - Self.firstLong) }
        guard let byte = UInt8(exactly: code), code != 0 else { return nil }
        return options.firstIndex { $0.short?.asciiValue == byte }
    }

    /// Codes of long options begin above every character.
    private static let firstLong: Int32 = 256
    private static let colon = Int32(UInt8(ascii: ":"))

    /// Serialises `getopt_long`, which keeps its state in global variables. Not `Locked<Void>`: Void takes no memory,
    /// so Thread Sanitizer confuses it with whatever lies at its address.
    private static let turn = Locked(0)
}

extension Option.Argument {
    /// The `has_arg` of `getopt_long(3)`, which is also the number of colons behind a short option.
    fileprivate var kind: Int32 {
        switch self {
        case .none: no_argument
        case .required: required_argument
        case .optional: optional_argument
        }
    }
}
