/// Colours as the parameters of SGR (ECMA-48 8.3.117, and xterm's for 256 and 16 million colours).
enum ColorCode {
    /// Appends the parameters of a colour that is not the terminal's own, without a leading semicolon.
    static func append(
        _ color: CellColor, isBackground: Bool, depth: TerminalCapabilities.Depth, to output: inout [UInt8]
    ) {
        let base = isBackground ? 40 : 30
        switch depth {
        case .none: break
        case .sixteen:
            let code = nearestOf16(color)
            output.append(decimal: code < 8 ? base + code : base + 60 + code - 8)
        case .palette:
            output.append(decimal: base + 8)
            output += [UInt8(ascii: ";"), UInt8(ascii: "5"), UInt8(ascii: ";")]
            output.append(decimal: nearestOf256(color))
        case .full:
            output.append(decimal: base + 8)
            output += [UInt8(ascii: ";"), UInt8(ascii: "2")]
            for part in [color.red, color.green, color.blue] {
                output.append(UInt8(ascii: ";"))
                output.append(decimal: part)
            }
        }
    }

    /// The nearest colour of the cube (16 to 231) and the greys (232 to 255), whose values are the same on all
    /// terminals.
    static func nearestOf256(_ color: CellColor) -> Int {
        func step(_ part: Int) -> Int { part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40 }
        func level(_ step: Int) -> Int { step == 0 ? 0 : 55 + step * 40 }
        let (red, green, blue) = (step(color.red), step(color.green), step(color.blue))
        let grey = min(max(((color.red + color.green + color.blue) / 3 - 3) / 10, 0), 23)
        func distance(_ r: Int, _ g: Int, _ b: Int) -> Int {
            let (dr, dg, db) = (r - color.red, g - color.green, b - color.blue)
            return dr * dr + dg * dg + db * db
        }
        let cube = distance(level(red), level(green), level(blue))
        let grey8 = 8 + grey * 10
        return distance(grey8, grey8, grey8) < cube ? 232 + grey : 16 + red * 36 + green * 6 + blue
    }

    /// The nearest of the eight colours and their bright variants: by hue if there is one, because the palette differs
    /// from terminal to terminal.
    static func nearestOf16(_ color: CellColor) -> Int {
        let (red, green, blue) = (color.red, color.green, color.blue)
        let most = max(red, green, blue)
        let least = min(red, green, blue)
        if most - least < 48 { return most < 64 ? 0 : most < 144 ? 8 : most < 224 ? 7 : 15 }
        let middle = (most + least) / 2
        let code = (red > middle ? 1 : 0) | (green > middle ? 2 : 0) | (blue > middle ? 4 : 0)
        return most > 208 ? code + 8 : code
    }
}

extension [UInt8] {
    /// Appends a number that is not negative.
    @inline(__always)
    mutating func append(decimal number: Int) {
        if number >= 10 { append(decimal: number / 10) }
        append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
