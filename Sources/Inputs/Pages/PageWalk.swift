internal import Feed

/// The state of a run through a listing: the page to get now, the items so far, and the pages seen.
///
/// Nothing a server says makes a run endless or lets it grow: a page comes once, and there are at most
/// `PagesSource.mostPages` of them.
struct PageWalk {
    private let source: PagesSource
    /// The request for the current page.
    private(set) var request: HTTPRequest
    /// The current page's number, from 1, whatever the server calls it.
    private(set) var page = 1
    /// The origins that a page behind the first may be at, in lower case: those of the source's URL and of the first
    /// page, which may have been redirected.
    private var origins: Set<String>
    /// The number of items so far.
    private(set) var done = 0
    /// The number of items that were taken.
    private(set) var taken = 0
    /// Whether the key of every item is known.
    private(set) var isWhole = true
    /// The patterns that matched items.
    private(set) var matches = ItemChoice.Matches()
    /// The number of all items, as the server said last.
    private(set) var total: Int?
    /// Hashes of this run's URLs. Two of a run's few URLs collide in less than one of 10^12 runs.
    private var seen: Set<Int> = []
    /// The hash of the last page, to notice a server that ignores the page parameter.
    private var lastPage: Int?

    /// The longest URL that is followed, in bytes; servers take no longer ones.
    private static let longestURL = 8_192

    init(_ source: PagesSource) {
        self.source = source
        request = source.request
        origins = [source.request.endpoint.origin.lowercased()]
        var url = PageURL(source.request.url)
        if let batch = source.batch { url.setParameter(source.batchParameter, to: batch) }
        if case .counted(let parameter, let first) = source.paging { url.setParameter(parameter, to: first) }
        request = source.request.moved(to: url.text)
        seen.insert(request.url.hashValue)
    }

    var progress: Progress { Progress(done: done, total: total, page: page) }

    /// Counts the items of a page.
    ///
    /// - Throws: `.pointer` when the total is not at its pointer; the items are counted anyway.
    mutating func count(_ items: Int, of document: JSONDocument) throws(Failure) {
        done += items
        guard let pointer = source.total else { return }
        let number = try document.number(at: pointer)
        guard number >= 0, let whole = Int(exactly: number) else {
            throw Failure(.pointer, "\"\(pointer.text)\" is \(number) and not a number of items")
        }
        total = whole
    }

    /// Adds the result of publishing a page; nil when it was cut short.
    mutating func add(_ outcome: Extractor.Outcome?) {
        guard let outcome else {
            isWhole = false
            return
        }
        taken += outcome.events
        isWhole = isWhole && outcome.isWhole
        matches.formUnion(outcome.matches)
    }

    /// Advances to the page after `document`.
    ///
    /// - Parameters:
    ///   - isEmpty: whether the page had no item.
    ///   - location: the page's URL, if that is not the request's.
    /// - Returns: false when it was the last page.
    /// - Throws: the reason why the run cannot continue.
    mutating func turn(_ document: JSONDocument, isEmpty: Bool, from location: String?) throws(Failure) -> Bool {
        if page == 1, let location { origins.insert(Endpoint(url: location).origin.lowercased()) }
        var next: HTTPRequest
        switch source.paging {
        case .counted(let parameter, let first):
            guard !isEmpty else { return false }
            try checkChange(of: document, parameter)
            var url = PageURL(request.url)
            url.setParameter(parameter, to: first + page)
            next = source.request.moved(to: url.text)
        case .next(let pointer):
            guard let text = try link(in: document, at: pointer) else { return false }
            next = try follow(text, from: location ?? request.url)
        }
        guard page < source.mostPages else {
            throw Failure(
                .tooLarge, "the listing goes on behind page \(page), and a run asks for no more pages than that")
        }
        guard seen.insert(next.url.hashValue).inserted else {
            throw Failure(
                .protocol, "the pages go round in a circle: behind page \(page) comes one that was there before")
        }
        if !source.followsOtherOrigins { next.origins = origins }
        request = next
        page += 1
        return true
    }

    /// Throws when the server sends the same page whatever the count.
    private mutating func checkChange(of document: JSONDocument, _ parameter: String) throws(Failure) {
        let hash = document.minified.hashValue
        guard hash != lastPage else {
            throw Failure(
                .protocol,
                "page \(page) says the same as the one before: the server may not know the parameter \"\(parameter)\"")
        }
        lastPage = hash
    }

    /// The text of the link to the next page; nil on the last one.
    private func link(in document: JSONDocument, at pointer: JSONPointer) throws(Failure) -> String? {
        guard let link = try? document.value(at: pointer) else {
            // A wrong pointer looks like a listing of one page, unless the listing's total says otherwise.
            guard let total, done < total else { return nil }
            throw Failure(
                .pointer, "page \(page) has no \"\(pointer.text)\", but only \(done) of \(total) items have come")
        }
        switch link.kind {
        case .null: return nil
        case .string:
            let text = String(decoding: try link.string(at: .root), as: UTF8.self)
            return text.isEmpty ? nil : text
        default: throw Failure(.pointer, "\"\(pointer.text)\" of page \(page) is \(link.kind) and not a URL")
        }
    }

    /// The request for the URL that a page links to.
    private func follow(_ text: String, from base: String) throws(Failure) -> HTTPRequest {
        guard text.utf8.count <= Self.longestURL else {
            throw Failure(.tooLarge, "the next page's URL has more than \(Self.longestURL) bytes")
        }
        let unusable = Failure(
            .redirect, "what page \(page) says is the next one is not a URL that can be followed")
        guard var url = PageURL(base).following(text) else { throw unusable }
        if let batch = source.batch, !url.hasParameter(source.batchParameter) {
            url.setParameter(source.batchParameter, to: batch)
        }
        let next = source.request.moved(to: url.text)
        let origin = next.endpoint.origin.lowercased()
        guard origin.hasPrefix("http://") || origin.hasPrefix("https://") else { throw unusable }
        guard source.followsOtherOrigins || origins.contains(origin) else {
            throw Failure(.redirect, "page \(page + 1) is at \(next.endpoint.isElsewhere)")
        }
        return next
    }
}
