/// One page of a listing, with the fields and links that Laravel's `LengthAwarePaginator` gives it.
struct Page {
    /// From 1; may be past the last page, which is then empty.
    let number: Int
    /// Items on a full page.
    let size: Int
    /// Items on all pages.
    let total: Int

    /// The largest `limit`; a larger one is taken as this.
    static let largestSize = 1000

    /// Reads `page` and `limit`; values that are not positive numbers become page 1 and `defaultSize`.
    init(query: Query, defaultSize: Int, total: Int) {
        let size = query.integer("limit").flatMap { $0 >= 1 ? $0 : nil } ?? defaultSize
        self.size = min(size, Self.largestSize)
        self.number = query.integer("page").flatMap { $0 >= 1 ? $0 : nil } ?? 1
        self.total = total
    }

    var lastNumber: Int { max(1, (total + size - 1) / size) }

    /// The items on the page, as indices into the listing; empty past the end.
    var items: Range<Int> {
        guard number <= lastNumber else { return total..<total }
        let start = (number - 1) * size
        return start..<min(start + size, total)
    }

    /// The complete document.
    ///
    /// - Parameters:
    ///   - url: the listing's absolute URL without a query. As in the real API, links to pages contain only the page
    ///     number: a client that uses `limit` has to add it again.
    ///   - item: writes one item.
    func json(url: String, item: (Int, inout PHPStyleJSON) -> Void) -> [UInt8] {
        var json = PHPStyleJSON()
        json.raw(#"{"current_page":"#)
        json.integer(number)
        json.raw(#","data":["#)
        for index in items {
            if index != items.lowerBound { json.raw(",") }
            item(index, &json)
        }
        json.raw(#"],"first_page_url":"#)
        json.string(address(of: 1, url))
        json.raw(#","from":"#)
        json.integer(items.isEmpty ? nil : items.lowerBound + 1)
        json.raw(#","last_page":"#)
        json.integer(lastNumber)
        json.raw(#","last_page_url":"#)
        json.string(address(of: lastNumber, url))
        json.raw(#","links":["#)
        writeLinks(url, &json)
        json.raw(#"],"next_page_url":"#)
        json.string(next.map { address(of: $0, url) })
        json.raw(#","path":"#)
        json.string(url)
        json.raw(#","per_page":"#)
        json.integer(size)
        json.raw(#","prev_page_url":"#)
        json.string(previous.map { address(of: $0, url) })
        json.raw(#","to":"#)
        json.integer(items.isEmpty ? nil : items.upperBound)
        json.raw(#","total":"#)
        json.integer(total)
        json.raw("}")
        return json.bytes
    }

    private var previous: Int? { number > 1 ? number - 1 : nil }

    private var next: Int? { number < lastNumber ? number + 1 : nil }

    private func address(of page: Int, _ url: String) -> String { "\(url)?page=\(page)" }

    // MARK: Links

    private func writeLinks(_ url: String, _ json: inout PHPStyleJSON) {
        writeLink(previous.map { address(of: $0, url) }, "Previous", isActive: false, &json)
        for page in shownPages {
            json.raw(",")
            if let page {
                writeLink(address(of: page, url), String(page), isActive: page == number, &json)
            } else {
                writeLink(nil, "...", isActive: false, &json)
            }
        }
        json.raw(",")
        writeLink(next.map { address(of: $0, url) }, "Next", isActive: false, &json)
    }

    private func writeLink(_ url: String?, _ label: String, isActive: Bool, _ json: inout PHPStyleJSON) {
        json.raw(#"{"url":"#)
        json.string(url)
        json.raw(#","label":"#)
        json.string(label)
        json.raw(#","active":"#)
        json.boolean(isActive)
        json.raw("}")
    }

    /// The page numbers that get a link: all when there are few, else both ends and the current page with three
    /// neighbours on each side; nil is where an ellipsis stands.
    var shownPages: [Int?] {
        let last = lastNumber
        let neighbours = 3
        let edge = neighbours + 4
        if last < 2 * neighbours + 8 { return Array(1...last) }
        if number <= edge { return Array(1...edge + neighbours) + [nil, last - 1, last] }
        if number > last - edge { return [1, 2, nil] + Array(last - edge - neighbours + 1...last) }
        return [1, 2, nil] + Array(number - neighbours...number + neighbours) + [nil, last - 1, last]
    }
}
