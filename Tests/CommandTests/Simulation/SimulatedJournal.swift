import Feed
import Journal
import Reactor

/// The journal on a simulated machine's disk: what was committed outlives the process, the rest does not. It is judged as it
/// comes: each run's lines once, one behind the other, and whole.
final class SimulatedJournal: @unchecked Sendable {  // touched on one loop only
    struct Run {
        let name: String
        /// The number of its last line, or of the last that is missing.
        var last = 0
        var first: Int?
        var ended: String?
        /// Lines that have still to be compared.
        var unknown: [(sequence: Int, bytes: [UInt8])] = []
    }

    /// What is wrong with it now.
    var fault: JournalFault.Kind?
    /// Called in the middle of a commit: before it is made (false), and after.
    var onCommit: ((Bool) -> Void)?
    private(set) var runs: [Run] = []
    private(set) var commits = 0
    private(set) var refusals = 0
    private(set) var missing = 0
    private let accuse: (String) -> Void

    init(accuse: @escaping (String) -> Void) { self.accuse = { accuse("the journal: \($0)") } }

    /// How far a run is kept.
    func last(of run: String) -> Int { runs.last { $0.name == run }?.last ?? 0 }

    /// The run that came before one.
    func run(before name: String) -> Run? { runs.last { $0.name != name } }

    /// Compares what was kept with what came out.
    func settle(_ records: [String: FeedRecord]) {
        for index in runs.indices {
            guard let record = records[runs[index].name] else { continue }
            while let line = runs[index].unknown.first, line.sequence <= record.last {
                let isSame = line.bytes.withUnsafeBytes { record.matches($0, line.sequence) }
                if !isSame { accuse("has another line \(line.sequence) of \(runs[index].name)") }
                runs[index].unknown.removeFirst()
            }
        }
    }

    private func enter() throws(JournalFault) {
        guard let fault else { return }
        refusals += 1
        throw JournalFault(fault, "the simulation wants it")
    }

    private func begin(_ greeting: [UInt8]) {
        let name = greeting.withUnsafeBytes { LineScan(line: $0).text("\"run\":\"") } ?? ""
        if runs.last?.name != name { runs.append(Run(name: name)) }
    }

    private func add(_ numbers: ClosedRange<Int>) {
        guard let run = runs.last else { return accuse("gets lines of nobody") }
        if numbers.lowerBound != run.last + 1 { accuse("gets \(numbers) of \(run.name) behind \(run.last)") }
        runs[runs.count - 1].last = numbers.upperBound
    }

    private func keep(_ piece: JournalPiece) {
        switch piece {
        case .greeting(let greeting): begin(greeting)
        case .lines(let span):
            var next = span.sequences.lowerBound
            add(span.sequences)
            var cutter = LineCutter()
            span.withUnsafeBytes { bytes in
                cutter.push(bytes) { line in
                    if line.sequence != next { accuse("gets \(line.sequence ?? 0) as \(next)") }
                    runs[runs.count - 1].unknown.append((next, Array(line.line)))
                    runs[runs.count - 1].first = runs[runs.count - 1].first ?? next
                    next += 1
                }
            }
            if cutter.rest > 0 || next != span.sequences.upperBound + 1 { accuse("gets half a span") }
        case .gap(let missing, _):
            self.missing += 1
            add(missing)
        case .end(let bye):
            runs[runs.count - 1].ended = bye.withUnsafeBytes { LineScan(line: $0).text("\"reason\":\"") }
        }
    }

    /// What one process writes it by.
    func lines(of process: SimulatedProcess) -> any LineStore { Lines(self, process) }

    /// What one process reads it by.
    func history(of process: SimulatedProcess) -> any LineHistory { History() }

    private final class Lines: LineStore, @unchecked Sendable {  // touched on one loop only
        private let journal: SimulatedJournal
        private let process: SimulatedProcess
        private var isOpen = false

        init(_ journal: SimulatedJournal, _ process: SimulatedProcess) {
            (self.journal, self.process) = (journal, process)
        }

        private func enter() throws(JournalFault) {
            if process.isDead { throw JournalFault(.disk, "nobody is there") }
            try journal.enter()
        }

        func open() throws(JournalFault) -> JournalOpening {
            isOpen = false
            try enter()
            isOpen = true
            let last = journal.runs.last.map { LastRun(name: $0.name, durable: $0.last, ended: $0.ended) }
            return JournalOpening(lastRun: last)
        }

        func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
            try enter()
            if !isOpen { journal.accuse("is written to, and is not open") }
            journal.onCommit?(false)
            if process.isDead { throw JournalFault(.disk, "nobody is there") }
            journal.commits += 1
            for piece in pieces { journal.keep(piece) }
            journal.onCommit?(true)
        }

        func tidy(at time: Timestamp) throws(JournalFault) -> Bool {
            try enter()
            return false
        }

        var firstSequence: Int? { isOpen ? journal.runs.last?.first : nil }

        func close() { isOpen = false }
    }

    /// Nothing of the past is asked for yet.
    private final class History: LineHistory {
        func place(of sequence: Int, in run: String) throws(JournalFault) -> JournalPlace? { nil }
        func page(
            _ query: JournalQuery, behind place: JournalPlace?, bytes: Int
        ) throws(JournalFault) -> JournalPage? { nil }
    }
}
