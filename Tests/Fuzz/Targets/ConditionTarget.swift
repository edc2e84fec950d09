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
            func moment(_ time: Timestamp) -> Moment {
                Moment(
                    wall: time, now: LoopInstant(nanoseconds: (time - Timestamp(seconds: 1_700_000_000)).nanoseconds))
            }
            var evaluator = ConditionEvaluator(
                [condition], at: moment(time), isEvaluating: choice & 2 == 0, reportsChanges: choice & 1 == 0)
            for bytes in lines {
                guard let line = try? LineDecoder.decode(bytes) else { continue }
                time = time + .milliseconds(choice * 100)
                evaluator.apply(line, at: moment(time))
                if choice & 4 == 0 { evaluator.settle(at: moment(time)) }
                if choice & 8 == 0 { evaluator.tick(at: moment(time)) }
            }
            evaluator.evaluateAll(at: moment(time))
            evaluator.tick(at: moment(time + .seconds(100)))
            precondition(evaluator.finding(of: 0) != nil || !evaluator.isMet(0), "it is met by nothing")
        } catch {
            precondition(
                1...error.line.unicodeScalars.count + 1 ~= error.column, "the mistake is not in the line")
        }
    }
}
