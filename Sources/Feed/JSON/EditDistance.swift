/// Counts the typing mistakes between two words, and suggests the known word that was probably meant.
package enum EditDistance {
    /// Returns the Damerau-Levenshtein distance: the least number of insertions, deletions, substitutions and swaps of
    /// two neighbours that turn one word into the other; letters may be edited again after a swap, so it is a metric.
    ///
    /// It needs O(n·m) time and memory: use it for words, not for documents.
    package static func between(_ left: some StringProtocol, _ right: some StringProtocol) -> Int {
        let left = Array(left.unicodeScalars)
        let right = Array(right.unicodeScalars)
        let columns = right.count + 2
        let unreachable = left.count + right.count
        // One row and one column more than usual: a border from which no swap can win.
        var table = [Int](repeating: unreachable, count: (left.count + 2) * columns)
        for row in 0...left.count { table[(row + 1) * columns + 1] = row }
        for column in 0...right.count { table[columns + column + 1] = column }
        // For every letter, the last row in which it occurred in `left`.
        var lastRow: [Unicode.Scalar: Int] = [:]
        for (row, letter) in left.enumerated() {
            // The last column of this row in which the letters matched.
            var lastMatch = 0
            for (column, other) in right.enumerated() {
                let swapRow = lastRow[other] ?? 0
                let swapColumn = lastMatch
                let same = letter == other
                if same { lastMatch = column + 1 }
                let at = (row + 2) * columns + column + 2
                table[at] = min(
                    table[at - columns - 1] + (same ? 0 : 1),
                    table[at - 1] + 1,
                    table[at - columns] + 1,
                    table[swapRow * columns + swapColumn] + (row - swapRow) + 1 + (column - swapColumn))
            }
            lastRow[letter] = row + 1
        }
        return table[(left.count + 1) * columns + right.count + 1]
    }

    /// Returns the known word that `word` was probably meant to be: the nearest, if at most a third of it is wrong.
    ///
    /// Of several equally near words the first counts; nil when none is near enough.
    package static func suggestion(for word: some StringProtocol, among known: [String]) -> String? {
        let length = word.unicodeScalars.count
        guard (1...64).contains(length) else { return nil }
        let limit = max(1, length / 3)
        var best: (word: String, distance: Int)?
        for candidate in known {
            guard abs(candidate.unicodeScalars.count - length) <= limit else { continue }
            let distance = between(word, candidate)
            // A word with every letter changed is no suggestion: `-x` is not close to `-u`.
            guard distance <= limit, distance < candidate.unicodeScalars.count else { continue }
            if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
        }
        return best?.word
    }
}
