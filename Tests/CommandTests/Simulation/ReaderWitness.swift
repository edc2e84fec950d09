import Glibc

/// What one reader sees: whole lines of a run, one behind the other, or a `gap` that names exactly what is missing; across
/// connections too.
final class ReaderWitness {
    enum Kind {
        /// Asks where to go on.
        case socket
        /// Goes on behind the last line, whoever writes it.
        case file
        /// May get again what it has, after a new connection.
        case push
    }

    let name: String
    let kind: Kind
    /// The oldest line that there still is of a run, if that can be known.
    var oldest: ((String) -> Int?)?
    /// Says what is wrong.
    private let accuse: (String) -> Void
    private var cutter = LineCutter()
    /// Whose lines come, and the number that the next one must have.
    private(set) var run: String?
    private(set) var next = 1
    /// Where the answer to what was asked for goes on.
    private var asked: (since: Int, run: String)?
    private var answer: Int?
    private var mayRepeat = false
    /// Whether the connection has begun with a `hello`.
    private(set) var isGreeted = false
    private var owesStats = false
    /// The `bye` that it has got.
    private(set) var isOver = false
    /// Whether it was told why it is not let in.
    private(set) var isRefused = false
    private(set) var gaps = 0
    private(set) var resumed = 0
    private(set) var lines = 0
    /// Lines that were not known yet when they came.
    private var unknown: [(sequence: Int, run: String, bytes: [UInt8])] = []

    init(_ name: String, _ kind: Kind, accuse: @escaping (String) -> Void) {
        (self.name, self.kind) = (name, kind)
        self.accuse = { accuse("\(name): \($0)") }
    }

    /// A connection begins.
    func connect() {
        cutter.removeAll()
        (asked, answer, isGreeted, owesStats, isOver) = (nil, nil, false, false, false)
        (mayRepeat, isRefused) = (false, false)
    }

    /// It has asked for what follows the last line that it has.
    func ask() -> String? {
        guard let run else { return nil }
        asked = (next - 1, run)
        return "{\"since\":\(next - 1),\"run\":\"\(run)\"}\n"
    }

    /// Whether it waits for what it has asked for, which may be on a disk.
    var isAsking: Bool { asked != nil && answer == nil }

    /// Up to which number it has all that there is, or says that it has.
    var reach: Int { max(next, answer ?? 0) }

    /// The connection has ended.
    ///
    /// - Parameter mayCut: whether the last line may be without its end.
    func disconnect(mayCut: Bool) {
        if !mayCut, cutter.rest > 0 { accuse("was cut in the middle of a line") }
        cutter.removeAll()
    }

    func take(_ bytes: UnsafeRawBufferPointer, _ records: [String: FeedRecord]) {
        cutter.push(bytes) { take($0, records) }
    }

    /// Looks at what was not known yet; what became of a run that is over may never be known.
    func settle(_ records: [String: FeedRecord]) {
        for line in unknown {
            guard let record = records[line.run], record.last >= line.sequence else { continue }
            line.bytes.withUnsafeBytes { compare($0, line.sequence, record) }
        }
        unknown.removeAll { records[$0.run].map { $0.last } ?? 0 >= $0.sequence }
    }

    private func take(_ line: LineScan, _ records: [String: FeedRecord]) {
        lines += 1
        if isOver, kind != .file { return accuse("gets something behind the end: \(line.text)") }
        if owesStats != line.begins("{\"type\":\"stats\"") {
            return accuse(owesStats ? "gets no stats behind hello: \(line.text)" : "gets stats out of place")
        }
        owesStats = false
        if let sequence = line.sequence {
            guard let run, isGreeted else { return accuse("gets a line before hello") }
            advance(from: sequence, to: sequence, line)
            if let record = records[run], record.last >= sequence {
                compare(line.line, sequence, record)
            } else {
                unknown.append((sequence, run, Array(line.line)))
            }
        } else if line.begins("{\"type\":\"hello\"") {
            greet(line)
        } else if line.begins("{\"type\":\"gap\"") {
            guard let from = line.integer("\"from\":"), let to = line.integer("\"to\":"), from <= to else {
                return accuse("gets a gap of nothing: \(line.text)")
            }
            gaps += 1
            if let run, let oldest = oldest?(run), to >= oldest { accuse("misses \(to), and \(oldest) is there") }
            advance(from: from, to: to, line)
        } else if line.begins("{\"type\":\"bye\"") {
            isOver = true
            let last = line.integer("\"last_seq\":")
            if let last, answer == last + 1 { next = last + 1 }
            if last != next - 1 { accuse("ends before \(next) with last_seq \(last ?? -1)") }
        } else if line.begins("{\"type\":\"error\"") {
            isRefused = true
        } else if !line.begins("{\"type\":\"stats\"") {
            accuse("gets no line: \(line.text.prefix(200))")
        }
    }

    private func greet(_ line: LineScan) {
        guard let name = line.text("\"run\":\""), let first = line.integer("\"first_seq\":") else {
            return accuse("hello says nothing: \(line.text)")
        }
        owesStats = true
        if !isGreeted {
            switch kind {
            case .socket: next = first
            case .push where name == run: mayRepeat = true
            case .file where name == run: break
            // From the first one on, however late it was connected.
            case .push, .file: next = 1
            }
        } else if let asked {
            answer = asked.run == name ? asked.since + 1 : first
        } else if name != run {
            next = kind == .socket ? first : 1
        }
        isGreeted = true
        isOver = false
        run = name
    }

    private func advance(from: Int, to: Int, _ line: LineScan) {
        if from == answer {
            (answer, asked) = (nil, nil)
            resumed += 1
        } else if from != next, !(mayRepeat && from < next) {
            accuse("gets \(from) instead of \(next)\(answer.map { " or \($0)" } ?? ""): \(line.text.prefix(200))")
        }
        mayRepeat = false
        next = to + 1
    }

    private func compare(_ line: UnsafeRawBufferPointer, _ sequence: Int, _ record: FeedRecord) {
        if !record.matches(line, sequence) {
            accuse("gets another line \(sequence): \(String(decoding: line.prefix(200), as: UTF8.self))")
        }
    }
}
