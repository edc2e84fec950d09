extension KeyParser {
    /// The last byte of CSI and SS3 sequences of keys (xterm's control sequences, "PC-Style Function Keys").
    static func cursorKey(_ final: UInt8) -> Key? {
        switch final {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "P")...UInt8(ascii: "S") where final != UInt8(ascii: "R"):
            .function(Int(final - UInt8(ascii: "O")))
        default: nil
        }
    }

    /// The number of `CSI number ~`.
    static func numberedKey(_ number: Int) -> Key? {
        switch number {
        case 1, 7: .home
        case 2: .insert
        case 3: .delete
        case 4, 8: .end
        case 5: .pageUp
        case 6: .pageDown
        case 11...15: .function(number - 10)
        case 17...21: .function(number - 11)
        case 23...26: .function(number - 12)
        case 28, 29: .function(number - 13)
        case 31...34: .function(number - 14)
        default: nil
        }
    }

    /// A report of the mouse in SGR form: button, column and row, from 1; `M` for a press and `m` for a release.
    static func mouse(_ final: UInt8, _ parameters: ArraySlice<UInt8>) -> Key.Mouse? {
        let numbers = numbers(parameters)
        guard final == UInt8(ascii: "M"), numbers.count == 3, numbers[1] > 0, numbers[2] > 0 else { return nil }
        let kind: Key.Mouse.Kind
        switch numbers[0] & ~0b1_1100 {
        case 0: kind = .press
        case 64: kind = .wheelUp
        case 65: kind = .wheelDown
        default: return nil
        }
        return Key.Mouse(kind, column: numbers[1] - 1, row: numbers[2] - 1)
    }

    /// Numbers between semicolons, each limited to 65,535; 0 where there is none.
    static func numbers(_ bytes: ArraySlice<UInt8>) -> [Int] {
        guard !bytes.isEmpty else { return [] }
        return bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { digits in
            digits.reduce(0) { min($0 * 10 + Int($1 & 0x0F), 65_535) }
        }
    }
}
