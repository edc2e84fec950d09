/// Sums of numbers that came from outside, which may be anything.
extension FixedWidthInteger where Self: SignedInteger {
    /// The sum, or the greatest or smallest integer where it would overflow.
    @inlinable
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the greatest or smallest integer where it would overflow.
    @inlinable
    package func subtractingSaturated(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
