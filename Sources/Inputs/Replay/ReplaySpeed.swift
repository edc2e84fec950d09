/// How fast a recording is played back.
package enum ReplaySpeed: Sendable, Hashable {
    /// So many thousandths of the pace at which it was recorded.
    case thousandths(Int)
    /// As fast as its lines can be passed on.
    case most

    package static let usual = ReplaySpeed.thousandths(1_000)
    /// What may be asked for, in thousandths.
    package static let range = 100...10_000_000

    /// What it can be changed to, the slowest first.
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

    /// The next faster one, or the next slower one; itself where there is none.
    package func next(isFaster: Bool) -> ReplaySpeed {
        let next = isFaster ? Self.steps.first { $0.factor > factor } : Self.steps.last { $0.factor < factor }
        return next ?? self
    }

    /// By how much recorded time is faster than time.
    package var factor: Double {
        if case .thousandths(let number) = self { Double(number) / 1_000 } else { .infinity }
    }
}
