package import Feed
package import Outputs
internal import Reactor

/// Parses a URL's query for the feed: a reader's request in another form. See docs/http.md.
package enum FeedQuery {
    /// Parses `since=41&run=…&replay=false&types=a,b&sources=c&from=…&until=…&series=…&width=60`. Commas separate names, because no
    /// source's name has one; `+` stands for a blank, as in forms.
    ///
    /// - Parameter text: percent-encoded, without the question mark.
    /// - Throws: `Failure` with the code `protocol`, which says what is wrong.
    package static func terms(_ text: Substring) throws(Failure) -> ReaderRequest.Terms {
        var wish = ReaderRequest.Wish()
        var seen: Set<String> = []
        for member in text.split(separator: "&") {
            let halves = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = halves[0].percentDecoded(isForm: true),
                let value = (halves.count == 2 ? halves[1] : "").percentDecoded(isForm: true)
            else {
                throw wrong("the query has a % without two hexadecimal digits, or is not UTF-8")
            }
            guard seen.insert(key).inserted else { throw wrong("the query has \"\(shown(key))\" twice") }
            switch key {
            case "since": wish.since = try number(value, key)
            case "width": wish.width = (try? number(value, key)) ?? 0
            case "series": wish.series = value
            case "run": wish.run = value
            case "replay": wish.replay = try bool(value, key)
            case "kept": wish.kept = try bool(value, key)
            case "types": wish.types = try names(value, key)
            case "sources": wish.sources = try names(value, key)
            case "from": wish.from = try time(value, key)
            case "until": wish.until = try time(value, key)
            default: throw wrong("a query has no \"\(shown(key))\"")
            }
        }
        return try wish.terms()
    }

    /// Where to resume a stream behind the event with this id, `RUN-SEQ`; nil for another kind of id.
    package static func start(behind id: String) -> ReaderRequest.Start? {
        guard let hyphen = id.lastIndex(of: "-") else { return nil }
        let (run, digits) = (String(id[..<hyphen]), id[id.index(after: hyphen)...])
        guard RunName.isValid(run), digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(digits) else {
            return nil
        }
        return .after(number, run: run)
    }

    private static func bool(_ value: String, _ key: String) throws(Failure) -> Bool {
        switch value {
        case "true", "1": true
        case "false", "0": false
        default: throw wrong("\"\(key)\" takes true or false")
        }
    }

    private static func number(_ value: String, _ key: String) throws(Failure) -> Int {
        guard value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(value) else {
            throw wrong("\"\(key)\" takes a whole number from 0")
        }
        return number
    }

    private static func time(_ value: String, _ key: String) throws(Failure) -> Timestamp {
        // An unencoded `+` of a UTC offset arrives as a blank.
        try ReaderRequest.time(String(value.map { $0 == " " ? "+" : $0 }), key)
    }

    private static func names(_ value: String, _ key: String) throws(Failure) -> [String] {
        let names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard !names.contains("") else { throw wrong("\"\(key)\" takes names with commas between them") }
        return names
    }

    private static func shown(_ key: String) -> String { Sanitizer.visible(key, limit: 40) }

    private static func wrong(_ message: String) -> Failure { Failure(.protocol, message) }
}
