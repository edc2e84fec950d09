internal import Glibc

/// What holds for every line besides being JSON (decision 0026), looked at a byte at a time and sharing nothing with what it
/// judges.
package enum LineRules {
    package enum Fault: Sendable {
        case tooDeep, loneSurrogate, overflow
    }

    /// How many levels of arrays and objects a line may have.
    package static let mostLevels = 30

    /// What is wrong with a line of valid JSON.
    package static func faults(of line: some Sequence<UInt8>) -> Set<Fault> {
        let line = Array(line)
        var faults: Set<Fault> = []
        var place = 0
        var level = 0
        while place < line.count {
            switch line[place] {
            case UInt8(ascii: "\""):
                place = stringEnd(line, from: place + 1, &faults)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                level += 1
                if level > mostLevels { faults.insert(.tooDeep) }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): level -= 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let token = line[place...].prefix { "+-.0123456789Ee".utf8.contains($0) }
                if !strtod(String(decoding: token, as: UTF8.self), nil).isFinite { faults.insert(.overflow) }
                place += token.count
                continue
            default: break
            }
            place += 1
        }
        return faults
    }

    /// Behind the closing quote.
    private static func stringEnd(_ line: [UInt8], from start: Int, _ faults: inout Set<Fault>) -> Int {
        var place = start
        var isHalf = false
        while line[place] != UInt8(ascii: "\"") {
            var unit: UInt16 = 0
            if line[place] == UInt8(ascii: "\\"), line[place + 1] == UInt8(ascii: "u") {
                unit = UInt16(String(decoding: line[place + 2..<place + 6], as: UTF8.self), radix: 16) ?? 0
                place += 6
            } else {
                place += line[place] == UInt8(ascii: "\\") ? 2 : 1
            }
            if (0xDC00...0xDFFF ~= unit) != isHalf { faults.insert(.loneSurrogate) }
            isHalf = 0xD800...0xDBFF ~= unit
        }
        if isHalf { faults.insert(.loneSurrogate) }
        return place + 1
    }
}
