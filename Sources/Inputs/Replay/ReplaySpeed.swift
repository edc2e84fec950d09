/// The speed of a replay.
package enum ReplaySpeed: Sendable, Hashable {
    /// This many thousandths of the recorded pace.
    case thousandths(Int)
    /// As fast as lines can be relayed.
    case most

    package static let usual = ReplaySpeed.thousandths(1_000)
    /// The allowed speeds, in thousandths.
    package static let range = 100...10_000_000

    /// The speeds that keys step through, the slowest first.
    private static let steps: [ReplaySpeed] =
        [1, 2, 5].flatMap { digit in [100, 1_000, 10_000, 100_000, 1_000_000].map { digit * $0 } }.sorted()
        .map { .thousandths($0) } + [.thousandths(10_000_000), .most]

    /// `10x`, `0.5x` or `max`.
    package var text: String {
        guard case .thousandths(let number) = self else { return "max" }
        guard number % 1_000 != 0 else { return "\(number / 1_000)x" }
        var fraction = String(number % 1_000 + 1_000).dropFirst()
        while fraction.hasSuffix("0") { fraction = fraction.dropLast() }
        return "\(number / 1_000).\(fraction)x"
    }

    /// Returns the next faster or slower step; itself when there is none.
    package func next(isFaster: Bool) -> ReplaySpeed {
        let next = isFaster ? Self.steps.first { $0.factor > factor } : Self.steps.last { $0.factor < factor }
        return next ?? self
    }

    /// How much faster than real time recorded time passes.
    package var factor: Double {
        if case .thousandths(let number) = self { Double(number) / 1_000 } else { .infinity }
    }
}
