/// How often each of a few codes came, since there was first one.
package struct CodeTally: Sendable, Equatable {
    /// A code, and how often it came, from 1.
    package struct Entry: Sendable, Equatable {
        package let code: String
        package fileprivate(set) var count: Int
    }

    /// In the order they first came.
    package private(set) var entries: [Entry] = []

    /// How many codes are told apart: all that our errors have, and more statuses than a server has use for. Further ones
    /// count as `other`.
    static let most = 24
    static let other = "other"

    mutating func add(_ code: String) {
        if let place = place(of: code) {
            entries[place].count += 1
        } else if entries.count < Self.most {
            entries.append(Entry(code: code, count: 1))
        } else if let place = place(of: Self.other) {
            entries[place].count += 1
        } else {
            entries.append(Entry(code: Self.other, count: 1))
        }
    }

    private func place(of code: String) -> Int? { entries.firstIndex { $0.code == code } }
}
