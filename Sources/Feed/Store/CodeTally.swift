/// The number of times that each of a few codes occurred.
package struct CodeTally: Sendable, Equatable {
    /// A code, and its number of occurrences, from 1.
    package struct Entry: Sendable, Equatable {
        package let code: String
        package fileprivate(set) var count: Int
    }

    /// In the order of their first occurrence.
    package private(set) var entries: [Entry] = []

    // Status and error codes counted for a source: 24 of each kind; counted as `other`.
    /// Enough for all codes of our errors, and for more statuses than a server needs.
    static let most = 24
    static let other = "other"

    mutating func add(_ code: String) {
        if let index = index(of: code) {
            entries[index].count += 1
        } else if entries.count < Self.most {
            entries.append(Entry(code: code, count: 1))
        } else if let index = index(of: Self.other) {
            entries[index].count += 1
        } else {
            entries.append(Entry(code: Self.other, count: 1))
        }
    }

    private func index(of code: String) -> Int? { entries.firstIndex { $0.code == code } }
}
