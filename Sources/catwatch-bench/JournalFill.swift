internal import Feed
internal import Journal
internal import Reactor

/// `catwatch-bench journal-fill FILE LINES [MS]`: writes a journal like that of an agent with 20 sources, for `catwatch
/// log` and graphs of the past: facts and latencies in turns, and an error now and then, a line every MS milliseconds (1).
enum JournalFill {
    struct Order {
        let path: String
        let lines: Int
        let step: Int

        init(_ arguments: ArraySlice<String>) throws(BenchError) {
            let words = Array(arguments)
            guard 2...3 ~= words.count, let lines = Int(words[1]), lines > 0,
                let step = words.count > 2 ? Int(words[2]) : 1, step > 0
            else { throw BenchError("journal-fill takes a file, a number of lines, and milliseconds between them") }
            (path, self.lines, self.step) = (words[0], lines, step)
        }
    }

    /// The number of lines in a commit.
    private static let batch = 4_096
    private static let text =
        "Cats sleep for about two thirds of the day, most of it lightly, with an ear that listens."

    static func run(_ order: Order) throws {
        let store = SQLiteLineStore(path: order.path)
        _ = try store.open()
        defer { store.close() }
        var random = SystemRandomNumberGenerator()
        var log = LineLog()
        let start = Timestamp(seconds: 1_790_000_000)
        let identity = AgentIdentity(run: "bench", version: "1", started: start)
        let hello = ControlLine.hello(
            time: start, identity: identity, isFiltered: false, interval: .seconds(10), history: .seconds(120),
            firstSequence: 1, nextSequence: 1)
        let stats = ControlLine.stats(time: start, asOf: 0, endpoints: [], sources: [])
        try store.commit([.greeting(hello + stats)], at: start)
        var time = TimestampText()
        var next = 1
        while next <= order.lines {
            for sequence in next..<min(next + batch, order.lines + 1) {
                let ms = Double.random(in: 0...1, using: &random)
                let rest = Array(
                    members(of: sequence, source: "fact-\(sequence / 2 % 20)", ms: 20 + 80 * ms * ms).utf8)
                log.append(atMost: 1_024, at: LoopInstant(nanoseconds: 0)) { number, writer in
                    var writer = writer
                    writer.raw("{\"seq\":")
                    writer.integer(number)
                    writer.raw(",\"time\":")
                    time.write(start + .milliseconds(number * order.step), to: &writer)
                    writer.raw(rest[...])
                    return writer
                }
            }
            var pieces: [JournalPiece] = []
            while case .lines(let span) = log.read(from: next) {
                pieces.append(.lines(span))
                next = span.sequences.upperBound + 1
            }
            try store.commit(pieces, at: start)
        }
    }

    /// The members of a line after its time, with the line's end.
    private static func members(of sequence: Int, source: String, ms: Double) -> String {
        if sequence.isMultiple(of: 997) {
            return
                #","type":"error","source":"\#(source)","code":"timeout","message":"no answer within 10 s","attempt":1}"#
                + "\n"
        }
        if sequence.isMultiple(of: 2) {
            return
                #","type":"fact","source":"\#(source)","series":"\#(source)","value":\#(text.utf8.count),"text":"\#(text)"}"#
                + "\n"
        }
        return
            #","type":"latency","source":"\#(source)","endpoint":"GET https://catfact.ninja/fact","status":200,"#
            + #""ms":\#((ms * 1_000).rounded() / 1_000),"dns_ms":0,"connect_ms":0,"tls_ms":0,"wait_ms":\#(ms.rounded()),"#
            + #""receive_ms":0.1,"bytes":178,"reused":true,"late_ms":0.2}"# + "\n"
    }
}
