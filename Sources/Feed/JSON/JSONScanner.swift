/// The one pass over JSON: it decides what is JSON (RFC 8259, strictly), removes the white space from it, and tells on the way
/// where values lie.
///
/// `value` and `rest` go over whatever there is in a loop that does not recurse: what encloses the cursor is one bit a level.
/// Who wants to know what is inside steps down by `enter` and `step` as far as that leads. It copies runs between white
/// space and not single bytes, so an input that is minified already costs one `memcpy`.
struct JSONScanner {
    static let maximumDepth = 512

    private let tokens: JSONTokens
    /// Where minified bytes go; nil to leave white space where it is.
    private let output: UnsafeMutablePointer<UInt8>?
    /// Where the cursor is in the input.
    private(set) var position: Int
    /// How far places are below positions: by the white space that was removed, and by what `origin` says.
    private var shift = 0
    /// Where the run starts that is not in the output yet.
    private var pending: Int
    private var depth = 0
    /// How many levels there may be without a flaw.
    private let levelLimit: Int
    /// Whether what encloses the cursor is an object, a bit a level, the innermost lowest; the outer ones by 64.
    private var levels: UInt64 = 0
    private var outerLevels = InlineArray<8, UInt64>(repeating: 0)
    /// What could stand where a value begins.
    private var expectation = JSONFault.Expectation.value
    /// What is between the quotes of the name that `step` went over last, in the input.
    private(set) var nameRange = 0..<0
    /// Whether that is ASCII without an escape.
    private(set) var isNamePlain = true

    /// What was gone over that not every reader of a line would take.
    var flaws: JSONFlaws = []

    /// What is still looked for.
    var wanted: JSONSelection.Firsts = []
    private(set) var firstNumber: Double?
    /// The place of what is between its quotes.
    private(set) var firstString: Range<Int>?

    /// - Parameters:
    ///   - position: where to begin: before a value or white space.
    ///   - output: has room for as many bytes as the input and does not overlap it.
    ///   - levelLimit: how many levels there may be without a flaw: those of a line, or of what goes into one.
    init(
        _ input: UnsafeBufferPointer<UInt8>, at position: Int = 0, output: UnsafeMutablePointer<UInt8>? = nil,
        levelLimit: Int = LineEncoder.mostLevels - 1
    ) {
        // An empty input has no address, and none of it is read.
        tokens = JSONTokens(base: input.baseAddress ?? UnsafePointer(Self.nothing), count: input.count)
        self.output = output
        self.position = position
        pending = position
        self.levelLimit = levelLimit
    }

    /// Goes on inside of a container, behind its brace or bracket or one of its values; each of those may go into a line.
    init(_ input: UnsafeBufferPointer<UInt8>, at position: Int, inObject: Bool) {
        self.init(input, at: position, levelLimit: LineEncoder.mostLevels)
        depth = 1
        levels = inObject ? 1 : 0
    }

