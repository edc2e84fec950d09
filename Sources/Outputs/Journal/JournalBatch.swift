internal import Feed
internal import Journal

/// The pieces of the next commit, in order of arrival.
struct JournalBatch {
    /// This number of lines is committed without waiting for more.
    static let dueLines = 4_096
    // Bound: lines of the journal's commit in progress | an eighth of the log, at most 2 MiB, and 7,168 lines; one
    //   chunk or long line more | kept even if the log drops them; others wait in the log
    /// A journal can delete as much after each commit.
    private static let mostLines = 7_168
    private static let mostBytes = 2 << 20

    /// The most bytes of lines in the batch.
    private let capacity: Int
    /// Whether the runs are another agent's, whose feed tells how they end.
    private let isRelay: Bool
    private(set) var pieces: [JournalPiece] = []
    private var lines = 0
    private var bytes = 0
    /// Whether this is the last batch.
    private(set) var isLast = false

    init(capacity: Int, isRelay: Bool) {
        self.capacity = min(capacity, Self.mostBytes)
        self.isRelay = isRelay
    }

    /// An empty batch to follow this one.
    var next: JournalBatch { JournalBatch(capacity: capacity, isRelay: isRelay) }

    var isEmpty: Bool { pieces.isEmpty }
    /// Whether the batch accepts no more.
    var isFull: Bool { bytes >= capacity || lines >= Self.mostLines || isLast }
    /// Whether it must be committed at once.
    var isDue: Bool { lines >= Self.dueLines || isFull }

    mutating func add(_ delivery: Delivery) {
        switch delivery {
        case .lines(let span):
            pieces.append(.lines(span))
            lines += span.sequences.count
            bytes += span.count
        case .greeting(let greeting), .ended(let greeting, _):
            pieces.append(.greeting(greeting))
            bytes += greeting.count
        case .gap(let line):
            // The store's own line, so it is valid.
            guard let gap = Line.Gap(line[...]) else { return }
            pieces.append(.gap(gap.numbers, line))
            lines += 1
        case .end(let line):
            if !isRelay { addEnd(line) }
            isLast = true
        case .kept, .interrupted: break
        }
    }

    /// Adds the positions that belong to the lines so far.
    mutating func add(_ positions: [MemberPosition]) {
        if !positions.isEmpty { pieces.append(.positions(positions)) }
    }

    mutating func addState(_ lines: [UInt8]) { pieces.append(.state(lines)) }

    /// - Parameter line: the `bye` of a run.
    mutating func addEnd(_ line: [UInt8]) { pieces.append(.end(line)) }
}
