internal import Feed

/// A value of a series as text, with its unit.
struct Quantity: Equatable {
    var text: String
    /// Empty for none.
    var unit: String

    /// - Parameter unit: the unit of the source's values.
    init(_ value: Double, _ kind: SeriesKind, unit: String?) {
        switch kind {
        case .latency: (text, self.unit) = (NumberText.milliseconds(value), "ms")
        case .memory: (text, self.unit) = NumberText.bytes(value)
        case .data:
            text = unit == "ms" ? NumberText.milliseconds(value) : NumberText.short(value)
            self.unit = unit ?? ""
        }
    }

    /// `106`, `41.0 ms`
    var whole: String { unit.isEmpty ? text : text + " " + unit }
}
