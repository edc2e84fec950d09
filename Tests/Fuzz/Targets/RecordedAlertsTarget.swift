internal import Conditions
internal import Feed
internal import Reactor

/// A condition, and a recording that it is shown: each alert follows on the one before.
enum RecordedAlertsTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        var lines = input.split(separator: UInt8(ascii: "\n"))[...]
        let text = String(decoding: lines.popFirst() ?? [], as: UTF8.self)
        guard let condition = try? Condition(text) else { return }
        let start = Moment(wall: Timestamp(seconds: 0), now: LoopInstant(nanoseconds: 1_000_000_000))
        let rule = AlertRule(name: condition.name, conditions: [condition])
        var engine = AlertEngine([rule], run: "r", window: .seconds(10), at: start)
        var (recorded, time) = (RecordedEvents(), RecordedTime())
        var firing: Set<[String]> = []
        for bytes in lines {
            bytes.withUnsafeBufferPointer { bytes in
                guard let line = RecordedLine(bytes) else { return }
                let moment = time.advance(to: line.time)
                if let due = engine.nextDue, due <= moment.now { engine.tick(at: moment) }
                recorded.show(line, to: &engine, at: moment)
                engine.settle(at: moment)
            }
            while let (_, alert) = engine.nextAlert() {
                let name = [alert.condition, alert.about]
                switch alert.state {
                case .firing: firing.insert(name)
                case .clearing, .reminder: precondition(firing.contains(name), "it does not fire")
                case .resolved: precondition(firing.remove(name) != nil, "it did not fire")
                case .pending, .ok: precondition(!firing.contains(name), "it fires already")
                }
            }
        }
    }
}
