internal import Reactor

/// A change of a condition's state, for one pair or for a set.
struct Turn: Sendable {
    let condition: Int
    /// The pair or set.
    let part: Part
    let isMet: Bool
    /// When, and since when the tests hold or held.
    let at: Timestamp
    let since: Timestamp
    /// The number of the line since which they hold, and of the one that decided; 0 where it was time, and not a line.
    let from: Int
    let line: Int
    let worst: TurnLog.Worst?
    /// Whether the series is gone.
    let isGone: Bool
}

/// The changes of a board's states, and how far readings went beyond their limits while a condition was pending or met.
struct TurnLog: Sendable {
    /// The worst value, and its line; nil for a line of an earlier run.
    struct Worst: Sendable {
        var value: Double
        var line: Int?
    }

    private struct Course: Sendable {
        /// The number of the line that began it.
        var from: Int
        var worst: Worst?
    }

    /// The number of the line that is applied; 0 while time passes.
    var line = 0
    private var turns: [Turn] = []
    /// Of the parts that are pending or met.
    private var courses: [Part: Course] = [:]

    /// The number of changes since `take`.
    var count: Int { turns.count }

    /// Removes and returns the changes since the last time.
    mutating func take() -> [Turn] {
        guard !turns.isEmpty else { return [] }
        defer { turns = [] }
        return turns
    }

    /// Notes the state of a part after it was judged.
    ///
    /// - Parameters:
    ///   - reading: what its first test with a limit measures, while the tests hold.
    ///   - now: when.
    mutating func note(
        _ part: Part, of number: Int, _ condition: Condition, from before: Phase, to phase: Phase, _ reading: Worst?,
        at now: Timestamp, isGone: Bool
    ) {
        if before.since == nil, phase.since != nil { courses[part] = Course(from: line) }
        if let reading { raise(part, to: reading, condition) }
        if before.isMet != phase.isMet {
            let course = courses[part]
            turns.append(
                Turn(
                    condition: number, part: part, isMet: phase.isMet, at: now,
                    since: phase.since ?? before.since ?? now, from: course?.from ?? 0, line: line,
                    worst: course?.worst, isGone: isGone))
        }
        if phase.since == nil { courses[part] = nil }
    }

    /// Takes over a value if it is worse than those before.
    mutating func raise(_ part: Part, to new: Worst, _ condition: Condition) {
        guard let course = courses[part], let sign = condition.limit?.sign,
            course.worst.map({ sign * new.value > sign * $0.value }) ?? true
        else { return }
        courses[part]?.worst = new
    }

    /// The worst value so far, if there is one.
    func worst(of part: Part) -> Worst? { courses[part]?.worst }

    /// A part is met since an earlier run.
    mutating func begin(_ part: Part, worst: Double?) {
        courses[part] = Course(from: 0, worst: worst.map { Worst(value: $0) })
    }

    /// Lines have other numbers from now on.
    mutating func beginRun() {
        for part in courses.keys { begin(part, worst: courses[part]?.worst?.value) }
    }

    /// Takes over what another log knows of a part, under the name that it has here.
    mutating func adopt(_ part: Part, as new: Part, of old: TurnLog) { courses[new] = old.courses[part] }
}

/// A part of a board that has a state and a deadline.
enum Part: Hashable, Comparable, Sendable {
    case pair(Int)
    case set(Int)
    case source(Int)
}
