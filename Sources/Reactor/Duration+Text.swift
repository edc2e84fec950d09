extension Duration {
    /// For a person: `250 ms`, `0.31 ms`, `4.2 s`, `10 s`.
    package var shortText: String {
        func text(hundredths: Int, unit: String) -> String {
            let fraction = hundredths % 100
            if fraction == 0 { return "\(hundredths / 100) \(unit)" }
            let digits = fraction % 10 == 0 ? "\(fraction / 10)" : fraction < 10 ? "0\(fraction)" : "\(fraction)"
            return "\(hundredths / 100).\(digits) \(unit)"
        }
        if self >= .seconds(1) {
            return text(hundredths: Int((self / .milliseconds(100)).rounded()) * 10, unit: "s")
        }
        return text(hundredths: Int((self / .microseconds(10)).rounded()), unit: "ms")
    }
}
