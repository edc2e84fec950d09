/// Computes F(0), F(1), F(2) … exactly, one after the other, and writes them as decimals.
///
/// Limbs are in base 10^18, the lowest first: a sum is one pass over them, and decimals need no conversion, which
/// dominates the time in base 2^64. See docs/decisions/0016-fibonacci-in-base-ten.md.
package struct FibonacciNumbers: ~Copyable, @unchecked Sendable {  // owns its memory and lends it to nobody
    /// The decimal digits of a limb.
    static let limbDigits = 18
    private static let base: UInt64 = 1_000_000_000_000_000_000

    /// F(n); one limb shorter than `following` at times, then its highest is 0.
    private var current: UnsafeMutablePointer<UInt64>
    /// F(n+1).
    private var following: UnsafeMutablePointer<UInt64>
    /// The number of limbs of `following`.
    private var count = 1
    private let capacity: Int
    /// The index of the current number.
    package private(set) var n = 0

    /// Starts at F(0).
    ///
    /// - Parameter last: the last number that `advance` may reach, 0 or more.
    package init(through last: Int) {
        // F(last + 1) is kept too. The zeros above a number's limbs let a shorter number be added to a longer one.
        capacity = Self.digits(of: last + 1) / Self.limbDigits + 1
        current = .allocate(capacity: capacity)
        following = .allocate(capacity: capacity)
        current.initialize(repeating: 0, count: capacity)
        following.initialize(repeating: 0, count: capacity)
        following[0] = 1
    }

    deinit {
        current.deallocate()
        following.deallocate()
    }

    /// Returns the number of decimal digits of F(n), by Binet's formula. Tests check it for all numbers up to
    /// F(100,000), whose logarithms are never nearer to a whole number than 4·10⁻⁶.
    ///
    /// - Parameter n: from 0 to 100,001.
    package static func digits(of n: Int) -> Int {
        let logarithmOfGoldenRatio = 0.20898764024997873
        let logarithmOfRootOfFive = 0.3494850021680094
        return max(1, Int((Double(n) * logarithmOfGoldenRatio - logarithmOfRootOfFive).rounded(.down)) + 1)
    }

    /// The most bytes that `write` touches.
    package var mostBytes: Int { count * Self.limbDigits }

    /// Advances to the next number; traps beyond the last number given to `init`.
    package mutating func advance() {
        n += 1
        var carry: UInt64 = 0
        // In bounds: `count` is at most `capacity`, see below.
        for index in 0..<count {
            // With 2^64 − 10^18 added, a sum of 10^18 or more is one that overflows.
            let shifted = following[index] &+ (0 &- Self.base)
            let (sum, isFull) = shifted.addingReportingOverflow(current[index] &+ carry)
            current[index] = isFull ? sum : sum &+ Self.base
            carry = isFull ? 1 : 0
        }
        if carry > 0 {
            precondition(count < capacity, "more Fibonacci numbers than were announced")
            current[count] = carry
            count += 1
        }
        swap(&current, &following)
    }

    /// Writes the decimals of F(n).
    ///
    /// - Parameter memory: room for `mostBytes`.
    /// - Returns: the range of the digits in `memory`, behind the highest limb's leading zeros.
    package func write(to memory: UnsafeMutableRawPointer) -> Range<Int> {
        var highest = count - 1
        if highest > 0, current[highest] == 0 { highest -= 1 }
        var place = memory
        // In bounds: at most `count` limbs of 18 digits each, as `mostBytes` says.
        for index in stride(from: highest, through: 0, by: -1) {
            Self.write(current[index], to: place)
            place += Self.limbDigits
        }
        var zeros = 0
        while zeros < Self.limbDigits - 1, memory.load(fromByteOffset: zeros, as: UInt8.self) == UInt8(ascii: "0") {
            zeros += 1
        }
        return zeros..<place - memory
    }

    /// Writes all 18 digits of a limb.
    @inline(__always)
    private static func write(_ limb: UInt64, to memory: UnsafeMutableRawPointer) {
        let highest = limb / 10_000_000_000_000_000
        let rest = limb % 10_000_000_000_000_000
        let tens = highest / 10
        let pair = (tens | (highest - tens * 10) << 8 | 0x3030).littleEndian
        memory.storeBytes(of: UInt16(truncatingIfNeeded: pair), as: UInt16.self)
        (memory + 2).storeBytes(of: digits(rest / 100_000_000), as: UInt64.self)
        (memory + 10).storeBytes(of: digits(rest % 100_000_000), as: UInt64.self)
    }

    /// Returns the eight digits of a number below 10^8 in memory order: split in halves three times, all parts of a
    /// step at once in one word. Each quotient is a multiplication by a rounded-up reciprocal, exact for all possible
    /// values.
    @inline(__always)
    private static func digits(_ value: UInt64) -> UInt64 {
        let upper = value / 10_000
        let fours = upper | (value - upper * 10_000) << 32
        let hundreds = (fours &* 10_486) >> 20 & 0x0000_007F_0000_007F
        let twos = hundreds | (fours &- hundreds &* 100) << 16
        let tens = (twos &* 103) >> 10 & 0x000F_000F_000F_000F
        let ones = tens | (twos &- tens &* 10) << 8
        return (ones | 0x3030_3030_3030_3030).littleEndian
    }
}
