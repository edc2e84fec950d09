/// The only pass over JSON: it validates (RFC 8259, strictly), removes white space, and reports the positions of
/// values.
///
/// `value` and `rest` skip everything in a loop without recursion: one bit per level says what encloses the cursor. To
/// look inside a value, callers step down by `enter` and `step` as far as they need. It copies the runs between white
/// space rather than single bytes, so that an input that is minified already costs one `memcpy`.
struct JSONScanner {
    // Nesting of a document: 512 levels; `error` `not_json`.
    static let maximumDepth = 512

    private let tokens: JSONTokens
    /// The destination of minified bytes; nil to leave white space in place.
    private let output: UnsafeMutablePointer<UInt8>?
    /// The cursor's offset in the input.
    private(set) var position: Int
    /// The difference between input positions and places: the white space removed, or the origin set by `setOrigin`.
    private var shift = 0
    /// The start of the run that is not in the output yet.
    private var pending: Int
    private var depth = 0
    /// The number of levels allowed without a flaw.
    private let levelLimit: Int
    /// One bit per level around the cursor, set for an object, the innermost lowest; outer levels in groups of 64.
    private var levels: UInt64 = 0
    private var outerLevels = InlineArray<8, UInt64>(repeating: 0)
    /// The tokens possible at the start of a value.
    private var expectation = JSONFault.Expectation.value
    /// The input range between the quotes of the last name that `step` passed.
    private(set) var nameRange = 0..<0
    /// Whether that name is ASCII without an escape.
    private(set) var isNamePlain = true

    /// The flaws, for some readers of a line, in all that was scanned.
    var flaws: JSONFlaws = []

    /// The first values still searched for.
    var wanted: JSONSelection.Firsts = []
    private(set) var firstNumber: Double?
    /// The range between its quotes, as places.
    private(set) var firstString: Range<Int>?

    /// - Parameters:
    ///   - position: the start: a value or the white space before it.
    ///   - output: room for as many bytes as the input, not overlapping it.
    ///   - levelLimit: the number of levels allowed without a flaw: for a whole line, or for a value that goes into
    ///     one.
    init(
        _ input: UnsafeBufferPointer<UInt8>, at position: Int = 0, output: UnsafeMutablePointer<UInt8>? = nil,
        levelLimit: Int = LineEncoder.mostLevels - 1
    ) {
        // An empty input has no address, and is never read.
        tokens = JSONTokens(base: input.baseAddress ?? UnsafePointer(Self.nothing), count: input.count)
        self.output = output
        self.position = position
        pending = position
        self.levelLimit = levelLimit
    }

    /// Starts inside a container, after its brace or bracket or one of its values; each of its values may go into a
    /// line.
    init(_ input: UnsafeBufferPointer<UInt8>, at position: Int, inObject: Bool) {
        self.init(input, at: position, levelLimit: LineEncoder.mostLevels)
        depth = 1
        levels = inObject ? 1 : 0
    }

