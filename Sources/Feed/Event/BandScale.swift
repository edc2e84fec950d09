/// A scale of bands: named, adjacent ranges that cover every number.
package struct BandScale: Sendable, Equatable {
    /// Ascending by `upTo`; the last one has no upper end. Never empty.
    package let bands: [Band]
    /// Whether a higher band is an improvement.
    package let higherIsBetter: Bool

    // Bands of a source: 64, names of 64 bytes, letters of 16; the scale counts as none.
    /// The most bands of a scale.
    package static let mostBands = 64
    /// The longest name, in bytes of UTF-8.
    package static let longestName = 64
    /// The longest letter, in bytes of UTF-8: one character, which may consist of many scalars.
    package static let longestLetter = 16

    /// - Parameter bands: in ascending order; all but the last have an end.
    /// - Returns: nil when there are none or too many, an end is not above the previous one, is not a finite number, is
    ///   missing or superfluous, or when a name or letter is empty or too long.
    package init?(_ bands: [Band], higherIsBetter: Bool) {
        guard let last = bands.last, last.upTo == nil, bands.count <= Self.mostBands else { return nil }
        guard
            bands.allSatisfy({
                1...Self.longestName ~= $0.name.utf8.count && $0.letter.utf8.count <= Self.longestLetter
            })
        else { return nil }
        var previous = -Double.infinity
        for band in bands.dropLast() {
            guard let end = band.upTo, end.isFinite, end > previous else { return nil }
            previous = end
        }
        self.bands = bands
        self.higherIsBetter = higherIsBetter
    }

    /// The index of the band that contains a finite value; a band's end belongs to that band.
    package func index(of value: Double) -> Int {
        // There are only a few bands, so a linear search is the fastest.
        for (index, band) in bands.enumerated() {
            guard let end = band.upTo, value > end else { return index }
        }
        return bands.count - 1
    }
}

/// One range of a scale.
package struct Band: Sendable, Equatable {
    /// The band's name: `very poor`.
    package var name: String
    /// One character for the band where there is no colour.
    package var letter: Character
    package var color: Color
    /// The highest value in the band; nil for the last one, which has no end.
    package var upTo: Double?

    package init(name: String, letter: Character, color: Color, upTo: Double?) {
        self.name = name
        self.letter = letter
        self.color = color
        self.upTo = upTo
    }

    /// An RGB colour, 0 to 255 each.
    package struct Color: Sendable, Equatable {
        package var red: UInt8
        package var green: UInt8
        package var blue: UInt8

        package init(red: UInt8, green: UInt8, blue: UInt8) {
            self.red = red
            self.green = green
            self.blue = blue
        }

        /// - Parameter hex: `#RRGGBB`, of either case.
        package init?(hex: String) {
            let digits = hex.utf8.dropFirst()
            guard hex.utf8.first == UInt8(ascii: "#"), digits.count == 6,
                digits.allSatisfy({ JSONText.hexValue($0) != nil }),
                let number = UInt32(String(Substring(digits)), radix: 16)
            else { return nil }
            self.init(red: UInt8(number >> 16), green: UInt8(number >> 8 & 0xFF), blue: UInt8(number & 0xFF))
        }

        /// `#rrggbb`
        package var hex: String {
            let number = String(UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue), radix: 16)
            return "#" + String(repeating: "0", count: 6 - number.count) + number
        }
    }
}
