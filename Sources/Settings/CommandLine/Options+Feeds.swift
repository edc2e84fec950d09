internal import Feed
internal import Reactor

extension Options {
    /// The feeds named by words of the command line that are no options; addresses are added to the URLs. See
    /// docs/decisions/0031.
    struct Feeds: Sendable, Equatable {
        private(set) var readsStdin = false
        private(set) var files: [String] = []
        /// Notices about words that were guessed to be addresses.
        private(set) var notices: [String] = []

        var isEmpty: Bool { !readsStdin && files.isEmpty }

        /// Parses the next word.
        ///
        /// - Parameters:
        ///   - isThere: returns whether a file with that path exists.
        ///   - values: receives the URL when the word is an address.
        /// - Throws: `UsageError` when the word is no feed, or names a configuration file; suggests what may have been
        ///   meant.
        mutating func parse(
            _ word: String, isThere: (String) -> Bool, into values: inout SettingValues
        ) throws(UsageError) {
            func add(_ url: FeedURL) {
                let urls = SettingTable.rows.urls
                values.put(urls, [url], from: .option(urls.flag))
            }
            if word == "-" {
                guard !readsStdin else { throw UsageError("there is one standard input, and - stands twice") }
                readsStdin = true
            } else if word.utf8.containsScheme {
                add(try FeedURL(word))
            } else if !word.isEmpty, isThere(word) {
                guard !word.hasSuffix(".jsonc") else {
                    throw UsageError("\(UsageError.quoted(word)) is a configuration by its name; write -c in front")
                }
                files.append(word)
            } else if word.utf8.beginsWithHostAndPort {
                let url = try FeedURL("http://\(word)")
                add(url)
                notices.append("\(FeedURL.redact(word)) is taken for \(Sanitizer.visible(url.description))")
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
