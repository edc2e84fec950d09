internal import Reactor

/// The members of one object of a line that is valid JSON, by key; unknown keys are left out, of repeated ones the first counts.
struct LineMembers: ~Copyable {
    let bytes: UnsafeBufferPointer<UInt8>
    /// Where the object starts.
    let offset: Int
    /// Start and end of each key's value, by the key's raw value; no value ends at 0. Lines are shorter than 4 GiB.
    ///
    /// Lent by `with` for as long as this exists: an `InlineArray` gets copied whole at every access by Swift 6.3.
    private let ranges: UnsafeMutablePointer<SIMD2<UInt32>>

    private init(_ bytes: UnsafeBufferPointer<UInt8>, _ offset: Int, _ ranges: UnsafeMutablePointer<SIMD2<UInt32>>) {
        self.bytes = bytes
        self.offset = offset
        self.ranges = ranges
        ranges.initialize(repeating: .zero, count: LineKey.keyCount)
    }

    /// What `body` makes of the object at `offset`; nil when there is none.
    static func with<Value>(
        _ bytes: UnsafeBufferPointer<UInt8>, at offset: Int, _ body: (borrowing LineMembers) throws(LineFault) -> Value
    ) throws(LineFault) -> Value? {
        var cursor = JSONCursor(bytes, at: offset)
        guard cursor.take(UInt8(ascii: "{")) else { return nil }
        let result = withUnsafeTemporaryAllocation(of: SIMD2<UInt32>.self, capacity: LineKey.keyCount) { ranges in
            // There is at least one key, so there is a base address.
            let members = LineMembers(bytes, offset, ranges.baseAddress.unsafelyUnwrapped)
            members.read(&cursor)
            return Result { () throws(LineFault) in try body(members) }
        }
        return try result.get()
    }

    private func read(_ cursor: inout JSONCursor) {
        while true {
            cursor.skipWhiteSpace()
            guard cursor.byte == UInt8(ascii: "\"") else { return }
            let name = cursor.string()
            cursor.skipWhiteSpace()
            _ = cursor.take(UInt8(ascii: ":"))
            cursor.skipWhiteSpace()
            let value = cursor.value()
            if let key = key(name), range(key) == nil {
                ranges[Int(key.rawValue)] = [
                    UInt32(truncatingIfNeeded: value.lowerBound), UInt32(truncatingIfNeeded: value.upperBound),
                ]
            }
            cursor.skipWhiteSpace()
            guard cursor.take(UInt8(ascii: ",")) else { return }
        }
    }

    @inline(__always)
    private func key(_ name: Range<Int>) -> LineKey? {
        let raw = UnsafeBufferPointer(rebasing: bytes[name])
        if let key = LineKey(raw) { return key }
        guard raw.count <= 144, raw.contains(UInt8(ascii: "\\")) else { return nil }
        return Array(JSONText.string(raw).utf8).withUnsafeBufferPointer { LineKey($0) }
    }

    /// Where a key's value is; nil when there is none.
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

    /// A whole number from `least` on.
    func int(_ key: LineKey, from least: Int = 0) throws(LineFault) -> Int {
        try required(key, intIfAny(key, from: least))
    }

    @inline(__always)
    private func required<Value>(_ key: LineKey, _ value: Value?) throws(LineFault) -> Value {
        guard let value else { throw LineFault(offset: offset, reason: .missing(key: key.text)) }
        return value
    }

    // MARK: Values that may be there

    /// Cut at `LineDecoder.stringLimit` bytes of UTF-8.
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

    func milliseconds(_ key: LineKey) throws(LineFault) -> Double { try required(key, millisecondsIfAny(key)) }

    /// A time in milliseconds; 0 for one that an agent would have written as 0: sums and conversions overflow otherwise.
    func millisecondsIfAny(_ key: LineKey) throws(LineFault) -> Double? {
        try doubleIfAny(key).map { LineWriter.mostMilliseconds > $0 && $0 > 0 ? $0 : 0 }
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

    /// A number of units that are `microseconds` long each, from 0 to 1,000 years.
    func durationIfAny(_ key: LineKey, unit microseconds: Double) throws(LineFault) -> Duration? {
        guard let number = try doubleIfAny(key) else { return nil }
        let total = number * microseconds
        guard 0...31_556_952e9 ~= total else { throw wrong(key, "a duration from 0 to 1,000 years") }
        return .microseconds(Int64(total.rounded()))
    }

    /// What `make` makes of the object at `key`; nil when there is none.
    func objectIfAny<Value>(
        _ key: LineKey, _ make: (borrowing LineMembers) throws(LineFault) -> Value
    ) throws(LineFault) -> Value? {
        guard let range = range(key), value(key) != nil else { return nil }
        guard let object = try Self.with(bytes, at: range.lowerBound, make) else { throw wrong(key, "an object") }
        return object
    }

    /// What `make` makes of each object in the array at `key`, of the first `most`; nothing when there is no array.
    func list<Element>(
        _ key: LineKey, atMost most: Int = 10_000, _ make: (borrowing LineMembers) throws(LineFault) -> Element
    ) throws(LineFault) -> [Element] {
        guard let range = range(key), value(key) != nil else { return [] }
        var cursor = JSONCursor(bytes, at: range.lowerBound)
        guard cursor.take(UInt8(ascii: "[")) else { throw wrong(key, "an array") }
        var elements: [Element] = []
        cursor.skipWhiteSpace()
        while cursor.position < range.upperBound, cursor.byte != UInt8(ascii: "]"), elements.count < most {
            guard let element = try Self.with(bytes, at: cursor.position, make) else {
                throw wrong(key, "an array of objects")
            }
            elements.append(element)
            _ = cursor.value()
            cursor.skipWhiteSpace()
            _ = cursor.take(UInt8(ascii: ","))
            cursor.skipWhiteSpace()
        }
        return elements
    }

    func wrong(_ key: LineKey, _ expected: String) -> LineFault {
        LineFault(offset: range(key)?.lowerBound ?? offset, reason: .wrong(key: key.text, expected: expected))
    }
}
