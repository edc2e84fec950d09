internal import Feed

/// A word of the command line that is no option; see docs/decisions/0031.
enum FeedWord: Equatable {
    /// `-`
    case stdin
    /// - Parameter isGuessed: whether the word had no scheme.
    case url(FeedURL, isGuessed: Bool)
    case file(String)

    /// - Parameter isThere: returns whether a file with that path exists.
    /// - Throws: `UsageError` when the word is none of these, or names a configuration file; suggests what may have
    ///   been meant.
    init(_ word: String, isThere: (String) -> Bool) throws(UsageError) {
        if word == "-" {
            self = .stdin
        } else if word.utf8.containsScheme {
            self = .url(try FeedURL(word), isGuessed: false)
        } else if !word.isEmpty, isThere(word) {
            guard !word.hasSuffix(".jsonc") else {
                throw UsageError("\(UsageError.quoted(word)) is a configuration by its name; write -c in front")
            }
            self = .file(word)
        } else if word.utf8.beginsWithHostAndPort {
            self = .url(try FeedURL("http://\(word)"), isGuessed: true)
        } else {
            throw Self.unexpected(word)
        }
    }

    private static func unexpected(_ word: String) -> UsageError {
        // The program prints this itself, so a word that may hold a password is redacted first.
        let shown = FeedURL.redact(word)
        if Command.words.contains(word) {
            return UsageError("'\(word)' stands alone or in front: catwatch \(word)")
        }
        let presets = Preset.allCases.map(\.rawValue)
        let known = Command.words + presets + Option.all.map(\.long)
        guard !word.utf8.contains(UInt8(ascii: "/")),
            let suggestion = EditDistance.suggestion(for: word, among: known)
        else {
            return UsageError(
                "\(shown) is no file that is there; an address begins with http:// or ws://, or is HOST:PORT")
        }
        let meant =
            Command.words.contains(suggestion)
            ? suggestion
            : (presets.contains(suggestion) ? "\(SettingTable.rows.presets.flag) " : "--") + suggestion
        return UsageError("unexpected \(shown); did you mean '\(meant)'?")
    }
}

extension String.UTF8View {
    /// Whether the text begins with a scheme and `://` (RFC 3986, section 3), whichever scheme it is.
    var containsScheme: Bool {
        guard let colon = firstIndex(of: UInt8(ascii: ":")), let first, first.isAlphanumeric else { return false }
        let isScheme = self[..<colon].allSatisfy { $0.isAlphanumeric || "+-.".utf8.contains($0) }
        return isScheme && self[colon...].starts(with: "://".utf8)
    }

    /// Whether the text is a host and a port, with or without a path behind them.
    fileprivate var beginsWithHostAndPort: Bool {
        let authority = prefix { !"/?#".utf8.contains($0) }
        guard let colon = authority.lastIndex(of: UInt8(ascii: ":")), !authority.contains(UInt8(ascii: "@")) else {
            return false
        }
        let host = authority[..<colon]
        let port = authority[index(after: colon)...]
        let isAddress = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
        return !port.isEmpty && port.allSatisfy(\.isDecimalDigit) && !host.isEmpty
            && (isAddress || !host.contains(UInt8(ascii: ":")))
    }
}
