import Feed
import Journal
import Reactor
import TestSupport

/// The journal on a simulated machine's disk: what was committed outlives the process, the rest does not. It is judged as it
/// comes: each run's lines once, one behind the other, and whole.
final class SimulatedJournal: @unchecked Sendable {  // touched on one loop only
    struct Run {
        let name: String
        /// The number of its last line, or of the last that is missing.
        var last = 0
        var ended: String?
        /// Lines that have still to be compared.
        var unknown: [(sequence: Int, bytes: [UInt8])] = []
    }

    /// What is wrong with it now.
    var fault: JournalFault.Kind?
    /// Whether what is in the file makes no sense, until it is moved aside.
    private(set) var isDamaged = false
    /// How many rows it keeps.
    private let most: Int
    /// Called in the middle of a commit: before it is made (false), and after.
    var onCommit: ((Bool) -> Void)?
    private var history = MemoryHistory()
    private(set) var runs: [Run] = []
    /// How far each run was ever kept.
    private var durable: [String: Int] = [:]
    private(set) var commits = 0
    private(set) var refusals = 0
    private(set) var missing = 0
    private(set) var dropped = 0
    private(set) var movedAside = 0
    /// How many pages were read of it.
    private(set) var pages = 0
    /// How often who reads it has got no answer, or that of another file.
    private(set) var troubles = 0
    private let accuse: (String) -> Void

    init(keeping most: Int, accuse: @escaping (String) -> Void) {
        self.most = most
        self.accuse = { accuse("the journal: \($0)") }
    }

    /// How far a run is kept.
    func last(of run: String) -> Int { runs.last { $0.name == run }?.last ?? 0 }

    /// How far a run was ever kept.
    func durable(of run: String) -> Int { durable[run] ?? 0 }

    /// The run that came before one.
    func run(before name: String) -> Run? { runs.last { $0.name != name } }

    /// What is in it makes no sense from now on.
    func damage() { isDamaged = true }

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

    // MARK: What is in it

    private static func isLine(_ row: MemoryHistory.Row) -> Bool { row.bytes.starts(with: "{\"seq\":".utf8) }

    /// A line that it has among those of these numbers; nil for none.
    func line(in numbers: ClosedRange<Int>, of run: String) -> Int? {
        history.rows(of: run).first { Self.isLine($0) && numbers ~= $0.numbers.lowerBound }?.numbers.lowerBound
    }

    /// Calls `body` with every line whose time lies in a range.
    func forEach(from: Timestamp, until: Timestamp, _ body: (LineID) -> Void) {
        for row in history.rows where Self.isLine(row) && row.time >= from && row.time < until {
            body(LineID(history.run(of: row), row.numbers.lowerBound))
        }
    }

    /// What a reader has been denied that was to get what follows a place, and goes on with another run; nil for nothing.
    ///
    /// - Parameter isPrompt: whether the log can have let go of nothing that the journal has yet to keep.
    func leftOut(behind place: LineID, before next: LineID, isPrompt: Bool) -> String? {
        // What it knows of that run, as long as it has anything of it.
        if let last = history.rows(of: place.run).last?.numbers.upperBound, last >= place.sequence {
            return "\(place.sequence) to \(last) of \(place.run)"
        }
        // Of a run that nobody knows any more a reader gets what the log has.
        guard (try? history.rowID(of: place.sequence, in: place.run)) != nil else { return nil }
        let names = runs.map(\.name)
        guard let here = names.lastIndex(of: place.run), let there = names.lastIndex(of: next.run) else { return nil }
        guard here < there else { return "the way back from \(place.run) to \(next.run)" }
        for name in names[(here + 1)..<there] {
            if let row = history.rows(of: name).first(where: Self.isLine) { return "\(row.numbers) of \(name)" }
        }
        guard isPrompt, let first = history.rows(of: next.run).first(where: Self.isLine)?.numbers.lowerBound,
            first < next.sequence
        else { return nil }
        return "\(first) to \(next.sequence - 1) of \(next.run)"
    }

    // MARK: What is written to it

    private func enter() throws(JournalFault) {
        if isDamaged { throw refuse(.corrupt) }
        if let fault { throw refuse(fault) }
    }

    private func refuse(_ kind: JournalFault.Kind) -> JournalFault {
        refusals += 1
        return JournalFault(kind, "the simulation wants it")
    }

    private func open() throws(JournalFault) -> JournalOpening {
        if let fault { throw refuse(fault) }
        guard isDamaged else {
            return JournalOpening(lastRun: runs.last.map { LastRun(name: $0.name, durable: $0.last, ended: $0.ended) })
        }
        isDamaged = false
        movedAside += 1
        troubles += 1
        (history, runs) = (MemoryHistory(), [])
        return JournalOpening(notice: "it was moved aside")
    }

    private func begin(_ greeting: [UInt8]) {
        let lines = greeting.split(separator: 0x0A)
        guard lines.count == 2 else { return accuse("is greeted by \(lines.count) lines") }
        let (name, next) = greeting.withUnsafeBytes { bytes in
            (LineScan(line: bytes).text("\"run\":\"") ?? "", LineScan(line: bytes).integer("\"next_seq\":") ?? 0)
        }
        if runs.last?.name != name {
            runs.append(Run(name: name))
            history.begin(name, hello: Array(lines[0]) + [0x0A])
        }
        history.tell(Array(lines[1]) + [0x0A], from: next)
    }

