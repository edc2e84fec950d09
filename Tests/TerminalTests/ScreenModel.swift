/// A terminal of the simplest kind: what it shows after bytes it was sent. It knows what `GridRenderer` writes, and
/// records anything else as a fault.
struct ScreenModel {
    struct Cell: Equatable {
        var text = " "
        var look: [Int] = []
        var link = ""
    }

    let columns: Int
    let rows: Int
    var cells: [[Cell]]
    var faults: [String] = []
    private var row = 0
    private var column = 0
    private var look: [Int] = []
    private var link = ""
    private(set) var isUpdating = false

    init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
        cells = Array(repeating: Array(repeating: Cell(), count: columns), count: rows)
    }

    var text: String {
        cells.map { row in
            var line = row.map(\.text).joined()
            while line.hasSuffix(" ") { line.removeLast() }
            return line + "\n"
        }.joined()
    }

    /// - Parameter width: how many columns this terminal takes for a character.
    mutating func write(_ bytes: [UInt8], width: (Character) -> Int) {
        var rest = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)[...]
        while let scalar = rest.first {
            if scalar == "\u{1B}" {
                rest = rest.dropFirst()
                switch rest.popFirst() {
                case "[": control(&rest)
                case "]": system(&rest)
                case let other: faults.append("ESC \(String(describing: other))")
                }
            } else {
                let end = rest.firstIndex(of: "\u{1B}") ?? rest.endIndex
                for character in String(String.UnicodeScalarView(rest[..<end])) { put(character, width(character)) }
                rest = rest[end...]
            }
        }
    }

    private mutating func put(_ character: Character, _ width: Int) {
        if character.unicodeScalars.contains(where: { $0.value < 0x20 || 0x7F...0x9F ~= $0.value }) {
            faults.append("control \(character.unicodeScalars.map(\.value))")
        }
        for offset in 0..<max(width, 1) where column + offset < columns {
            cells[row][column + offset] = Cell(text: offset == 0 ? String(character) : "", look: look, link: link)
        }
        column = min(column + width, columns - 1)
    }

    private mutating func system(_ rest: inout ArraySlice<Unicode.Scalar>) {
        var body = ""
        while let scalar = rest.popFirst(), scalar != "\u{1B}" { body.unicodeScalars.append(scalar) }
        if rest.popFirst() != "\\" || !body.hasPrefix("8;;") { faults.append("OSC \(body)") }
        link = String(body.dropFirst(3))
    }

    private mutating func control(_ rest: inout ArraySlice<Unicode.Scalar>) {
        var body = ""
        var final: Unicode.Scalar = " "
        while let scalar = rest.popFirst() {
            if 0x40...0x7E ~= scalar.value {
                final = scalar
                break
            }
            body.unicodeScalars.append(scalar)
        }
        let numbers = body.split(separator: ";").compactMap { Int($0) }
        switch final {
        case "H":
            row = (numbers.first ?? 1) - 1
            column = (numbers.count > 1 ? numbers[1] : 1) - 1
        case "G": column = (numbers.first ?? 1) - 1
        case "C": column += numbers.first ?? 1
        case "K": for place in column..<columns { cells[row][place] = Cell() }
        case "J": cells = Array(repeating: Array(repeating: Cell(), count: columns), count: rows)
        case "m": change(numbers)
        case "h" where body == "?2026": isUpdating = true
        case "l" where body == "?2026": isUpdating = false
        default: faults.append("CSI \(body)\(final)")
        }
        if row >= rows || column >= columns || row < 0 || column < 0 {
            faults.append("moved to \(row), \(column)")
            row = 0
            column = 0
        }
    }

    private mutating func change(_ numbers: [Int]) {
        if numbers.isEmpty { look = [] }
        var place = 0
        while place < numbers.count {
            let code = numbers[place]
            func without(_ codes: [Int]) { look.removeAll { codes.contains($0 & 0xFF) } }
            switch code {
            case 22: without([1, 2])
            case 24: without([4])
            case 27: without([7])
            case 38, 48:
                look.removeAll { $0 & 0xFF == code }
                let length = numbers[place + 1] == 2 ? 4 : 2
                // The whole colour as one number, above the code.
                let color = numbers[(place + 2)..<(place + 1 + length)].reduce(1) { $0 << 8 | $1 }
                look.append(color << 8 | code)
                place += length
            case 39: without([38])
            case 49: without([48])
            default: if !look.contains(code) { look.append(code) }
            }
            place += 1
        }
        look.sort()
    }
}
