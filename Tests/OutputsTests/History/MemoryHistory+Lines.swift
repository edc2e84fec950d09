import Feed
import Reactor
import TestSupport

extension MemoryHistory {
    /// Keeps lines of the run that was begun last, as an agent of the type `fact` writes them, one a second from `time` on.
    func add(_ sequences: ClosedRange<Int>, from time: Timestamp = FeedStage.start, text: Int = 0) {
        for sequence in sequences {
            let moment = time + .seconds(sequence - sequences.lowerBound)
            add(Self.line(sequence, moment, text: text), sequence, moment)
        }
    }

    /// Keeps a `gap`.
    func addGap(_ missing: ClosedRange<Int>, at time: Timestamp = FeedStage.start) {
        let line = ControlLine.gap(time: time, missing: missing, reason: "slow_reader")
        add(Array(line.dropLast()), missing, time)
    }

    func add(_ bytes: [UInt8], _ sequence: Int, _ time: Timestamp) { add(bytes, sequence...sequence, time) }

    /// Keeps whole lines that somebody has got, with their numbers.
    func keep(_ lines: [(number: Int, bytes: [UInt8])]) {
        for line in lines { add(line.bytes, line.number, FeedStage.start) }
    }

    static func line(_ sequence: Int, _ time: Timestamp, type: String = "fact", text: Int = 0) -> [UInt8] {
        var bytes = Array("{\"seq\":\(sequence),\"time\":".utf8)
        var stamp = TimestampText()
        bytes += LineWriter.bytes(atMost: 64) { stamp.write(time, to: &$0) }
        let text = text > 0 ? ",\"text\":\"\(String(repeating: "a", count: text))\"" : ""
        bytes += Array(",\"type\":\"\(type)\",\"source\":\"fact\",\"series\":\"fact\",\"value\":1\(text)}".utf8)
        return bytes
    }
}
