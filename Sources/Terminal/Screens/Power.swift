internal import Glibc

/// The logarithm and the power that scales need.
enum Power {
    static func log10(_ value: Double) -> Double { Glibc.log10(value) }

    /// Exact for whole exponents that a Double has exactly.
    static func of10(_ exponent: Double) -> Double { Glibc.pow(10, exponent) }
}