    private func add(_ numbers: ClosedRange<Int>, at time: Timestamp) {
        guard let run = runs.last else { return accuse("gets lines of nobody") }
        if run.last == 0, numbers.lowerBound > 1, durable(of: run.name) == numbers.lowerBound - 1 {
            // What came before went with another file.
            addGap(1...numbers.lowerBound - 1, at: time)
        } else if numbers.lowerBound != run.last + 1 {
            accuse("gets \(numbers) of \(run.name) behind \(run.last)")
        }
        runs[runs.count - 1].last = numbers.upperBound
        durable[run.name] = numbers.upperBound
    }

    private func addGap(_ missing: ClosedRange<Int>, at time: Timestamp) {
        self.missing += 1
        let line = ControlLine.gap(time: time, missing: missing, reason: "journal")
        history.add(line.dropLast(), missing, time)
    }

    private func keep(_ piece: JournalPiece, at time: Timestamp) {
        switch piece {
        case .greeting(let greeting): begin(greeting)
        case .lines(let span):
            var next = span.sequences.lowerBound
            add(span.sequences, at: time)
            guard !runs.isEmpty else { return }
            var cutter = LineCutter()
            span.withUnsafeBytes { bytes in
                cutter.push(bytes) { line in
                    if line.sequence != next { accuse("gets \(line.sequence ?? 0) as \(next)") }
                    runs[runs.count - 1].unknown.append((next, Array(line.line)))
                    history.add(line.line.dropLast(), next...next, line.time("\"time\":\"") ?? time)
                    next += 1
                }
            }
            if cutter.rest > 0 || next != span.sequences.upperBound + 1 { accuse("gets half a span") }
        case .state(let lines): history.add(state: lines)
        case .positions: accuse("gets positions of members, of which there are none")
        case .gap(let missing, _):
            add(missing, at: time)
            if !runs.isEmpty { addGap(missing, at: time) }
        case .end(let bye):
            guard !runs.isEmpty else { return }
            runs[runs.count - 1].ended = bye.withUnsafeBytes { LineScan(line: $0).text("\"reason\":\"") }
        }
    }

    /// Lets go of a few rows.
    ///
    /// - Returns: whether there are more to go.
    private func tidy() -> Bool {
        let count = min(40, history.rows.count - most)
        guard count > 0 else { return false }
        history.drop(count)
        dropped += count
        return history.rows.count > most
    }

    /// The oldest line of the run whose lines come.
    private var first: Int? { runs.last.flatMap { history.rows(of: $0.name).first?.numbers.lowerBound } }

    // MARK: Who uses it

    /// What one process writes it by.
    func lines(of process: SimulatedProcess) -> any LineStore { Lines(self, process) }

    /// What one process reads it by.
    func history(of process: SimulatedProcess) -> any LineHistory { History(self, process) }

    private final class Lines: LineStore, @unchecked Sendable {  // touched on one loop only
        private let journal: SimulatedJournal
        private let process: SimulatedProcess
        private var isOpen = false

        init(_ journal: SimulatedJournal, _ process: SimulatedProcess) {
            (self.journal, self.process) = (journal, process)
        }

        private func checkLife() throws(JournalFault) {
            if process.isDead { throw JournalFault(.disk, "nobody is there") }
        }

        func open() throws(JournalFault) -> JournalOpening {
            isOpen = false
            try checkLife()
            let opening = try journal.open()
            isOpen = true
            return opening
        }

        func commit(_ pieces: [JournalPiece], at time: Timestamp) throws(JournalFault) {
            try checkLife()
            try journal.enter()
            if !isOpen { journal.accuse("is written to, and is not open") }
            journal.onCommit?(false)
            try checkLife()
            journal.commits += 1
            for piece in pieces { journal.keep(piece, at: time) }
            journal.onCommit?(true)
        }

        func tidy(at time: Timestamp) throws(JournalFault) -> Bool {
            try checkLife()
            try journal.enter()
            return journal.tidy()
        }

        var firstSequence: Int? { isOpen ? journal.first : nil }

        func close() { isOpen = false }
    }

    private final class History: LineHistory, @unchecked Sendable {  // touched on one loop only
        var files: Int { journal.movedAside }

        func close() {}

        private let journal: SimulatedJournal
        private let process: SimulatedProcess

        init(_ journal: SimulatedJournal, _ process: SimulatedProcess) {
            (self.journal, self.process) = (journal, process)
        }

        /// One that is held up can be read.
        private func enter() throws(JournalFault) -> MemoryHistory {
            if process.isDead { throw JournalFault(.disk, "nobody is there") }
            journal.pages += 1
            guard !journal.isDamaged, journal.fault == nil || journal.fault == .held else {
                journal.troubles += 1
                throw JournalFault(journal.isDamaged ? .corrupt : .disk, "the simulation wants it")
            }
            return journal.history
        }

        func rowID(of sequence: Int, in run: String) throws(JournalFault) -> RowID? {
            try enter().rowID(of: sequence, in: run)
        }

        func page(
            _ query: JournalQuery, behind rowID: RowID?, bytes: Int
        ) throws(JournalFault) -> JournalPage? {
            try enter().page(query, behind: rowID, bytes: bytes)
        }

        func state(before rowID: RowID?) throws(JournalFault) -> (through: RowID, lines: [UInt8])? {
            try enter().state(before: rowID)
        }

        func alerts(before run: String) throws(JournalFault) -> [UInt8] { try enter().alerts(before: run) }

        func columns(_ query: ColumnQuery) throws(JournalFault) -> ColumnPage { try enter().columns(query) }
    }
}
