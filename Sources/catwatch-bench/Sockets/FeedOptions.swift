internal import Outputs

/// What a feed of the bench's own is like: a store with its outputs in a process of their own, so that what they use can
/// be told from what their readers use. Scenarios start it; `catwatch-bench list` does not name it.
struct FeedOptions {
    /// The Unix socket that serves it.
    var listen: String?
    /// Where it is pushed to.
    var connect: PushTarget?
    /// Events a second.
    var rate = 1_000
    /// Events that are published at once.
    var batch = 1
    /// Events after which it says `bye`.
    var count = 0
    /// Readers that are waited for before the first event.
    var readers = 0
    var logBytes = 8 << 20
    /// A reader that takes nothing for so many seconds is closed.
    var stall = 60

    /// The words that `init` reads again.
    var arguments: [String] {
        var words = ["feed"]
        if let listen { words += ["--listen", listen] }
        words += ["--rate", "\(rate)", "--batch", "\(batch)", "--count", "\(count)", "--readers", "\(readers)"]
        return words + ["--log-bytes", "\(logBytes)", "--stall", "\(stall)"]
    }

    init() {}

    /// - Throws: what is wrong with the words.
    init(_ words: ArraySlice<String>) throws(BenchError) {
        var rest = words
        while let word = rest.popFirst() {
            guard let value = rest.popFirst() else { throw BenchError("\(word) needs a value") }
            switch word {
            case "--listen": listen = value
            case "--connect":
                do throws(PushTarget.Fault) {
                    connect = try PushTarget(value)
                } catch {
                    throw BenchError(error.message)
                }
            default:
                guard let number = Int(value), number >= 0 else { throw BenchError("\(word) takes a number") }
                switch word {
                case "--rate": rate = max(1, number)
                case "--batch": batch = max(1, number)
                case "--count": count = number
                case "--readers": readers = number
                case "--log-bytes": logBytes = number
                case "--stall": stall = number
                default: throw BenchError("a feed has no \(word)")
                }
            }
        }
    }
}
