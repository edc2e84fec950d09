internal import Feed
internal import Journal

/// What the next commit keeps, in the order in which it came.
struct JournalBatch {
    /// So many lines are committed without waiting for more.
    static let dueLines = 4_096
    /// It takes no more than so many lines, or bytes, but for what the last delivery has beyond that: a journal lets go of as
    /// much behind each commit.
    private static let mostLines = 7_168
    private static let mostBytes = 2 << 20

    /// How many bytes of lines it holds on to.
    private let capacity: Int
    /// Whether the runs are another agent's, which says itself how they end.
    private let isRelay: Bool
    private(set) var pieces: [JournalPiece] = []
    private var lines = 0
    private var bytes = 0
    /// Whether nothing comes after it.
    private(set) var isLast = false

    init(capacity: Int, isRelay: Bool) {
        self.capacity = min(capacity, Self.mostBytes)
        self.isRelay = isRelay
    }

    /// The one behind it.
    var next: JournalBatch { JournalBatch(capacity: capacity, isRelay: isRelay) }

    var isEmpty: Bool { pieces.isEmpty }
    /// Whether it takes no more.
    var isFull: Bool { bytes >= capacity || lines >= Self.mostLines || isLast }
    /// Whether it is to be committed at once.
    var isDue: Bool { lines >= Self.dueLines || isFull }

    mutating func add(_ delivery: Delivery) {
        switch delivery {
        case .lines(let span):
            pieces.append(.lines(span))
            lines += span.sequences.count
            bytes += span.count
        case .greeting(let greeting):
            pieces.append(.greeting(greeting))
            bytes += greeting.count
        case .gap(let line):
            // The store's own line: it can be read.
            guard let gap = Line.Gap(line[...]) else { return }
            pieces.append(.gap(gap.numbers, line))
            lines += 1
        case .end(let line):
            if !isRelay { addEnd(line) }
            isLast = true
        case .interrupted: break
        }
    }

    /// - Parameter line: the `bye` of a run.
    mutating func addEnd(_ line: [UInt8]) { pieces.append(.end(line)) }
}
