/// Places in a document that are wanted together: found in one pass, which goes no further than the last of them.
///
/// Of duplicate keys the first one counts, as everywhere. It is for documents that were validated and minified, of less
/// than 4 GiB: in longer ones it finds nothing.
///
/// A class with plain memory, because it is asked for every line of a bulk input: arrays would be retained each time.
package final class JSONSelection: @unchecked Sendable {  // never changes
    /// How many pointers there may be.
    package static let mostPointers = 6

    /// Which values are wanted besides those that pointers lead to.
    package struct Firsts: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The first number in the document's order that a double can hold.
        package static let number = Firsts(rawValue: 1 << 6)
        /// The first string that is a value and not a key.
        package static let string = Firsts(rawValue: 1 << 7)
    }

    /// What was found.
    package struct Found: Sendable {
        /// Where each pointer's value begins, in the upper half, and ends; all ones when it leads nowhere. The last one is
        /// the first string's.
        private var ranges = InlineArray<8, UInt64>(repeating: .max)
        /// The first number, when it is wanted and there is one.
        package fileprivate(set) var firstNumber: Double?

        package init() {}

        /// Where the value lies that the pointer with this index leads to; nil when there is none.
        package subscript(pointer: Int) -> Range<Int>? {
            let range = ranges[pointer]
            guard range != .max else { return nil }
            // Never the wrong way round: `note` was given a range.
            return Range(uncheckedBounds: (Int(range >> 32), Int(range & 0xFFFF_FFFF)))
        }

        /// What is between the quotes of the first string, when it is wanted and there is one.
        package var firstString: Range<Int>? { self[7] }

        @inline(__always)
        fileprivate mutating func note(_ slot: Int, _ range: Range<Int>) {
            ranges[slot] = UInt64(range.lowerBound) << 32 | UInt64(range.upperBound)
        }
    }

    private let names: UnsafeMutableBufferPointer<UInt8>
    private let steps: UnsafeMutableBufferPointer<JSONPointer.Step>
    /// Where the steps of a pointer begin, and those of the next one.
    private let bounds: UnsafeMutableBufferPointer<Int>
    private let wanted: UInt8
    /// Whether a string that holds a number counts as a first number.
    private let isLenient: Bool

    /// - Parameters:
    ///   - pointers: at most `mostPointers`.
    ///   - isLenient: whether a string that holds a number counts as the first number, see `JSONNumber.lenient`.
    package init(_ pointers: [JSONPointer], firsts: Firsts = [], isLenient: Bool = false) {
        precondition(pointers.count <= Self.mostPointers, "a selection has one bit for each pointer")
        var names: [UInt8] = []
        var steps: [JSONPointer.Step] = []
        var bounds = [0]
        for pointer in pointers {
            for var step in pointer.steps {
                step.offset += names.count
                steps.append(step)
            }
            names += pointer.bytes
            bounds.append(steps.count)
        }
        self.names = Self.memory(names)
        self.steps = Self.memory(steps)
        self.bounds = Self.memory(bounds)
        self.isLenient = isLenient
        wanted = UInt8((1 << pointers.count) - 1) | firsts.rawValue
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

    /// Looks for all of it in a valid, minified document.
    package func find(in document: UnsafeBufferPointer<UInt8>) -> Found {
        var found = Found()
        find(in: document, &found)
        return found
    }

    /// The same without moving the result about; `found` is as it was made.
    package func find(in document: UnsafeBufferPointer<UInt8>, _ found: inout Found) {
        guard document.count < UInt32.max else { return }
        withUnsafeMutablePointer(to: &found) { found in
            var walk = Walk(
                names: UnsafeBufferPointer(names), steps: UnsafeBufferPointer(steps),
                bounds: UnsafeBufferPointer(bounds), isLenient: isLenient, found: found, cursor: JSONCursor(document),
                open: wanted)
            walk.value(wanted & ~Walk.firsts, 0)
        }
    }
}

extension JSONSelection {
    /// The pass itself. A set of pointers is a byte, a bit for each.
    private struct Walk {
        static let firsts: UInt8 = 0b1100_0000

        let names: UnsafeBufferPointer<UInt8>
        let steps: UnsafeBufferPointer<JSONPointer.Step>
        let bounds: UnsafeBufferPointer<Int>
        let isLenient: Bool
        let found: UnsafeMutablePointer<Found>
        var cursor: JSONCursor
        /// What has not been found yet; once it is nothing the cursor's place means nothing either.
        var open: UInt8

        /// A value to which the first `depth` steps of these pointers lead.
        mutating func value(_ pointers: UInt8, _ depth: Int) {
            let start = cursor.position
            let ending = ending(pointers, depth)
            let deeper = pointers & ~ending
            switch cursor.byte ?? 0 {
            case UInt8(ascii: "\""): string()
            case UInt8(ascii: "{"):
                if isWorthEntering(deeper, depth) { object(deeper, depth) } else { cursor.container() }
            case UInt8(ascii: "["):
                if isWorthEntering(deeper, depth) { array(deeper, depth) } else { cursor.container() }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): number()
            default: cursor.scalar()
            }
            guard ending != 0 else { return }
            open &= ~ending
            var rest = ending
            while rest != 0 {
                found.pointee.note(rest.trailingZeroBitCount, start..<cursor.position)
                rest &= rest &- 1
            }
        }

