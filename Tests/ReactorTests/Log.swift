import Reactor

/// What happened on one loop, in order. Unchecked: touched on that loop only.
final class Log<Entry>: @unchecked Sendable {
    var entries: [Entry] = []
}

/// Comes back when every task that could run on the loop has run until it waits: the loop's jobs are first in, first out,
/// and none of what the tests do here takes more steps than these.
func letOthersRun() async {
    for _ in 0..<20 { await Task.yield() }
}
