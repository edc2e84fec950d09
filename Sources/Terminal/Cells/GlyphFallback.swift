/// ASCII substitutes for characters, on a terminal that supports nothing else.
enum GlyphFallback {
    /// Returns one printable ASCII byte.
    static func ascii(_ glyph: UInt32) -> UInt8 {
        switch glyph {
        case 0x20...0x7E: UInt8(glyph)
        case 0x2581...0x2588: Array("_..-=+*#".utf8)[Int(glyph - 0x2581)]
        case 0x2589...0x258F: UInt8(ascii: "=")
        case 0x2591...0x2593: Array(".:#".utf8)[Int(glyph - 0x2591)]
        case 0x2800...0x28FF: braille(UInt8(glyph - 0x2800))
        case 0x2500, 0x2501, 0x2504, 0x2508, 0x254C, 0x2574, 0x2576: UInt8(ascii: "-")
        case 0x2502, 0x2503, 0x250A: UInt8(ascii: "|")
        case 0x2550: UInt8(ascii: "=")
        case 0x250C...0x254B, 0x256D...0x2570: UInt8(ascii: "+")
        case 0x2190: UInt8(ascii: "<")
        case 0x25C6: UInt8(ascii: "i")
        case 0x2191, 0x25B2, 0x25B4: UInt8(ascii: "^")
        case 0x2192, 0x25B6, 0x25B8: UInt8(ascii: ">")
        case 0x2193, 0x25BC, 0x25BE: UInt8(ascii: "v")
        case 0x2026: UInt8(ascii: "~")
        case 0xC0...0xFF:
            Array("AAAAAAACEEEEIIIIDNOOOOOxOUUUUYTsaaaaaaaceeeeiiiidnooooo/ouuuuyty".utf8)[Int(glyph - 0xC0)]
        case 0xB7, 0x2219: UInt8(ascii: ".")
        case 0x2022, 0x25CF: UInt8(ascii: "*")
        case 0x25CB, 0x25D0, 0x25E6: UInt8(ascii: "o")
        case 0x2715: UInt8(ascii: "x")
        case 0xB5, 0x3BC: UInt8(ascii: "u")
        case 0xB2: UInt8(ascii: "2")
        case 0xB3: UInt8(ascii: "3")
        case 0x2013, 0x2014, 0x2212: UInt8(ascii: "-")
        case 0x2018, 0x2019: UInt8(ascii: "'")
        case 0x201C, 0x201D: UInt8(ascii: "\"")
        default: UInt8(ascii: "?")
        }
    }

    /// Chooses by the position of the dots, so that a line still rises and falls.
    private static func braille(_ dots: UInt8) -> UInt8 {
        if dots == 0 { return UInt8(ascii: " ") }
        let top = dots & 0b0001_1011 != 0
        let bottom = dots & 0b1110_0100 != 0
        return top && bottom ? UInt8(ascii: ":") : top ? UInt8(ascii: "'") : UInt8(ascii: ".")
    }
}
