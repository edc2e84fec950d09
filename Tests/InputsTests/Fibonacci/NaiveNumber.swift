/// A big number as slow and plain as can be, to hold the real one against: base 10,000, lowest first, no zeros on top.
struct NaiveNumber: Equatable {
    private var limbs: [Int]
    private static let base = 10_000

    init(_ value: Int) {
        limbs = []
        var rest = value
        while rest > 0 {
            limbs.append(rest % Self.base)
            rest /= Self.base
        }
    }

    var decimals: String {
        guard let highest = limbs.last else { return "0" }
        return limbs.dropLast().reversed().reduce(String(highest)) { text, limb in
            let digits = String(limb)
            return text + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    static func + (left: NaiveNumber, right: NaiveNumber) -> NaiveNumber {
        var sum = left
        sum.limbs += Array(repeating: 0, count: max(0, right.limbs.count - left.limbs.count))
        for (index, limb) in right.limbs.enumerated() { sum.limbs[index] += limb }
        sum.carry()
        return sum
    }

    /// The right one must not be larger.
    static func - (left: NaiveNumber, right: NaiveNumber) -> NaiveNumber {
        var difference = left
        for (index, limb) in right.limbs.enumerated() { difference.limbs[index] -= limb }
        difference.carry()
        return difference
    }

    static func * (left: NaiveNumber, right: NaiveNumber) -> NaiveNumber {
        var product = NaiveNumber(0)
        product.limbs = Array(repeating: 0, count: left.limbs.count + right.limbs.count)
        product.limbs.withUnsafeMutableBufferPointer { target in
            for (place, limb) in left.limbs.enumerated() {
                for (index, other) in right.limbs.enumerated() { target[place + index] += limb * other }
            }
        }
        product.carry()
        return product
    }

    /// F(n) by fast doubling: F(2k) = F(k)·(2F(k+1) − F(k)), F(2k+1) = F(k)² + F(k+1)².
    static func fibonacci(_ n: Int) -> NaiveNumber {
        func pair(_ n: Int) -> (NaiveNumber, NaiveNumber) {
            if n == 0 { return (NaiveNumber(0), NaiveNumber(1)) }
            let (a, b) = pair(n / 2)
            let even = a * (b + b - a)
            let odd = a * a + b * b
            return n % 2 == 0 ? (even, odd) : (odd, even + odd)
        }
        return pair(n).0
    }

    private mutating func carry() {
        var carry = 0
        for index in limbs.indices {
            var limb = limbs[index] + carry
            carry = limb / Self.base
            limb %= Self.base
            if limb < 0 {
                limb += Self.base
                carry -= 1
            }
            limbs[index] = limb
        }
        while carry > 0 {
            limbs.append(carry % Self.base)
            carry /= Self.base
        }
        while limbs.last == 0 { limbs.removeLast() }
    }
}