        /// Text that was validated is never deeper; other text must not exhaust the stack.
        @inline(__always)
        private func isWorthEntering(_ pointers: UInt8, _ depth: Int) -> Bool {
            (pointers | open & Self.firsts) != 0 && depth <= JSONScanner.maximumDepth
        }

        /// Which of the pointers lead no further.
        @inline(__always)
        private func ending(_ pointers: UInt8, _ depth: Int) -> UInt8 {
            var ending: UInt8 = 0
            var rest = pointers
            while rest != 0 {
                let pointer = rest.trailingZeroBitCount
                if bounds[pointer + 1] - bounds[pointer] == depth { ending |= 1 << UInt8(pointer) }
                rest &= rest &- 1
            }
            return ending
        }

        private mutating func object(_ pointers: UInt8, _ depth: Int) {
            cursor.position += 1
            // Only the first of duplicate keys counts, so a pointer whose key was here is gone.
            var left = pointers
            while cursor.byte == UInt8(ascii: "\"") {
                var isEscaped = false
                let key = cursor.string(&isEscaped)
                _ = cursor.take(UInt8(ascii: ":"))
                let matching = left == 0 ? 0 : matching(left, key, isEscaped, depth)
                left &= ~matching
                if matching | open & Self.firsts == 0 {
                    _ = cursor.value()
                } else {
                    value(matching, depth + 1)
                    if open == 0 { return }
                }
                guard cursor.take(UInt8(ascii: ",")) else { break }
            }
            _ = cursor.take(UInt8(ascii: "}"))
        }

        private mutating func array(_ pointers: UInt8, _ depth: Int) {
            cursor.position += 1
            var index = 0
            while let byte = cursor.byte, byte != UInt8(ascii: "]") {
                let matching = matching(pointers, index, depth)
                if matching | open & Self.firsts == 0 {
                    _ = cursor.value()
                } else {
                    value(matching, depth + 1)
                    if open == 0 { return }
                }
                index += 1
                guard cursor.take(UInt8(ascii: ",")) else { break }
            }
            _ = cursor.take(UInt8(ascii: "]"))
        }

        /// Which of the pointers ask for this key next.
        @inline(__always)
        private func matching(_ pointers: UInt8, _ key: Range<Int>, _ isEscaped: Bool, _ depth: Int) -> UInt8 {
            let key = UnsafeBufferPointer(rebasing: cursor.bytes[key])
            if isEscaped { return matchingEscaped(pointers, key, depth) }
            var matching: UInt8 = 0
            var rest = pointers
            while rest != 0 {
                let pointer = rest.trailingZeroBitCount
                if isStep(pointer, depth, key) { matching |= 1 << UInt8(pointer) }
                rest &= rest &- 1
            }
            return matching
        }

        @inline(never)
        private func matchingEscaped(_ pointers: UInt8, _ key: UnsafeBufferPointer<UInt8>, _ depth: Int) -> UInt8 {
            JSONText.unescape(Bytes(key)).withUnsafeBufferPointer { key in
                var matching: UInt8 = 0
                for pointer in 0..<mostPointers where pointers & 1 << UInt8(pointer) != 0 {
                    if isStep(pointer, depth, key) { matching |= 1 << UInt8(pointer) }
                }
                return matching
            }
        }

        @inline(__always)
        private func isStep(_ pointer: Int, _ depth: Int, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
            let step = steps[bounds[pointer] + depth]
            guard step.length == key.count else { return false }
            for index in 0..<key.count where names[step.offset + index] != key[index] { return false }
            return true
        }

        /// Which of the pointers ask for this index next.
        @inline(__always)
        private func matching(_ pointers: UInt8, _ index: Int, _ depth: Int) -> UInt8 {
            var matching: UInt8 = 0
            var rest = pointers
            while rest != 0 {
                let pointer = rest.trailingZeroBitCount
                if steps[bounds[pointer] + depth].index == index { matching |= 1 << UInt8(pointer) }
                rest &= rest &- 1
            }
            return matching
        }

        @inline(__always)
        private mutating func string() {
            let body = cursor.string()
            if open & Firsts.string.rawValue != 0 {
                found.pointee.note(7, body)
                open &= ~Firsts.string.rawValue
            }
            guard isLenient, open & Firsts.number.rawValue != 0 else { return }
            note(JSONNumber.lenient(UnsafeBufferPointer(rebasing: cursor.bytes[body])))
        }

        @inline(__always)
        private mutating func number() {
            let start = cursor.position
            cursor.scalar()
            guard open & Firsts.number.rawValue != 0 else { return }
            note(JSONNumber.double(UnsafeBufferPointer(rebasing: cursor.bytes[start..<cursor.position])))
        }

        private mutating func note(_ number: Double?) {
            guard let number else { return }
            found.pointee.firstNumber = number
            open &= ~Firsts.number.rawValue
        }
    }
}