    nonisolated(unsafe) private static let nothing = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)  // never read

    /// Where the cursor is in the output, or without one in the input.
    @inline(__always)
    var place: Int { position &- shift }

    /// The byte at the cursor; zero at the end.
    @inline(__always)
    var byte: UInt8 { tokens[position] }

    /// The bytes of that name, as they are written.
    @inline(__always)
    var name: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: tokens.base + nameRange.lowerBound, count: nameRange.count)
    }

    /// Has places count from the cursor on; there is no output.
    mutating func setOrigin() { shift = position }

    // MARK: Whole documents

    /// To the document's value.
    @inline(__always)
    mutating func begin() throws(JSONFault) {
        position = next(position)
        guard position < tokens.count else { throw tokens.fault(.empty, at: position) }
        if position == 0, tokens[0] == 0xEF, tokens[1] == 0xBB, tokens[2] == 0xBF {
            throw tokens.fault(.byteOrderMark, at: 0)
        }
    }

    /// From behind the document's value to the end of the input.
    ///
    /// - Returns: how many bytes the output has.
    @inline(__always)
    mutating func end() throws(JSONFault) -> Int {
        position = next(position)
        guard position == tokens.count else { throw tokens.fault(expecting: .end, at: position) }
        flush(upTo: position)
        return place
    }

    // MARK: Values

    /// Over the value that is here.
    @inline(__always)
    mutating func value() throws(JSONFault) {
        // The common ones without a call.
        switch byte {
        case UInt8(ascii: "\"") where wanted.isEmpty: position = try tokens.string(from: position &+ 1, &flaws)
        case UInt8(ascii: "0")...UInt8(ascii: "9") where wanted.isEmpty:
            position = try tokens.number(from: position, &flaws)
        default: try run(to: depth, isBehindValue: false)
        }
    }

    /// Over the rest of the container, from behind one of its values.
    @inline(__always)
    mutating func rest() throws(JSONFault) { try run(to: depth - 1, isBehindValue: true) }

    /// Over the brace or bracket that is here.
    ///
    /// - Returns: nil when there is none; whether it opens an object.
    @inline(__always)
    mutating func enter() throws(JSONFault) -> Bool? {
        let isObject = byte == UInt8(ascii: "{")
        guard isObject || byte == UInt8(ascii: "[") else { return nil }
        try open(isObject: isObject, at: position)
        position += 1
        return isObject
    }

    /// To the next value in the container that was entered.
    ///
    /// - Returns: false when there is none; the cursor is behind the container then.
    @inline(__always)
    mutating func step(isFirst: Bool) throws(JSONFault) -> Bool {
        var place = position
        let isThere = try step(isFirst: isFirst, &place)
        position = place
        return isThere
    }

    @inline(__always)
    private mutating func step(isFirst: Bool, _ place: inout Int) throws(JSONFault) -> Bool {
        // A member as most are written: without an escape, and without white space before its value.
        if levels & 1 != 0, let start = tokens.memberStart(isFirst: isFirst, at: place) {
            let end = tokens.plainEnd(from: start)
            if tokens.isNameEnd(at: end) {
                nameRange = Range(uncheckedBounds: (start, end))
                isNamePlain = true
                expectation = .value
                place = end &+ 2
                return true
            }
        }
        return try anyStep(isFirst: isFirst, &place)
    }

    @inline(never)
    private mutating func anyStep(isFirst: Bool, _ place: inout Int) throws(JSONFault) -> Bool {
        let inObject = levels & 1 != 0
        place = next(place)
        if tokens[place] != UInt8(ascii: ",") || isFirst {
            if tokens[place] == (inObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                place &+= 1
                depth &-= 1
                levels >>= 1
                if depth & 63 == 0 { levels = outerLevels[depth >> 6] }
                return false
            }
            guard isFirst else { throw tokens.fault(expecting: inObject ? .commaOrBrace : .commaOrBracket, at: place) }
        } else {
            place = next(place &+ 1)
        }
        expectation = .value
        if inObject {
            place = try key(isFirst ? .keyOrBrace : .key, at: place)
        } else if isFirst {
            expectation = .valueOrBracket
        }
        return true
    }

    /// From where a key should be to its value.
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
    private mutating func open(isObject: Bool, at place: Int) throws(JSONFault) {
        if depth >= levelLimit { try goDeep(at: place) }
        if depth & 63 == 0 { outerLevels[depth >> 6] = levels }
        levels = levels << 1 | (isObject ? 1 : 0)
        depth &+= 1
    }

    /// Over a brace or bracket at a level that makes it a flaw, or a fault.
    @inline(never)
    private mutating func goDeep(at place: Int) throws(JSONFault) {
        guard depth < Self.maximumDepth else { throw tokens.fault(.tooDeep, at: place) }
        flaws.insert(.deep)
    }

    /// Goes on until the level is `bottom` again, behind a value.
    @inline(never)
    private mutating func run(to bottom: Int, isBehindValue: Bool) throws(JSONFault) {
        let tokens = tokens
        var place = position
        var isBehindValue = isBehindValue
        while true {
            if !isBehindValue {
                switch tokens[place] {
                case UInt8(ascii: "\""):
                    let start = place &+ 1
                    place = try tokens.string(from: start, &flaws)
                    if !wanted.isEmpty { offer(string: start..<place &- 1) }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    try open(isObject: tokens.base[place] == UInt8(ascii: "{"), at: place)
                    place &+= 1
                    if try step(isFirst: true, &place) { continue }
                case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    let start = place
                    place = try tokens.number(from: start, &flaws)
                    if wanted.contains(.number) { offer(number: start..<place) }
                case UInt8(ascii: "t"): place = try tokens.literal(0x6575_7274, .true, from: place)
                case UInt8(ascii: "n"): place = try tokens.literal(0x6C6C_756E, .null, from: place)
                case UInt8(ascii: "f"): place = try tokens.literal(0x6573_6C61, .false, from: place)
                default: throw tokens.fault(expecting: expectation, at: place)
                }
            }
            isBehindValue = false
            repeat {
                if depth == bottom {
                    position = place
                    return
                }
            } while try !step(isFirst: false, &place)
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

    /// The first place from `place` on that is not white space.
    @inline(__always)
    private mutating func next(_ place: Int) -> Int {
        place < tokens.count && tokens.base[place] <= 0x20 ? skip(from: place) : place
    }

    @inline(never)
    private mutating func skip(from start: Int) -> Int {
        flush(upTo: start)
        var place = start
        while true {
            switch tokens[place] {
            case 0x20:
                // Indentation: eight at a time.
                while place &+ 8 <= tokens.count {
                    let differing = tokens.load(at: place) ^ 0x2020_2020_2020_2020
                    place &+= differing.trailingZeroBitCount >> 3
                    if differing != 0 { break }
                }
                if tokens[place] == 0x20 { place &+= 1 }
            case 0x0A, 0x0D, 0x09: place &+= 1
            default:
                if output != nil { shift &+= place &- start }
                pending = place
                return place
            }
        }
    }

    /// Copies the run that ends here to the output. It fits: the output never has more bytes than have been read.
    @inline(__always)
    private func flush(upTo end: Int) {
        guard let output else { return }
        let length = end &- pending
        if length <= 16, pending &+ 16 <= tokens.count {
            // One load and one store; what lies beyond the run gets overwritten by the next one.
            let run = UnsafeRawPointer(tokens.base + pending).loadUnaligned(as: SIMD16<UInt8>.self)
            UnsafeMutableRawPointer(output + (pending &- shift)).storeBytes(of: run, as: SIMD16<UInt8>.self)
        } else {
            (output + (pending &- shift)).update(from: tokens.base + pending, count: length)
        }
    }
}
