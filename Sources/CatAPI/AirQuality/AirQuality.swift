/// Air quality indices of Indian cities, walking at random through all six bands of the Central Pollution Control Board
/// (good to 50, satisfactory to 100, moderate to 200, poor to 300, very poor to 400, severe to 500).
package struct AirQuality: Sendable {
    package static let cities = [
        "Ahmedabad", "Amritsar", "Bengaluru", "Bhopal", "Chandigarh", "Chennai", "Delhi", "Guwahati", "Hyderabad",
        "Indore", "Jaipur", "Kanpur", "Kochi", "Kolkata", "Lucknow", "Mumbai", "Nagpur", "Patna", "Pune", "Varanasi",
    ]
    /// The lowest and the highest index of each band.
    package static let bands = [0...50, 51...100, 101...200, 201...300, 301...400, 401...500]

    /// The index of each city, in the order of `cities`, 0 to 500.
    package private(set) var values: [Int]
    /// The index that each city is moving towards.
    private var aims: [Int]
    private var random: SplitMix

    /// - Parameter seed: the same seed gives the same walk.
    package init(seed: UInt64) {
        var random = SplitMix(seed: seed)
        values = Self.cities.map { _ in Self.index(using: &random) }
        aims = Self.cities.map { _ in Self.index(using: &random) }
        self.random = random
    }

    /// A random index; all bands are equally likely.
    private static func index(using random: inout SplitMix) -> Int {
        let band = bands[Int.random(in: bands.indices, using: &random)]
        return Int.random(in: band, using: &random)
    }

    /// Advances one step: every city moves by up to eight towards its aim, give or take three, so that it stays in a
    /// band for a while and visits all of them.
    package mutating func advance() {
        for city in values.indices {
            let left = aims[city] - values[city]
            if abs(left) <= 5 { aims[city] = Self.index(using: &random) }
            let step = min(abs(left), Int.random(in: 0...8, using: &random)) * left.signum()
            values[city] = min(500, max(0, values[city] + step + Int.random(in: -3...3, using: &random)))
        }
    }

    /// `[{"city":"Ahmedabad","aqi":120},…]`
    package var json: [UInt8] {
        var bytes = [UInt8(ascii: "[")]
        for city in values.indices {
            if city > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += json(of: city)
        }
        return bytes + [UInt8(ascii: "]")]
    }

    /// `{"city":"Delhi","aqi":412}`
    ///
    /// - Parameter city: an index into `cities`.
    package func json(of city: Int) -> [UInt8] {
        Array("{\"city\":\"\(Self.cities[city])\",\"aqi\":\(values[city])}".utf8)
    }
}
