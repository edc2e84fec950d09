import Reactor

/// What happened on one loop, in order. Unchecked: touched on that loop only.
final class Log<Entry>: @unchecked Sendable {
    var entries: [Entry] = []
}

/// Lets tasks of one loop share what is not `Sendable`. Unchecked: it never leaves that loop.
struct OnLoop<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}

/// Comes back when every task that could run on the loop has run until it waits: the loop's jobs are first in, first out,
/// and none of what the tests do here takes more steps than these.
func letOthersRun() async {
    for _ in 0..<20 { await Task.yield() }
}
