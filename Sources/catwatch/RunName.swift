/// Names a run of the agent.
enum RunName {
    /// 16 hexadecimal digits.
    static func random() -> String {
        let digits = String(UInt64.random(in: 0...(.max)), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
