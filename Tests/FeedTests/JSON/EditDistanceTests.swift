import Feed
import TestSupport
import Testing

@Suite(.limited) struct EditDistanceTests {
    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("abc", "abc", 0), ("evry", "every", 1), ("vrebose", "verbose", 1),
        ("ca", "abc", 2), ("kitten", "sitting", 3), ("a cat", "an abct", 3), ("é", "e", 1),
    ])
    func countsInsertionsDeletionsSubstitutionsAndSwaps(_ left: String, _ right: String, _ distance: Int) {
        #expect(EditDistance.between(left, right) == distance)
        #expect(EditDistance.between(right, left) == distance)
    }

    /// The twin walks the edits themselves, breadth first, from every word of up to 4 letters out of two, to every other.
    @Test func agreesWithTryingAllEdits() {
        let letters = Array("ab")
        var words: [[Character]] = [[]]
        for length in 1...4 {
            words += words.filter { $0.count == length - 1 }.flatMap { word in letters.map { word + [$0] } }
        }
        for start in words {
            var distances: [[Character]: Int] = [start: 0]
            var front = [start]
            while !front.isEmpty {
                var next: [[Character]] = []
                for word in front {
                    for edited in edits(of: word, letters) where edited.count <= 5 && distances[edited] == nil {
                        distances[edited] = distances[word, default: 0] + 1
                        next.append(edited)
                    }
                }
                front = next
            }
            for end in words {
                #expect(EditDistance.between(String(start), String(end)) == distances[end], "\(start) to \(end)")
            }
        }
    }

    private func edits(of word: [Character], _ letters: [Character]) -> [[Character]] {
        var results: [[Character]] = []
        for index in 0...word.count {
            for letter in letters { results.append(word[..<index] + [letter] + word[index...]) }
            guard index < word.count else { continue }
            results.append(Array(word[..<index] + word[(index + 1)...]))
            for letter in letters { results.append(word[..<index] + [letter] + word[(index + 1)...]) }
            guard index + 1 < word.count else { continue }
            results.append(word[..<index] + [word[index + 1], word[index]] + word[(index + 2)...])
        }
        return results
    }

    @Test(arguments: [
        ("evry", "every"), ("intreval", "interval"), ("urls", "url"), ("ur", "url"), ("histroy", "history"),
        ("quite", "quiet"), ("demos", "demo"), ("x", nil), ("", nil), ("terminal", nil), ("password", nil),
        (String(repeating: "every", count: 1_000), nil),
    ])
    func suggestsOnlyWhatIsNear(_ word: String, _ expected: String?) {
        let known = ["url", "preset", "every", "interval", "history", "quiet", "verbose", "demo", "a"]
        #expect(EditDistance.suggestion(for: word, among: known) == expected)
    }
}