    nonisolated(unsafe) private static let nothing = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)  // never read

    /// The cursor's offset in the output, or without an output in the input.
    @inline(__always)
    var place: Int { position &- shift }

    /// The byte at the cursor; zero at the end.
    @inline(__always)
    var byte: UInt8 { tokens[position] }

    /// The raw bytes of the last name.
    @inline(__always)
    var name: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: tokens.base + nameRange.lowerBound, count: nameRange.count)
    }

    /// Makes places count from the cursor; only without an output.
    mutating func setOrigin() { shift = position }

    // MARK: Whole documents

    /// Moves to the document's value.
    @inline(__always)
    mutating func begin() throws(JSONFault) {
        position = next(position)
        guard position < tokens.count else { throw tokens.fault(.empty, at: position) }
        if position == 0, tokens[0] == 0xEF, tokens[1] == 0xBB, tokens[2] == 0xBF {
            throw tokens.fault(.byteOrderMark, at: 0)
        }
    }

    /// Moves from the end of the document's value to the end of the input.
    ///
    /// - Returns: the number of bytes in the output.
    @inline(__always)
    mutating func end() throws(JSONFault) -> Int {
        position = next(position)
        guard position == tokens.count else { throw tokens.fault(expecting: .end, at: position) }
        flush(upTo: position)
        return place
    }

    // MARK: Values

    /// Moves past the value at the cursor.
    @inline(__always)
    mutating func value() throws(JSONFault) {
        // Handles the common ones without a call.
        switch byte {
        case UInt8(ascii: "\"") where wanted.isEmpty: position = try tokens.string(from: position &+ 1, &flaws)
        case UInt8(ascii: "0")...UInt8(ascii: "9") where wanted.isEmpty:
            position = try tokens.number(from: position, &flaws)
        default: try run(to: depth, isBehindValue: false)
        }
    }

    /// Moves past the rest of the container, from the end of one of its values.
    @inline(__always)
    mutating func rest() throws(JSONFault) { try run(to: depth - 1, isBehindValue: true) }

    /// Moves past the brace or bracket at the cursor.
    ///
    /// - Returns: whether it opens an object; nil when there is none.
    @inline(__always)
    mutating func enter() throws(JSONFault) -> Bool? {
        let isObject = byte == UInt8(ascii: "{")
        guard isObject || byte == UInt8(ascii: "[") else { return nil }
        try open(isObject: isObject, at: position)
        position += 1
        return isObject
    }

    /// Moves to the next value in the container that was entered.
    ///
    /// - Returns: false when there is none; then the cursor is past the container.
    @inline(__always)
    mutating func step(isFirst: Bool) throws(JSONFault) -> Bool {
        var offset = position
        let isThere = try step(isFirst: isFirst, &offset)
        position = offset
        return isThere
    }

    @inline(__always)
    private mutating func step(isFirst: Bool, _ offset: inout Int) throws(JSONFault) -> Bool {
        // The most common form of a member: no escape, and no white space before its value.
        if levels & 1 != 0, let start = tokens.memberStart(isFirst: isFirst, at: offset) {
            let end = tokens.plainEnd(from: start)
            if tokens.isNameEnd(at: end) {
                nameRange = Range(uncheckedBounds: (start, end))
                isNamePlain = true
                expectation = .value
                offset = end &+ 2
                return true
            }
        }
        return try anyStep(isFirst: isFirst, &offset)
    }

    @inline(never)
    private mutating func anyStep(isFirst: Bool, _ offset: inout Int) throws(JSONFault) -> Bool {
        let inObject = levels & 1 != 0
        offset = next(offset)
        if tokens[offset] != UInt8(ascii: ",") || isFirst {
            if tokens[offset] == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                offset &+= 1
                depth &-= 1
                levels >>= 1
                if depth & 63 == 0 { levels = outerLevels[depth >> 6] }
                return false
            }
            guard isFirst else { throw tokens.fault(expecting: inObject ? .commaOrBrace : .commaOrBracket, at: offset) }
        } else {
            offset = next(offset &+ 1)
        }
        expectation = .value
        if inObject {
            offset = try key(isFirst ? .keyOrBrace : .key, at: offset)
        } else if isFirst {
            expectation = .valueOrBracket
        }
        return true
    }

    /// Moves from the expected start of a key to its value.
    @inline(__always)
    private mutating func key(_ expectation: JSONFault.Expectation, at start: Int) throws(JSONFault) -> Int {
        guard tokens[start] == UInt8(ascii: "\"") else { throw tokens.fault(expecting: expectation, at: start) }
        let plain = tokens.plainEnd(from: start &+ 1)
        isNamePlain = tokens[plain] == UInt8(ascii: "\"")
        let end = isNamePlain ? plain &+ 1 : try tokens.anyString(from: plain, &flaws)
        nameRange = Range(uncheckedBounds: (start &+ 1, end &- 1))
        let colon = next(end)
        guard tokens[colon] == UInt8(ascii: ":") else { throw tokens.fault(expecting: .colon, at: colon) }
        return next(colon &+ 1)
    }

    @inline(__always)
    private mutating func open(isObject: Bool, at offset: Int) throws(JSONFault) {
        if depth >= levelLimit { try goDeep(at: offset) }
        if depth & 63 == 0 { outerLevels[depth >> 6] = levels }
        levels = levels << 1 | (isObject ? 1 : 0)
        depth &+= 1
    }

    /// Records a flaw for a brace or bracket that is nested too deep, or throws a fault beyond `maximumDepth`.
    @inline(never)
    private mutating func goDeep(at offset: Int) throws(JSONFault) {
        guard depth < Self.maximumDepth else { throw tokens.fault(.tooDeep, at: offset) }
        flaws.insert(.deep)
    }

    /// Scans until the level is `bottom` again, after a value.
    @inline(never)
    private mutating func run(to bottom: Int, isBehindValue: Bool) throws(JSONFault) {
        let tokens = tokens
        var offset = position
        var isBehindValue = isBehindValue
        while true {
            if !isBehindValue {
                switch tokens[offset] {
                case UInt8(ascii: "\""):
                    let start = offset &+ 1
                    offset = try tokens.string(from: start, &flaws)
                    if !wanted.isEmpty { offer(string: start..<offset &- 1) }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    try open(isObject: tokens.base[offset] == UInt8(ascii: "{"), at: offset)
                    offset &+= 1
                    if try step(isFirst: true, &offset) { continue }
                case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    let start = offset
                    offset = try tokens.number(from: start, &flaws)
                    if wanted.contains(.number) { offer(number: start..<offset) }
                case UInt8(ascii: "t"): offset = try tokens.literal(0x6575_7274, .true, from: offset)
                case UInt8(ascii: "n"): offset = try tokens.literal(0x6C6C_756E, .null, from: offset)
                case UInt8(ascii: "f"): offset = try tokens.literal(0x6573_6C61, .false, from: offset)
                default: throw tokens.fault(expecting: expectation, at: offset)
                }
            }
            isBehindValue = false
            repeat {
                if depth == bottom {
                    position = offset
                    return
                }
            } while try !step(isFirst: false, &offset)
        }
    }

    // MARK: What comes first

    @inline(never)
    private mutating func offer(string body: Range<Int>) {
        if wanted.contains(.string) {
            firstString = (body.lowerBound - shift)..<(body.upperBound - shift)
            wanted.remove(.string)
        }
        guard wanted.isSuperset(of: [.number, .lenient]) else { return }
        keep(JSONNumber.lenient(UnsafeBufferPointer(start: tokens.base + body.lowerBound, count: body.count)))
    }

    @inline(never)
    private mutating func offer(number token: Range<Int>) {
        keep(JSONNumber.double(UnsafeBufferPointer(start: tokens.base + token.lowerBound, count: token.count)))
    }

    private mutating func keep(_ number: Double?) {
        guard let number else { return }
        firstNumber = number
        wanted.subtract([.number, .lenient])
    }

    // MARK: White space and the output

    /// The first position from `offset` that is not white space.
    @inline(__always)
    private mutating func next(_ offset: Int) -> Int {
        offset < tokens.count && tokens.base[offset] <= 0x20 ? skip(from: offset) : offset
    }

    @inline(never)
    private mutating func skip(from start: Int) -> Int {
        flush(upTo: start)
        var offset = start
        while true {
            switch tokens[offset] {
            case 0x20:
                // Indentation: eight at a time.
                while offset &+ 8 <= tokens.count {
                    let differing = tokens.load(at: offset) ^ 0x2020_2020_2020_2020
                    offset &+= differing.trailingZeroBitCount >> 3
                    if differing != 0 { break }
                }
                if tokens[offset] == 0x20 { offset &+= 1 }
            case 0x0A, 0x0D, 0x09: offset &+= 1
            default:
                if output != nil { shift &+= offset &- start }
                pending = offset
                return offset
            }
        }
    }

    /// Copies the run that ends here to the output. It fits: the output never has more bytes than were read.
    @inline(__always)
    private func flush(upTo end: Int) {
        guard let output else { return }
        let length = end &- pending
        if length <= 16, pending &+ 16 <= tokens.count {
            // One load and one store; the next run overwrites the bytes beyond this one.
            let run = UnsafeRawPointer(tokens.base + pending).loadUnaligned(as: SIMD16<UInt8>.self)
            UnsafeMutableRawPointer(output + (pending &- shift)).storeBytes(of: run, as: SIMD16<UInt8>.self)
        } else {
            (output + (pending &- shift)).update(from: tokens.base + pending, count: length)
        }
    }
}
