internal import Reactor

/// The members of one object in a line of valid JSON, by key. Unknown keys are skipped; the first of repeated keys
/// counts.
struct LineMembers: ~Copyable {
    let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the object's start.
    let offset: Int
    /// The start and end of each value, indexed by its key's raw value; the end is 0 if absent. Lines are shorter than
    /// 4 GiB.
    ///
    /// Valid only inside `with`, which allocates it: Swift 6.3 copies a whole `InlineArray` at every access.
    private let ranges: UnsafeMutablePointer<SIMD2<UInt32>>

    private init(_ bytes: UnsafeBufferPointer<UInt8>, _ offset: Int, _ ranges: UnsafeMutablePointer<SIMD2<UInt32>>) {
        self.bytes = bytes
        self.offset = offset
        self.ranges = ranges
        ranges.initialize(repeating: .zero, count: LineKey.keyCount)
    }

    /// Returns the result of `body` for the object that is the whole line, and the line's flaws. The line is validated
    /// before `body` runs.
    static func with<Value>(
        line: UnsafeBufferPointer<UInt8>, _ body: (borrowing LineMembers) throws(LineFault) -> Value
    ) throws(LineFault) -> (value: Value, flaws: JSONFlaws) {
        var scanner = JSONScanner(line, levelLimit: LineEncoder.mostLevels)
        do throws(JSONFault) { try scanner.begin() } catch { throw LineFault(error) }
        let start = scanner.position
        guard let value = try with(line, &scanner, isLine: true, body) else {
            throw LineFault(offset: start, reason: .notAnObject)
        }
        return (value, scanner.flaws)
    }

