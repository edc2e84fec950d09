/// Values to find in a document in the same pass that validates and minifies it.
///
/// The first of duplicate keys counts, as everywhere.
///
/// A class with plain memory, because it is used for every line of a bulk input: arrays would be retained each time.
package final class JSONSelection: @unchecked Sendable {  // never changes
    /// The selection of no values.
    package static let nothing = JSONSelection([])

    /// The most pointers that a selection may have.
    package static let mostPointers = 6

    /// Values to find besides the pointers' targets.
    package struct Firsts: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The first number in the document's order that a double can hold.
        package static let number = Firsts(rawValue: 1)
        /// The first string that is a value and not a key.
        package static let string = Firsts(rawValue: 2)
        /// With `number`: strings that contain a number count too, see `JSONNumber.lenient`.
        package static let lenient = Firsts(rawValue: 4)
    }

    /// The values found last, as ranges in the minified document.
    ///
    /// A class with its own memory, because a structure of this size would be copied again and again.
    package final class Found {
        fileprivate struct Place {
            /// The start of the value that the first `depth` steps lead to; no further step resolved.
            var start = 0
            var depth = 0
            /// The end of the value that all steps lead to; −1 when they lead nowhere.
            var end = -1
            /// The number of elements of an array that has none for the next step.
            var elements = 0
        }

        /// The pointers' places, followed by the first string's.
        fileprivate let places: UnsafeMutablePointer<Place>
        fileprivate let number: UnsafeMutablePointer<Double>
        fileprivate let foundFlaws: UnsafeMutablePointer<JSONFlaws>
        private let memory: UnsafeMutableRawPointer

        package init() {
            // In one piece, as one of these is made for every document.
            let count = mostPointers + 1
            let size = count * MemoryLayout<Place>.stride
            let more = MemoryLayout<Double>.stride + MemoryLayout<JSONFlaws>.stride
            memory = .allocate(byteCount: size + more, alignment: MemoryLayout<Place>.alignment)
            places = memory.bindMemory(to: Place.self, capacity: count)
            number = (memory + size).bindMemory(to: Double.self, capacity: 1)
            foundFlaws = (memory + size + MemoryLayout<Double>.stride).bindMemory(to: JSONFlaws.self, capacity: 1)
            reset()
        }

        deinit { memory.deallocate() }

        @inline(__always)
        fileprivate func reset() {
            for index in 0...mostPointers { (places + index).initialize(to: Place()) }
            number.initialize(to: .nan)
            foundFlaws.initialize(to: [])
        }

        /// The first number, if selected and present.
        package var firstNumber: Double? { number.pointee.isNaN ? nil : number.pointee }
        /// Flaws of the value, which some readers of a line would not accept.
        package var flaws: JSONFlaws { foundFlaws.pointee }
        /// The range between the quotes of the first string, if selected and present.
        package var firstString: Range<Int>? { self[mostPointers] }

        /// The range of the value that the pointer with this index leads to; nil when there is none.
        package subscript(pointer: Int) -> Range<Int>? {
            let place = places + pointer
            // Never reversed: a value ends after its start.
            return place.pointee.end < 0 ? nil : Range(uncheckedBounds: (place.pointee.start, place.pointee.end))
        }

        /// The failure of a pointer that leads nowhere in `document`, with how far it resolved.
        ///
        /// - Parameter suggests: whether to search for the key that may be meant, which takes up to a millisecond.
        package func missing(
            _ pointer: JSONPointer, at index: Int, in document: UnsafeBufferPointer<UInt8>, suggests: Bool
        ) -> Failure {
            let place = places[index]
            let kind = JSONKind(firstByte: document[place.start])
            var message = pointer.missing(resolved: place.depth, kind: kind, elements: place.elements)
            if suggests,
                let key = EditDistance.suggestion(
                    for: pointer.name(of: place.depth), among: Self.keys(of: document, at: place.start))
            {
                message += "; did you mean \"\(key)\"?"
            }
            return Failure(.pointer, message)
        }

        /// The first keys of the object at `offset`: at most 32, of at most 64 bytes each.
        private static func keys(of document: UnsafeBufferPointer<UInt8>, at offset: Int) -> [String] {
            guard var items = JSONItems(of: document, at: offset) else { return [] }
            var keys: [String] = []
            while keys.count < 32, let name = items.next(in: document)?.name {
                guard name.count <= 64 else { continue }
                let key = JSONText.unescape(Bytes(UnsafeBufferPointer(rebasing: document[name])))
                keys.append(String(decoding: key, as: UTF8.self))
            }
            return keys
        }
    }

    /// One reference token of a pointer.
    private struct Step {
        /// The token's offset in `names`.
        var offset: Int
        var length: Int
        /// The token as an array index, if it is one.
        var index: Int?
    }

    /// The reference tokens, concatenated.
    private let names: UnsafeMutableBufferPointer<UInt8>
    private let steps: UnsafeMutableBufferPointer<Step>
    /// The index of each pointer's first step, and one more for the end.
    private let bounds: UnsafeMutableBufferPointer<Int>
    /// A set of pointers is one byte, with a bit for each pointer.
    private let pointers: UInt8
    private let firsts: Firsts

    /// - Parameter pointers: at most `mostPointers`; a nil finds nothing.
    package init(_ pointers: [JSONPointer?], firsts: Firsts = []) {
        precondition(pointers.count <= Self.mostPointers, "a selection has one bit for each pointer")
        var names: [UInt8] = []
        var steps: [Step] = []
        var bounds = [0]
        self.pointers = pointers.enumerated().reduce(0) { $0 | ($1.element == nil ? 0 : 1 << UInt8($1.offset)) }
        for pointer in pointers {
            for token in pointer?.tokens ?? [] {
                steps.append(Step(offset: names.count, length: token.count, index: JSONPointer.index(token)))
                names += token
            }
            bounds.append(steps.count)
        }
        self.names = Self.memory(names)
        self.steps = Self.memory(steps)
        self.bounds = Self.memory(bounds)
        self.firsts = firsts.contains(.number) ? firsts : firsts.subtracting(.lenient)
    }

    deinit {
        names.deallocate()
        steps.deallocate()
        bounds.deallocate()
    }

    private static func memory<Element>(_ elements: [Element]) -> UnsafeMutableBufferPointer<Element> {
        let memory = UnsafeMutableBufferPointer<Element>.allocate(capacity: elements.count)
        _ = memory.initialize(fromContentsOf: elements)
        return memory
    }

    /// Validates and minifies a document, and searches for the selected values.
    ///
    /// - Parameters:
    ///   - output: room for `input.count` bytes, not overlapping the input; nil to leave white space in place.
    ///   - found: nil to search for nothing.
    /// - Returns: the number of bytes of the minified document.
    /// - Throws: the first fault; the bytes written and values found until then are meaningless.
    @inline(__always)
    package func read(
        _ input: UnsafeBufferPointer<UInt8>, into output: UnsafeMutablePointer<UInt8>? = nil, _ found: Found? = nil
    ) throws(JSONFault) -> Int {
        var scanner = JSONScanner(input, output: output)
        try scanner.begin()
        if let found { try value(of: &scanner, found) } else { try scanner.value() }
        return try scanner.end()
    }

    /// Searches for the selected values in the value at the scanner's cursor.
    func value(of scanner: inout JSONScanner, _ found: Found) throws(JSONFault) {
        scanner.wanted = firsts
        found.reset()
        try value(&scanner, found.places, pointers, 0)
        found.foundFlaws.pointee = scanner.flaws
        if let number = scanner.firstNumber { found.number.pointee = number }
        if let string = scanner.firstString {
            found.places[Self.mostPointers].start = string.lowerBound
            found.places[Self.mostPointers].end = string.upperBound
        }
    }

    /// Moves past a value that the first `depth` steps of these pointers lead to.
    private func value(
        _ scanner: inout JSONScanner, _ places: UnsafeMutablePointer<Found.Place>, _ pointers: UInt8, _ depth: Int
    ) throws(JSONFault) {
        let start = scanner.place
        var ending: UInt8 = 0
        Self.forEach(pointers) { pointer in
            places[pointer].start = start
            places[pointer].depth = depth
            if bounds[pointer + 1] - bounds[pointer] == depth { ending |= 1 << UInt8(pointer) }
        }
        if ending != pointers, let isObject = try scanner.enter() {
            try inside(&scanner, places, pointers & ~ending, depth, isObject)
        } else {
            try scanner.value()
        }
        Self.forEach(ending) { places[$0].end = scanner.place }
    }

    /// Moves past the contents of an object or array, from just after its brace or bracket.
    private func inside(
        _ scanner: inout JSONScanner, _ places: UnsafeMutablePointer<Found.Place>, _ pointers: UInt8, _ depth: Int,
        _ isObject: Bool
    ) throws(JSONFault) {
        // Only the first of duplicate keys counts, so a pointer whose key has been seen is done.
        var left = pointers
        var index = 0
        while try scanner.step(isFirst: index == 0) {
            let matching =
                !isObject
                ? matching(left, index, depth)
                : scanner.isNamePlain ? matching(left, scanner.name, depth) : matchingAny(left, scanner.name, depth)
            index += 1
            guard matching != 0 else {
                try scanner.value()
                continue
            }
            left &= ~matching
            try value(&scanner, places, matching, depth + 1)
            if left == 0 { return try scanner.rest() }
        }
        Self.forEach(left) { places[$0].elements = index }
    }

    @inline(__always)
    private static func forEach(_ pointers: UInt8, _ body: (Int) -> Void) {
        var rest = pointers
        while rest != 0 {
            body(rest.trailingZeroBitCount)
            rest &= rest &- 1
        }
    }

    /// The pointers whose next step is this key.
    @inline(__always)
    private func matching(_ pointers: UInt8, _ key: UnsafeBufferPointer<UInt8>, _ depth: Int) -> UInt8 {
        var matching: UInt8 = 0
        Self.forEach(pointers) { pointer in
            let step = steps[bounds[pointer] + depth]
            guard step.length == key.count else { return }
            for index in 0..<key.count where names[step.offset + index] != key[index] { return }
            matching |= 1 << UInt8(pointer)
        }
        return matching
    }

    @inline(never)
    private func matchingAny(_ pointers: UInt8, _ key: UnsafeBufferPointer<UInt8>, _ depth: Int) -> UInt8 {
        JSONText.unescape(Bytes(key)).withUnsafeBufferPointer { matching(pointers, $0, depth) }
    }

    /// The pointers whose next step is this index.
    @inline(__always)
    private func matching(_ pointers: UInt8, _ index: Int, _ depth: Int) -> UInt8 {
        var matching: UInt8 = 0
        Self.forEach(pointers) { pointer in
            if steps[bounds[pointer] + depth].index == index { matching |= 1 << UInt8(pointer) }
        }
        return matching
    }
}
