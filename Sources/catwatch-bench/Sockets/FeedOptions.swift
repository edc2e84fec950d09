/// The options of the bench's own feed: a store and its outputs in a separate process, so that their resource usage can
/// be told from their readers'. Scenarios start it; `catwatch-bench list` does not name it.
struct FeedOptions {
    /// The Unix socket that serves the feed.
    var listen: String?
    /// Events per second.
    var rate = 1_000
    /// Events that are published at once.
    var batch = 1
    /// The number of events before `bye`.
    var count = 0
    /// The number of readers to wait for before the first event.
    var readers = 0

    /// The arguments that `init` reads.
    var arguments: [String] {
        var words = ["feed"]
        if let listen { words += ["--listen", listen] }
        return words + ["--rate", "\(rate)", "--batch", "\(batch)", "--count", "\(count)", "--readers", "\(readers)"]
    }

    init() {}

    /// - Throws: `BenchError` that says what is wrong with the arguments.
    init(_ words: ArraySlice<String>) throws(BenchError) {
        var rest = words
        while let word = rest.popFirst() {
            guard let value = rest.popFirst() else { throw BenchError("\(word) needs a value") }
            switch word {
            case "--listen": listen = value
            default:
                guard let number = Int(value), number >= 0 else { throw BenchError("\(word) takes a number") }
                switch word {
                case "--rate": rate = max(1, number)
                case "--batch": batch = max(1, number)
                case "--count": count = number
                case "--readers": readers = number
                default: throw BenchError("a feed has no \(word)")
                }
            }
        }
    }
}
