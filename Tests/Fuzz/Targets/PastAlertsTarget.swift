internal import Conditions
internal import Feed

/// A condition, and a recording that it is held against: nothing begins to fire that fires already.
enum PastAlertsTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        var lines = input.split(separator: UInt8(ascii: "\n"))[...]
        let text = String(decoding: lines.popFirst() ?? [], as: UTF8.self)
        guard let condition = try? Condition(text) else { return }
        var past = PastAlerts([AlertRule(name: condition.name, conditions: [condition])])
        var firing: Set<[String]> = []
        for bytes in lines {
            bytes.withUnsafeBufferPointer { line in
                if let line = RecordedLine(line) { past.apply(line) }
            }
            while let (_, alert) = past.nextAlert() {
                switch alert.state {
                case .firing: precondition(firing.insert([alert.condition, alert.about]).inserted, "it fires already")
                case .reminder: break
                case .resolved: firing.remove([alert.condition, alert.about])
                }
            }
        }
    }
}
