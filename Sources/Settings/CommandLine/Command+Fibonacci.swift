internal import Feed
internal import Inputs
internal import Reactor

extension Command {
    /// The most runs that one command makes.
    private static let mostRuns = 1_000

    /// Parses the words of `catwatch fibonacci`.
    ///
    /// - Parameter words: the words after `fibonacci`: numbers (digits only), or options.
    /// - Throws: `UsageError`.
    static func fibonacci(
        _ words: ArraySlice<String>, environment: [String: String], load: Loader
    ) throws(UsageError) -> Command {
        if words.first?.hasPrefix("-") == true || words.contains(where: { $0.hasPrefix("--") }) {
            let line = try ParsedArguments(words, of: .fibonacci, environment: environment)
            if let request = line.request { return request }
            guard line.values[\.summary], line.words.isEmpty else {
                throw UsageError("fibonacci takes numbers, or \(SettingTable.rows.summary.flag) and a journal")
            }
            return .fibonacciRuns(journal: try line.journal(nil, load: load))
        }
        guard !words.isEmpty else { throw UsageError("fibonacci needs a number: catwatch fibonacci 90") }
        guard words.count <= mostRuns else { throw UsageError("fibonacci takes \(mostRuns) numbers at the most") }
        var counts: [Int] = []
        for word in words {
            guard !word.isEmpty, word.utf8.allSatisfy(\.isDecimalDigit) else {
                throw UsageError("fibonacci: \(UsageError.quoted(word)) is no number; write digits only")
            }
            // Leading zeros are allowed, however many.
            guard let count = Int(word), count <= PollRequest.mostN else {
                throw UsageError(
                    "fibonacci: \(UsageError.quoted(word)) is too large; \(PollRequest.mostN) is the most")
            }
            counts.append(count)
        }
        return .fibonacci(counts)
    }
}
