import Feed

/// The slow, plainly right twin of `JSONMinifier`: recursive descent over single bytes, rule by rule as in RFC 8259.
struct ReferenceJSON {
    struct Fault: Error { var offset: Int }

    private let input: [UInt8]
    private var position = 0
    private var output: [UInt8] = []

    /// The minified value, or the offset of the first fault.
    static func minify(_ input: [UInt8]) -> Result<[UInt8], Fault> {
        var reference = ReferenceJSON(input: input)
        do throws(Fault) {
            reference.whiteSpace()
            try reference.value(depth: 0)
            reference.whiteSpace()
            if reference.position < input.count { throw Fault(offset: reference.position) }
            return .success(reference.output)
        } catch {
            return .failure(error)
        }
    }

    private init(input: [UInt8]) { self.input = input }

    private var byte: UInt8? { position < input.count ? input[position] : nil }

    private mutating func whiteSpace() {
        while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private mutating func take(_ allowed: some Collection<UInt8>) throws(Fault) {
        guard let byte, allowed.contains(byte) else { throw Fault(offset: position) }
        output.append(byte)
        position += 1
    }

    private mutating func take(_ text: StaticString) throws(Fault) {
        for letter in text.description.utf8 { try take(CollectionOfOne(letter)) }
    }

    private mutating func value(depth: Int) throws(Fault) {
        switch byte {
        case UInt8(ascii: "{"): try container(depth: depth, close: UInt8(ascii: "}"), keyed: true)
        case UInt8(ascii: "["): try container(depth: depth, close: UInt8(ascii: "]"), keyed: false)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try take("true")
        case UInt8(ascii: "f"): try take("false")
        case UInt8(ascii: "n"): try take("null")
        default: try number()
        }
    }

    private mutating func container(depth: Int, close: UInt8, keyed: Bool) throws(Fault) {
        if depth == 512 { throw Fault(offset: position) }
        try take(CollectionOfOne(input[position]))
        whiteSpace()
        if byte == close { return try take(CollectionOfOne(close)) }
        while true {
            if keyed {
                try string()
                whiteSpace()
                try take(":")
                whiteSpace()
            }
            try value(depth: depth + 1)
            whiteSpace()
            if byte == close { return try take(CollectionOfOne(close)) }
            try take(",")
            whiteSpace()
        }
    }

    private mutating func number() throws(Fault) {
        if byte == UInt8(ascii: "-") { try take("-") }
        if byte == UInt8(ascii: "0") { try take("0") } else { try digits() }
        if output.last == UInt8(ascii: "0"), output.count == 1 || !isDigit(output[output.count - 2]), let byte,
            isDigit(byte)
        {
            throw Fault(offset: position)
        }
        if byte == UInt8(ascii: ".") {
            try take(".")
            try digits()
        }
        if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
            try take("eE".utf8)
            if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { try take("+-".utf8) }
            try digits()
        }
    }

    private func isDigit(_ byte: UInt8) -> Bool { "0123456789".utf8.contains(byte) }

    private mutating func digits() throws(Fault) {
        repeat { try take("0123456789".utf8) } while byte.map(isDigit) ?? false
    }

    private mutating func string() throws(Fault) {
        try take("\"")
        while byte != UInt8(ascii: "\"") {
            switch byte {
            case UInt8(ascii: "\\"):
                try take("\\")
                if byte == UInt8(ascii: "u") {
                    try take("u")
                    for _ in 0..<4 { try take("0123456789abcdefABCDEF".utf8) }
                } else {
                    try take("\"\\/bfnrt".utf8)
                }
            case .some(0x20...0x7F): try take(0x20...0x7F)
            default: try multibyte()
            }
        }
        try take("\"")
    }

    /// The table of RFC 3629 section 4.
    private mutating func multibyte() throws(Fault) {
        let tail: ClosedRange<UInt8> = 0x80...0xBF
        let table: [[ClosedRange<UInt8>]] = [
            [0xC2...0xDF, tail],
            [0xE0...0xE0, 0xA0...0xBF, tail], [0xE1...0xEC, tail, tail],
            [0xED...0xED, 0x80...0x9F, tail], [0xEE...0xEF, tail, tail],
            [0xF0...0xF0, 0x90...0xBF, tail, tail], [0xF1...0xF3, tail, tail, tail],
            [0xF4...0xF4, 0x80...0x8F, tail, tail],
        ]
        guard let byte, let row = table.first(where: { $0[0].contains(byte) }) else { throw Fault(offset: position) }
        for range in row { try take(range) }
    }
}
