/// A value of a series with its unit.
struct Quantity: Equatable {
    var text: String
    /// Empty for none.
    var unit: String

    /// - Parameter unit: what the source says it measures in.
    init(_ value: Double, series: String, unit: String?) {
        if series.hasPrefix("latency:") {
            text = NumberText.milliseconds(value)
            self.unit = "ms"
        } else if series.hasPrefix("memory:") {
            (text, self.unit) = NumberText.bytes(value)
        } else {
            text = unit == "ms" ? NumberText.milliseconds(value) : NumberText.short(value)
            self.unit = unit ?? ""
        }
    }

    /// `106`, `41.0 ms`
    var whole: String { unit.isEmpty ? text : text + " " + unit }
}