    /// Returns the result of `body` for the object at the scanner, which then is past it; nil if it is not an object.
    private static func with<Value>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ scanner: inout JSONScanner, isLine: Bool = false,
        _ body: (borrowing LineMembers) throws(LineFault) -> Value
    ) throws(LineFault) -> Value? {
        let result = withUnsafeTemporaryAllocation(of: SIMD2<UInt32>.self, capacity: LineKey.keyCount) {
            (ranges) -> Result<Value, LineFault>? in
            // There is at least one key, so there is a base address.
            let members = LineMembers(bytes, scanner.position, ranges.baseAddress.unsafelyUnwrapped)
            let isObject = scanner.byte == UInt8(ascii: "{")
            do throws(JSONFault) {
                if isObject { try members.read(&scanner) } else if isLine { try scanner.value() }
                if isLine { _ = try scanner.end() }
            } catch {
                return .failure(LineFault(error))
            }
            return isObject ? Result { () throws(LineFault) in try body(members) } : nil
        }
        return try result?.get()
    }

    private func read(_ scanner: inout JSONScanner) throws(JSONFault) {
        _ = try scanner.enter()
        var isFirst = true
        while try scanner.step(isFirst: isFirst) {
            isFirst = false
            let name = scanner.name
            let start = scanner.position
            try scanner.value()
            guard let key = LineKey(name: name) else { continue }
            guard range(key) == nil else {
                scanner.flaws.insert(.doubled)
                continue
            }
            ranges[Int(key.rawValue)] = SIMD2(
                UInt32(truncatingIfNeeded: start), UInt32(truncatingIfNeeded: scanner.position))
        }
    }

    /// The range of a key's value; nil when there is none.
    @inline(__always)
    func range(_ key: LineKey) -> Range<Int>? {
        let range = ranges[Int(key.rawValue)]
        return range.y == 0 ? nil : Int(range.x)..<Int(range.y)
    }

    /// A key's value; nil when there is none or it is `null`.
    @inline(__always)
    func value(_ key: LineKey) -> UnsafeBufferPointer<UInt8>? {
        guard let range = range(key), bytes[range.lowerBound] != UInt8(ascii: "n") else { return nil }
        return UnsafeBufferPointer(rebasing: bytes[range])
    }

    // MARK: Values that must be there

    func string(_ key: LineKey) throws(LineFault) -> String { try required(key, stringIfAny(key)) }
    func double(_ key: LineKey) throws(LineFault) -> Double { try required(key, doubleIfAny(key)) }
    func time(_ key: LineKey) throws(LineFault) -> Timestamp { try required(key, timeIfAny(key)) }

    /// A whole number, at least `least`.
    func int(_ key: LineKey, from least: Int = 0) throws(LineFault) -> Int {
        try required(key, intIfAny(key, from: least))
    }

    @inline(__always)
    private func required<Value>(_ key: LineKey, _ value: Value?) throws(LineFault) -> Value {
        guard let value else { throw LineFault(offset: offset, reason: .missing(key: key.text)) }
        return value
    }

    // MARK: Values that may be there

    /// A string, cut at `LineDecoder.stringLimit` bytes of UTF-8.
    func stringIfAny(_ key: LineKey) throws(LineFault) -> String? {
        guard let token = value(key) else { return nil }
        guard token.first == UInt8(ascii: "\"") else { throw wrong(key, "a string") }
        return JSONText.string(
            UnsafeBufferPointer(rebasing: token[1..<token.count - 1]), limit: LineDecoder.stringLimit)
    }

    func doubleIfAny(_ key: LineKey) throws(LineFault) -> Double? {
        guard let token = value(key) else { return nil }
        guard let number = JSONNumber.double(token) else { throw wrong(key, "a number in the range of a double") }
        return number
    }

    func runName() throws(LineFault) -> String {
        let name = try string(.run)
        guard RunName.isValid(name) else { throw wrong(.run, "a name of \(RunName.rule)") }
        return name
    }

    func milliseconds(_ key: LineKey) throws(LineFault) -> Double { try required(key, millisecondsIfAny(key)) }

    /// A time in milliseconds; 0 if an agent would have written it as 0, because sums and conversions would overflow.
    func millisecondsIfAny(_ key: LineKey) throws(LineFault) -> Double? {
        try doubleIfAny(key).map { Self.milliseconds($0) }
    }

    /// Whether an agent would write this time in milliseconds unchanged.
    static func isTime(_ milliseconds: Double) -> Bool { 0..<LineWriter.mostMilliseconds ~= milliseconds }

    @inline(__always)
    static func milliseconds(_ number: Double) -> Double {
        LineWriter.mostMilliseconds > number && number > 0 ? number : 0
    }

    func intIfAny(_ key: LineKey, from least: Int = 0) throws(LineFault) -> Int? {
        guard let token = value(key) else { return nil }
        guard let number = JSONNumber.integer(token), number >= least else {
            throw wrong(key, "a whole number from \(least) to \(Int.max)")
        }
        return number
    }

    func boolIfAny(_ key: LineKey) throws(LineFault) -> Bool? {
        guard let token = value(key) else { return nil }
        switch token.first {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw wrong(key, "true or false")
        }
    }

    func timeIfAny(_ key: LineKey) throws(LineFault) -> Timestamp? {
        guard let token = value(key) else { return nil }
        guard token.count >= 2, token.first == UInt8(ascii: "\""),
            let time = RFC3339.parse(UnsafeBufferPointer(rebasing: token[1..<token.count - 1]))
        else { throw wrong(key, "a time as in RFC 3339") }
        return time
    }

    /// A duration from 0 to 1,000 years, given in units of `microseconds` µs.
    func durationIfAny(_ key: LineKey, unit microseconds: Double) throws(LineFault) -> Duration? {
        guard let number = try doubleIfAny(key) else { return nil }
        let total = number * microseconds
        guard 0...31_556_952e9 ~= total else { throw wrong(key, "a duration from 0 to 1,000 years") }
        return .microseconds(Int64(total.rounded()))
    }

    /// The same for a required value.
    func duration(_ key: LineKey, unit microseconds: Double) throws(LineFault) -> Duration {
        try required(key, durationIfAny(key, unit: microseconds))
    }

    /// Returns the result of `make` for the object at `key`; nil when there is none.
    func objectIfAny<Value>(
        _ key: LineKey, _ make: (borrowing LineMembers) throws(LineFault) -> Value
    ) throws(LineFault) -> Value? {
        guard let range = range(key), value(key) != nil else { return nil }
        var scanner = JSONScanner(bytes, at: range.lowerBound)
        guard let object = try Self.with(bytes, &scanner, make) else { throw wrong(key, "an object") }
        return object
    }

    /// Returns the results of `make` for the first `most` objects in the array at `key`; empty without an array.
    func list<Element>(
        _ key: LineKey, atMost most: Int = 10_000, _ make: (borrowing LineMembers) throws(LineFault) -> Element
    ) throws(LineFault) -> [Element] {
        guard let range = range(key), value(key) != nil else { return [] }
        var scanner = JSONScanner(bytes, at: range.lowerBound)
        guard scanner.byte == UInt8(ascii: "["), (try? scanner.enter()) != nil else { throw wrong(key, "an array") }
        var elements: [Element] = []
        // The line was validated.
        while elements.count < most, (try? scanner.step(isFirst: elements.isEmpty)) == true {
            guard let element = try Self.with(bytes, &scanner, make) else { throw wrong(key, "an array of objects") }
            elements.append(element)
        }
        return elements
    }

    /// The strings in the array at `key`; empty without an array.
    func strings(_ key: LineKey, atMost most: Int, bytes mostBytes: Int) throws(LineFault) -> [String] {
        guard let range = range(key), value(key) != nil else { return [] }
        let fault = wrong(key, "an array of at most \(most) strings with \(mostBytes) bytes together")
        var scanner = JSONScanner(bytes, at: range.lowerBound)
        guard scanner.byte == UInt8(ascii: "["), (try? scanner.enter()) != nil else { throw fault }
        var strings: [String] = []
        var room = mostBytes
        // The line was validated.
        while (try? scanner.step(isFirst: strings.isEmpty)) == true {
            let start = scanner.position
            guard strings.count < most, scanner.byte == UInt8(ascii: "\""), (try? scanner.value()) != nil else {
                throw fault
            }
            let string = JSONText.string(UnsafeBufferPointer(rebasing: bytes[start + 1..<scanner.position - 1]))
            room -= string.utf8.count
            guard room >= 0 else { throw fault }
            strings.append(string)
        }
        return strings
    }

    /// The rows of numbers at `key`, each with at least `count` numbers, of which the first `count` are returned.
    func rows(_ key: LineKey, of count: Int, atMost most: Int) throws(LineFault) -> [[Double]] {
        let fault = wrong(key, "at most \(most) arrays of \(count) numbers")
        guard let range = range(key) else { throw LineFault(offset: offset, reason: .missing(key: key.text)) }
        var scanner = JSONScanner(bytes, at: range.lowerBound)
        guard scanner.byte == UInt8(ascii: "["), (try? scanner.enter()) != nil else { throw fault }
        var rows: [[Double]] = []
        // The line was validated.
        while (try? scanner.step(isFirst: rows.isEmpty)) == true {
            guard rows.count < most, scanner.byte == UInt8(ascii: "["), (try? scanner.enter()) != nil else {
                throw fault
            }
            var row: [Double] = []
            while (try? scanner.step(isFirst: row.isEmpty)) == true {
                let start = scanner.position
                guard row.count < 64, (try? scanner.value()) != nil,
                    let number = JSONNumber.double(UnsafeBufferPointer(rebasing: bytes[start..<scanner.position]))
                else { throw fault }
                row.append(number)
            }
            guard row.count >= count else { throw fault }
            rows.append(Array(row.prefix(count)))
        }
        return rows
    }

    func wrong(_ key: LineKey, _ expected: String) -> LineFault {
        LineFault(offset: range(key)?.lowerBound ?? offset, reason: .wrong(key: key.text, expected: expected))
    }
}
