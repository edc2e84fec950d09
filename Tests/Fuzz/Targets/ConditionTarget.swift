internal import Conditions
internal import Feed
internal import Reactor

/// A condition, and lines that it judges: it is read back as the same, and a mistake is within the line.
enum ConditionTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        var lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        let text = String(decoding: lines.popFirst() ?? [], as: UTF8.self)
        do throws(ConditionFault) {
            let condition = try Condition(text)
            precondition((try? Condition(condition.text)) == condition, "it is read differently")
            var time = Timestamp(seconds: 1_780_000_000)
            var board = ConditionBoard(
                [condition], from: choice & 1 == 0 ? time : nil, isJudging: choice & 2 == 0)
            for bytes in lines {
                guard let line = try? LineDecoder.decode(bytes) else { continue }
                time = time + .milliseconds(choice * 100)
                board.apply(line, at: choice & 4 == 0 ? time : max(time, line.time))
                if choice & 8 == 0 { board.setPast(choice & 16 == 0, of: line.agent ?? "a") }
            }
            board.judge()
            board.advance(to: time + .seconds(100))
            board.finish()
            precondition(board.finding(of: 0) != nil || !board.isMet(0), "it is met by nothing")
        } catch {
            precondition(
                1...error.line.unicodeScalars.count + 1 ~= error.column, "the mistake is not in the line")
        }
    }
}
