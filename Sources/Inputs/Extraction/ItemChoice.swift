package import Feed

/// Patterns that choose items by their keys: `*` stands for any text.
package struct ItemChoice: Sendable, Equatable {
    // Bound: patterns of `only` | 1,000 of a source, 1,024 bytes each | wrong configuration, exit 2
    package static let mostPatterns = 1_000
    package static let longestPattern = 1_024

    package let patterns: [String]
    /// The patterns without `*`, by their text.
    private let words: [Bytes: Int]
    /// The other patterns.
    private let globs: [(index: Int, pattern: NamePattern)]

    package init(_ patterns: [String]) {
        self.patterns = patterns
        var words: [Bytes: Int] = [:]
        var globs: [(index: Int, pattern: NamePattern)] = []
        for (index, text) in patterns.enumerated() {
            let pattern = NamePattern(text)
            if pattern.literal == nil { globs.append((index, pattern)) } else { words[Bytes(text.utf8)] = index }
        }
        (self.words, self.globs) = (words, globs)
    }

    package static func == (left: ItemChoice, right: ItemChoice) -> Bool {
        left.patterns.elementsEqual(right.patterns) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// Whether an item with this key is chosen, which the patterns that match it note in `matches`.
    package func includes(_ key: Bytes, noting matches: inout Matches) -> Bool {
        var isChosen = false
        if let index = words[key] {
            matches.add(index)
            isChosen = true
        }
        // A pattern that has matched needs no second look when the item is chosen already.
        for (index, pattern) in globs where !(isChosen && matches.contains(index)) {
            guard key.withUnsafeBytes({ pattern.matches($0) }) else { continue }
            matches.add(index)
            isChosen = true
        }
        return isChosen
    }

    /// The patterns that have matched an item.
    package struct Matches: Sendable, Equatable {
        private var indices: Set<Int> = []

        package init() {}

        package func contains(_ index: Int) -> Bool { indices.contains(index) }
        package mutating func add(_ index: Int) { indices.insert(index) }
        package mutating func formUnion(_ other: Matches) { indices.formUnion(other.indices) }
    }

    /// Tells once of each pattern that has matched nothing up to a complete answer with items.
    struct Report {
        /// The patterns that have matched, or were told.
        private var told = Matches()

        /// - Parameter items: the number of items of the answer, taken or not.
        /// - Returns: the failure to report; nil when there is nothing new.
        mutating func failure(of choice: ItemChoice?, _ matches: Matches, items: Int) -> Failure? {
            guard let choice, items > 0 else { return nil }
            told.formUnion(matches)
            let missing = choice.patterns.indices.filter { !told.contains($0) }
            guard let first = missing.first else { return nil }
            for index in missing { told.add(index) }
            let more = missing.count > 1 ? " and \(missing.count - 1) more of its patterns match" : " matches"
            return Failure(.config, "only: \"\(choice.patterns[first])\"\(more) the key of no item")
        }
    }
}
