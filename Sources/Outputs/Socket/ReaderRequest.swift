package import Feed
package import Journal
package import Reactor

/// A request of a socket's reader, as a line of JSON: `{"since":41,"run":"…"}`, `{"replay":false}`,
/// `{"types":["latency"],"sources":["fact"]}`, `{"from":"…","until":"…"}`, the same with `"sources":["fact"]`,
/// `"series":"fact"` and `"width":60`, `{"poll":"fact"}`, `{"poll":"fibonacci","n":500}` or `{"forget":"web1"}`. See
/// docs/wire-format.md.
package enum ReaderRequest: Sendable, Equatable {
    /// New terms for the connection, answered by a new `hello`.
    case terms(Terms)
    /// Poll a source now; not answered.
    case poll(source: String, PollRequest)
    /// Forget a silent agent of the fleet; not answered.
    case forget(agent: String)

    package struct Terms: Sendable, Equatable {
        /// The first line; the request applies only to its run.
        package var start = Start.oldest
        /// The lines to deliver; nil for all.
        package var filter: LineFilter?
        /// The exclusive end time, at which the connection ends; nil for no end.
        package var until: Timestamp?
        /// Whether it asked for the kept lines, or for none; nil for the usual.
        package var kept: Bool?
        /// The series whose columns it asks for instead of lines.
        package var columns: ColumnQuery?

        package init() {}

        /// The reader first gets the kept lines above this number; nil for none. A reader that resumes gets the ones that it
        /// missed.
        package var keptAfter: Int? {
            switch (kept, start) {
            case (true, _), (nil, .oldest): 0
            case (nil, .after(let sequence, _)): sequence
            default: nil
            }
        }
    }

    package enum Start: Sendable, Equatable {
        case oldest
        case newest
        /// Behind this sequence number of this run (nil: the current one); everything, when the run is another one.
        case after(Int, run: String?)
        /// From the first line of this time or later (nil: the oldest), of any run.
        case time(Timestamp?)
    }

    /// The longest request, in bytes.
    package static let longest = 64 << 10
    // Names in a reader's filter: 1,000 `types` and 1,000 `sources`; 16 KiB together as in lines, and 8 KiB to find
    // them; request refused.
    /// The most names in a filter.
    private static let mostNames = 1_000
    /// The most bytes of all names in a filter, as in lines, quotes and escapes included: this much is kept for a
    /// reader.
    private static let longestFilter = 16 << 10
    /// The longest text, in bytes.
    private static let longestText = 256
    /// The same of a series: its key has up to 1,024 bytes.
    private static let longestSeries = 2_048
    // Columns of an answer from the journal: 2,000, one line each; request refused.
    private static let mostColumns = 2_000
    /// The greatest width of a column, in seconds: a leap year.
    private static let mostWidth = 366 * 86_400

    /// The terms of a request in any notation; checked by `terms`.
    package struct Wish: Sendable {
        package var since: Int?
        package var run: String?
        package var replay = true
        package var types: [String]?
        package var sources: [String]?
        package var from: Timestamp?
        package var until: Timestamp?
        package var kept: Bool?
        package var series: String?
        /// In seconds; 0 for what is no whole number.
        package var width: Int?

        package init() {}

        /// - Throws: `Failure` with the code `protocol`, which says what is wrong.
        package func terms() throws(Failure) -> Terms {
            if let run, !RunName.isValid(run) { throw wrong("\"run\" takes \(RunName.rule)") }
            if let since, since < 0 { throw wrong("\"since\" takes a whole number from 0") }
            guard run == nil || since != nil else { throw wrong("\"run\" says nothing without \"since\"") }
            guard replay || since == nil else { throw wrong("\"since\" and \"replay\":false exclude each other") }
            var terms = Terms()
            terms.kept = kept
            if from != nil || until != nil {
                guard since == nil, replay else {
                    throw wrong("\"from\" and \"until\" go neither with \"since\" nor with \"replay\":false")
                }
                guard kept != true else { throw wrong("\"kept\" goes neither with \"from\" nor with \"until\"") }
                if let from, let until, from >= until { throw wrong("\"until\" is to be later than \"from\"") }
                terms.start = .time(from)
                terms.until = until
            }
            if let since { terms.start = .after(since, run: run) } else if !replay { terms.start = .newest }
            for (key, names) in [("types", types), ("sources", sources)] {
                guard let names else { continue }
                guard names.count <= mostNames else { throw wrong("\"\(key)\" has more than \(mostNames) names") }
                guard names.allSatisfy({ $0.utf8.count <= longestText }) else { throw tooLong(key) }
            }
            if types != nil || sources != nil || from != nil || until != nil {
                let filter = LineFilter(types: types, sources: sources, from: from, until: until)
                guard filter.bytes <= longestFilter else {
                    throw wrong("\"types\" and \"sources\" have more than \(longestFilter) bytes together")
                }
                terms.filter = filter
            }
            terms.columns = try columns()
            return terms
        }

        private func columns() throws(Failure) -> ColumnQuery? {
            guard series != nil || width != nil else { return nil }
            if let width, !(1...mostWidth ~= width) {
                throw wrong("\"width\" takes a whole number of seconds from 1 to \(mostWidth) (366 days)")
            }
            guard let series, let width, let from, let until, let sources, sources.count == 1, types == nil else {
                throw wrong(
                    "\"series\" and \"width\" go together, with \"from\", \"until\" and one of \"sources\", and without "
                        + "\"types\"")
            }
            guard series.utf8.count <= longestSeries else { throw tooLong("series", longestSeries) }
            let kind = SeriesKind(of: series)
            guard kind == .data || series == kind.prefix + sources[0] else {
                throw wrong("\"series\" is not of the source")
            }
            let query = ColumnQuery(
                of: series, source: sources[0], width: Int64(width) * 1_000_000, from: from, until: until)
            let last = Window.index(of: until - .microseconds(1), width: query.width)
            guard last - Window.index(of: from, width: query.width) < mostColumns else {
                throw wrong("\"width\" makes more than \(mostColumns) columns of that time")
            }
            return query
        }
    }

    /// Parses one request.
    ///
    /// - Throws: `Failure` with the code `protocol`, which says what is wrong.
    package static func parse(_ line: Bytes) throws(Failure) -> ReaderRequest {
        let document = try object(line)
        var wish = Wish()
        var poll: String?
        var forget: String?
        var n: Int?
        var keys = 0
        for member in document.members {
            keys += 1
            let key = String(decoding: member.key, as: UTF8.self)
            switch key {
            case "since": wish.since = try integer(member.value, key)
            case "run": wish.run = try text(member.value, key)
            case "replay": wish.replay = try bool(member.value, key)
            case "kept": wish.kept = try bool(member.value, key)
            case "types": wish.types = try names(member.value, key)
            case "sources": wish.sources = try names(member.value, key)
            case "from": wish.from = try time(try text(member.value, key), key)
            case "until": wish.until = try time(try text(member.value, key), key)
            case "series": wish.series = try text(member.value, key, atMost: longestSeries)
            case "width": wish.width = (try? integer(member.value, key)) ?? 0
            case "poll": poll = try text(member.value, key)
            case "n": n = try digits(member.value, key)
            case "forget": forget = try text(member.value, key)
            default: throw wrong("a request has no \"\(key.prefix(40))\"")
            }
        }
        if let poll {
            guard keys == (n == nil ? 1 : 2) else {
                throw wrong("\"poll\" stands alone in its request, or with \"n\"")
            }
            return .poll(source: poll, PollRequest(n: n))
        }
        if let forget {
            guard keys == 1 else { throw wrong("\"forget\" stands alone in its request") }
            return .forget(agent: forget)
        }
        guard n == nil else { throw wrong("\"n\" says nothing without \"poll\"") }
        guard keys > 0 else { throw wrong("the request asks for nothing") }
        return .terms(try wish.terms())
    }

    /// Parses the parameters of a poll besides the source's name: nothing, `{}`, or `{"n":500}`.
    ///
    /// - Throws: `Failure` with the code `protocol`, which says what is wrong.
    package static func poll(_ text: Bytes) throws(Failure) -> PollRequest {
        var request = PollRequest()
        if text.allSatisfy({ $0 == 0x20 || 0x09...0x0D ~= $0 }) { return request }
        for member in try object(text).members {
            let key = String(decoding: member.key, as: UTF8.self)
            guard key == "n" else { throw wrong("a request to poll has no \"\(key.prefix(40))\"") }
            guard request.n == nil else { throw wrong("\"n\" stands there twice") }
            request.n = try digits(member.value, key)
        }
        return request
    }

    /// Parses a time in RFC 3339 format.
    ///
    /// - Throws: `Failure` with the code `protocol`, which says what is wrong.
    package static func time(_ text: String, _ key: String) throws(Failure) -> Timestamp {
        guard let time = RFC3339.parse(Array(text.utf8)[...]) else {
            throw wrong("\"\(key)\" takes a time like 2026-11-22T08:30:00Z")
        }
        return time
    }

    private static func object(_ text: Bytes) throws(Failure) -> JSONDocument {
        let document: JSONDocument
        do throws(JSONFault) {
            document = try JSONDocument(text)
        } catch {
            throw wrong("the request is \(error)")
        }
        guard document.kind == .object else { throw wrong("a request is a JSON object") }
        return document
    }

    private static func wrong(_ message: String) -> Failure { Failure(.protocol, message) }

    private static func tooLong(_ key: String, _ most: Int = longestText) -> Failure {
        wrong("\"\(key)\" is longer than \(most) bytes")
    }

    private static func integer(_ value: JSONDocument, _ key: String) throws(Failure) -> Int {
        guard value.kind == .number,
            let number = value.minified.withUnsafeBufferPointer({ JSONNumber.integer($0) }), number >= 0
        else { throw wrong("\"\(key)\" takes a whole number from 0") }
        return number
    }

    /// Parses a number that consists only of digits.
    private static func digits(_ value: JSONDocument, _ key: String) throws(Failure) -> Int {
        guard value.kind == .number,
            value.minified.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let number = value.minified.withUnsafeBufferPointer({ JSONNumber.integer($0) }),
            number <= PollRequest.mostN
        else { throw wrong("\"\(key)\" takes a whole number from 0 to \(PollRequest.mostN), in digits") }
        return number
    }

    private static func text(
        _ value: JSONDocument, _ key: String, atMost most: Int = longestText
    ) throws(Failure) -> String {
        guard value.kind == .string else { throw wrong("\"\(key)\" takes a string") }
        let bytes = try value.string(at: .root)
        guard bytes.count <= most else { throw tooLong(key, most) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func bool(_ value: JSONDocument, _ key: String) throws(Failure) -> Bool {
        switch value.kind {
        case .true: true
        case .false: false
        default: throw wrong("\"\(key)\" takes true or false")
        }
    }

    private static func names(_ value: JSONDocument, _ key: String) throws(Failure) -> [String] {
        guard value.kind == .array else { throw wrong("\"\(key)\" takes a list of strings") }
        var names: [String] = []
        for element in value.members {
            guard names.count < mostNames else { throw wrong("\"\(key)\" has more than \(mostNames) names") }
            names.append(try text(element.value, key))
        }
        return names
    }
}
