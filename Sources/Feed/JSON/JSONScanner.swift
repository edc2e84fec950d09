/// The pass behind `JSONMinifier`: a cursor over the input that knows the grammar's state and nothing of values.
///
/// It does not recurse: what encloses the cursor is one bit a level. It copies runs between white space and not single bytes,
/// so an input that is minified already costs one `memcpy`. All reads are at `position < count`, and words are read only
/// where `position + 8 <= count`.
struct JSONScanner {
    static let maximumDepth = 512

    let base: UnsafePointer<UInt8>
    let count: Int
    /// Where minified bytes go; nil to validate only.
    let output: UnsafeMutablePointer<UInt8>?

    var position = 0
    /// How many bytes the output has.
    private(set) var written = 0
    /// Where the run starts that is not in the output yet.
    private var pending = 0
    private var depth = 0
    /// For every level below `depth` whether it is an object.
    private var levels = InlineArray<8, UInt64>(repeating: 0)

    init(base: UnsafePointer<UInt8>, count: Int, output: UnsafeMutablePointer<UInt8>?) {
        self.base = base
        self.count = count
        self.output = output
    }

    /// Goes through the whole input.
    mutating func scan() throws(JSONFault) {
        skipWhiteSpace()
        guard position < count else { throw fault(.empty) }
        if position == 0, count >= 3, base[0] == 0xEF, base[1] == 0xBB, base[2] == 0xBF { throw fault(.byteOrderMark) }
        var expectation = JSONFault.Expectation.value
        while true {
            guard position < count else { throw fault(.cutOff(expectation)) }
            switch base[position] {
            case UInt8(ascii: "\""):
                let (place, isWhole) = plainString(from: position + 1)
                position = place
                if !isWhole { try string() }
            case UInt8(ascii: "{"):
                try open(isObject: true)
                skipWhiteSpace()
                if position < count, base[position] == UInt8(ascii: "}") {
                    position += 1
                    depth -= 1
                } else {
                    try key(.keyOrBrace)
                    expectation = .value
                    continue
                }
            case UInt8(ascii: "["):
                try open(isObject: false)
                skipWhiteSpace()
                if position < count, base[position] == UInt8(ascii: "]") {
                    position += 1
                    depth -= 1
                } else {
                    expectation = .valueOrBracket
                    continue
                }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
            case UInt8(ascii: "t"): try literal(0x6575_7274, .true)
            case UInt8(ascii: "n"): try literal(0x6C6C_756E, .null)
            case UInt8(ascii: "f"): try falseLiteral()
            case let byte: throw fault(.unexpected(byte, expectation))
            }
            guard try next() else { break }
            expectation = .value
        }
        flush()
    }

    /// After a value: closes what closes here and goes to the next value; false at the end of the input.
    @inline(__always)
    private mutating func next() throws(JSONFault) -> Bool {
        while true {
            skipWhiteSpace()
            guard depth > 0 else {
                guard position == count else { throw fault(.unexpected(base[position], .end)) }
                return false
            }
            let inObject = levels[(depth - 1) >> 6] & (1 << UInt64((depth - 1) & 63)) != 0
            let separator = inObject ? JSONFault.Expectation.commaOrBrace : .commaOrBracket
            guard position < count else { throw fault(.cutOff(separator)) }
            let byte = base[position]
            if byte == UInt8(ascii: ",") {
                position += 1
                skipWhiteSpace()
                if inObject { try key(.key) }
                return true
            }
            // '}' and ']' are two above '{' and '['.
            guard byte == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw fault(.unexpected(byte, separator))
            }
            position += 1
            depth -= 1
        }
    }

    /// From a key's opening quote to its value.
    @inline(__always)
    private mutating func key(_ expectation: JSONFault.Expectation) throws(JSONFault) {
        guard position < count else { throw fault(.cutOff(expectation)) }
        guard base[position] == UInt8(ascii: "\"") else { throw fault(.unexpected(base[position], expectation)) }
        let (place, isWhole) = plainString(from: position + 1)
        if isWhole, place + 1 < count, base[place] == UInt8(ascii: ":"), base[place + 1] > 0x20 {
            position = place + 1
            return
        }
        position = place
        if !isWhole { try string() }
        skipWhiteSpace()
        guard position < count else { throw fault(.cutOff(.colon)) }
        guard base[position] == UInt8(ascii: ":") else { throw fault(.unexpected(base[position], .colon)) }
        position += 1
        skipWhiteSpace()
    }

    @inline(__always)
    private mutating func open(isObject: Bool) throws(JSONFault) {
        guard depth < Self.maximumDepth else { throw fault(.tooDeep) }
        let bit: UInt64 = 1 << UInt64(depth & 63)
        if isObject { levels[depth >> 6] |= bit } else { levels[depth >> 6] &= ~bit }
        depth += 1
        position += 1
    }

    // MARK: White space and the output

    @inline(__always)
    private mutating func skipWhiteSpace() {
        guard position < count, base[position] <= 0x20 else { return }
        flush()
        while position < count {
            switch base[position] {
            case 0x20:
                // Indentation: eight at a time.
                while position + 8 <= count {
                    let differing = load(at: position) ^ 0x2020_2020_2020_2020
                    position += differing.trailingZeroBitCount >> 3
                    if differing != 0 { break }
                }
                if position < count, base[position] == 0x20 { position += 1 }
            case 0x0A, 0x0D, 0x09: position += 1
            default:
                pending = position
                return
            }
        }
        pending = position
    }

    /// Copies the run that ends here to the output. It fits: the output never has more bytes than have been read.
    @inline(__always)
    private mutating func flush() {
        guard let output else { return }
        let length = position - pending
        if length <= 16, pending + 16 <= count {
            // One load and one store; what lies beyond the run gets overwritten by the next one.
            let run = UnsafeRawPointer(base + pending).loadUnaligned(as: SIMD16<UInt8>.self)
            UnsafeMutableRawPointer(output + written).storeBytes(of: run, as: SIMD16<UInt8>.self)
        } else {
            (output + written).update(from: base + pending, count: length)
        }
        written += length
    }

    // MARK: Reading

    /// Eight bytes as a number whose lowest byte comes first.
    @inline(__always)
    func load(at position: Int) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(base + position).loadUnaligned(as: UInt64.self))
    }

    func fault(_ reason: JSONFault.Reason) -> JSONFault { JSONFault(offset: position, reason: reason) }

    /// A fault here, or that the input ends here.
    func fault(expecting expectation: JSONFault.Expectation) -> JSONFault {
        fault(position < count ? .unexpected(base[position], expectation) : .cutOff(expectation))
    }
}
