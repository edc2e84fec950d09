internal import Feed
package import Journal
package import Reactor
import Synchronization

/// A journal in memory, which fails when it is told to.
package final class MemoryLineStore: LineStore {
    package enum Call: Sendable { case open, commit, tidy }

    /// A run, as it was kept.
    package struct Run: Sendable {
        package var name: String
        /// Its lines, and the `gap` lines in between.
        package var lines: [String] = []
        /// The number of the last one, or of the last that is missing.
        package var last = 0
        package var ended: String?
    }

    private struct State {
        var runs: [Run] = []
        var isOpen = false
        /// Whose lines come, among `runs`.
        var current: Int?
        var commits: [(time: Timestamp, lines: Int)] = []
        var calls: [Call: Int] = [:]
        var greetings: [String] = []
        var states: [String] = []
        var positions: [MemberPosition] = []
        var tidying = 0
    }
    private let state = Mutex(State())
    private let fail: @Sendable (Call) -> JournalFault?
    private let notice: @Sendable () -> String?

    /// - Parameters:
    ///   - fail: asked at every call, what is wrong with it.
    ///   - notice: what it says when it is opened.
    package init(
        fail: @escaping @Sendable (Call) -> JournalFault? = { _ in nil },
        notice: @escaping @Sendable () -> String? = { nil }
    ) {
        self.fail = fail
        self.notice = notice
    }

    package var runs: [Run] { state.withLock { $0.runs } }
    /// When each commit came, and how many lines it had.
    package var commits: [(time: Timestamp, lines: Int)] { state.withLock { $0.commits } }
    /// Every `hello` and `stats` that it got.
    package var greetings: [String] { state.withLock { $0.greetings } }
    package var states: [String] { state.withLock { $0.states } }
    package var isOpen: Bool { state.withLock { $0.isOpen } }
    package func count(of call: Call) -> Int { state.withLock { $0.calls[call] ?? 0 } }
    /// Has the next calls of `tidy` say that there is more.
    package func makeUntidy(_ times: Int) { state.withLock { $0.tidying = times } }

    private func enter(_ call: Call) throws(JournalFault) {
        state.withLock { $0.calls[call, default: 0] += 1 }
        if let fault = fail(call) { throw fault }
    }

    package func open() throws(JournalFault) -> JournalOpening {
        state.withLock { ($0.isOpen, $0.current) = (false, nil) }
        try enter(.open)
        return state.withLock { state in
            state.isOpen = true
            let last = state.runs.last.map { LastRun(name: $0.name, durable: $0.last, ended: $0.ended) }
            return JournalOpening(lastRun: last, notice: notice(), positions: state.positions)
        }
    }

    package func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
        try enter(.commit)
        guard isOpen else { throw JournalFault(.disk, "the journal is not open") }
        state.withLock { state in
            var lines = 0
            for piece in pieces { lines += Self.write(piece, to: &state) }
            state.commits.append((time, lines))
        }
    }

    private static func write(_ piece: JournalPiece, to state: inout State) -> Int {
        switch piece {
        case .greeting(let bytes):
            guard case .hello(let hello)? = (try? LineDecoder.decode(bytes.prefix { $0 != 0x0A }))?.body else {
                preconditionFailure("a greeting begins with hello")
            }
            state.greetings.append(String(decoding: bytes, as: UTF8.self))
            if let current = state.current, state.runs[current].name == hello.run { return 0 }
            if state.runs.last?.name != hello.run { state.runs.append(Run(name: hello.run)) }
            state.current = state.runs.count - 1
            return 0
        case .lines(let span):
            let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            let lines = text.split(separator: "\n").map(String.init)
            precondition(lines.count == span.sequences.count, "a span is whole lines")
            add(lines, span.sequences, to: &state)
            return lines.count
        case .state(let lines):
            state.states.append(String(decoding: lines, as: UTF8.self))
            return 0
        case .positions(let new):
            for position in new {
                state.positions.removeAll { $0.member == position.member && $0.line.run == position.line.run }
                state.positions.append(position)
            }
            return 0
        case .gap(let missing, let bytes):
            add([String(decoding: bytes.dropLast(), as: UTF8.self)], missing, to: &state)
            return 1
        case .end(let bytes):
            guard case .bye(let bye)? = (try? LineDecoder.decode(bytes[...]))?.body else { return 0 }
            if let run = state.runs.lastIndex(where: { $0.name == bye.run }) { state.runs[run].ended = bye.reason }
            return 0
        }
    }

    private static func add(_ lines: [String], _ numbers: ClosedRange<Int>, to state: inout State) {
        guard let current = state.current else { preconditionFailure("whose lines these are was not said") }
        state.runs[current].lines += lines
        state.runs[current].last = numbers.upperBound
    }

    package func tidy(at time: Timestamp) throws(JournalFault) -> Bool {
        try enter(.tidy)
        return state.withLock { state in
            state.tidying = max(0, state.tidying - 1)
            return state.tidying > 0
        }
    }

    package var firstSequence: Int? {
        state.withLock { state in
            guard let current = state.current, let line = state.runs[current].lines.first else { return nil }
            return (try? LineDecoder.decode(Array(line.utf8)[...]))?.seq
        }
    }

    package func close() { state.withLock { ($0.isOpen, $0.current) = (false, nil) } }
}
