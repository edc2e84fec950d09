/// Turns the bytes of a terminal into keys: a state machine that neither reads nor uses a clock.
///
/// Unknown sequences and reports of the terminal (CSI, OSC, DCS, APC, PM, SOS) are skipped. The parser holds at most
/// `longestPaste` bytes. Only time tells whether an ESC was the key or the start of a sequence: while `isWaiting`, the
/// caller must call `timeout` when nothing has come for 25 ms.
package struct KeyParser: Sendable {
    /// The most bytes of a paste that are kept; the rest is dropped.
    package static let longestPaste = 4_096
    private static let longestSequence = 64
    private static let longestReport = 4_096

    private enum State: Sendable, Equatable {
        case ground
        case escape
        /// CSI: `held` has the parameters.
        case control
        /// SS3: one byte follows.
        case single
        /// CSI M of the old mouse protocol: this many bytes follow.
        case oldMouse(Int)
        /// Until ST or BEL; this many bytes were skipped.
        case report(Int, afterEscape: Bool)
        /// `held` has the start of a character, which needs this many more bytes.
        case character(Int)
        case paste
    }

    private var state = State.ground
    private var held: [UInt8] = []
    /// The number of bytes of the end-of-paste mark that came last.
    private var matched = 0

    package init() {}

    /// Whether the meaning of the bytes so far depends on what comes next, or on nothing coming.
    package var isWaiting: Bool { state != .ground && state != .paste }

    /// Returns the keys in `bytes`, including those begun by earlier bytes.
    package mutating func parse(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes { parse(byte, &keys) }
        return keys
    }

    /// Returns the keys of an unfinished sequence, after nothing has come for 25 ms.
    package mutating func timeout() -> [Key] {
        guard isWaiting else { return [] }
        defer { reset() }
        switch state {
        case .escape: return [.escape]
        // Two keys that were pressed quickly.
        case .control where held.isEmpty: return [.escape, .character("[")]
        case .single: return [.escape, .character("O")]
        default: return []
        }
    }

    private mutating func reset() {
        state = .ground
        held.removeAll(keepingCapacity: true)
        matched = 0
    }

    private mutating func parse(_ byte: UInt8, _ keys: inout [Key]) {
        switch state {
        case .ground: begin(byte, &keys)
        case .escape: escape(byte, &keys)
        case .control: control(byte, &keys)
        case .single: single(byte, &keys)
        case .oldMouse(let left): state = left > 1 ? .oldMouse(left - 1) : .ground
        case .report(let length, let afterEscape): report(byte, length, afterEscape, &keys)
        case .character(let missing): character(byte, missing, &keys)
        case .paste: paste(byte, &keys)
        }
    }

    private mutating func begin(_ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case 0x1B: state = .escape
        case 0x0D, 0x0A: keys.append(.enter)
        case 0x09: keys.append(.tab)
        case 0x08, 0x7F: keys.append(.backspace)
        case 0x01...0x1A: keys.append(.control(Unicode.Scalar(byte + 0x60)))
        case 0x00, 0x1C...0x1F: break
        case 0x20...0x7E: keys.append(.character(Unicode.Scalar(byte)))
        case 0xC2...0xF4:
            held = [byte]
            state = .character(byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3)
        default: break
        }
    }

    private mutating func character(_ byte: UInt8, _ missing: Int, _ keys: inout [Key]) {
        guard byte & 0xC0 == 0x80 else {
            // The character is incomplete: this byte begins something else.
            reset()
            return begin(byte, &keys)
        }
        held.append(byte)
        guard missing == 1 else {
            state = .character(missing - 1)
            return
        }
        let text = String(validating: held, as: UTF8.self)
        reset()
        // C1 controls are not keys.
        if let scalar = text?.unicodeScalars.first, scalar.value >= 0xA0 { keys.append(.character(scalar)) }
    }

    private mutating func escape(_ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case UInt8(ascii: "["): state = .control
        case UInt8(ascii: "O"): state = .single
        case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "_"), UInt8(ascii: "^"), UInt8(ascii: "X"):
            state = .report(0, afterEscape: false)
        case 0x1B: keys.append(.escape)
        default:
            // Two keys at once, or Alt, which is not used.
            state = .ground
            keys.append(.escape)
            begin(byte, &keys)
        }
    }

    private mutating func single(_ byte: UInt8, _ keys: inout [Key]) {
        reset()
        switch byte {
        case 0x1B: state = .escape
        case UInt8(ascii: "P")...UInt8(ascii: "S"): keys.append(.function(Int(byte - UInt8(ascii: "O"))))
        case UInt8(ascii: "M"): keys.append(.enter)
        default: if let key = Self.cursorKey(byte) { keys.append(key) }
        }
    }

    private mutating func report(_ byte: UInt8, _ length: Int, _ afterEscape: Bool, _ keys: inout [Key]) {
        switch byte {
        case 0x07, 0x18, 0x1A: reset()
        case UInt8(ascii: "\\") where afterEscape: reset()
        case 0x1B: state = .report(length + 1, afterEscape: true)
        case _ where afterEscape:
            // The report was aborted.
            state = .escape
            escape(byte, &keys)
        case _ where length >= Self.longestReport: reset()
        default: state = .report(length + 1, afterEscape: false)
        }
    }

    private mutating func control(_ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case 0x20...0x3F:
            held.append(byte)
            // Longer than anything a terminal sends.
            if held.count > Self.longestSequence { reset() }
        case 0x40...0x7E:
            let parameters = held
            reset()
            finish(byte, parameters, &keys)
        case 0x1B:
            reset()
            state = .escape
        default:
            reset()
        }
    }

    private mutating func finish(_ final: UInt8, _ held: [UInt8], _ keys: inout [Key]) {
        if held.first == UInt8(ascii: "<") {
            if let mouse = Self.mouse(final, held.dropFirst()) { keys.append(.mouse(mouse)) }
            return
        }
        guard held.allSatisfy({ $0 == UInt8(ascii: ";") || 0x30...0x39 ~= $0 }) else { return }
        let numbers = Self.numbers(held[...])
        switch final {
        case UInt8(ascii: "M") where held.isEmpty: state = .oldMouse(3)
        case UInt8(ascii: "Z"): keys.append(.backTab)
        case UInt8(ascii: "~"):
            if numbers.first == 200 {
                state = .paste
            } else if let key = Self.numberedKey(numbers.first ?? 0) {
                keys.append(key)
            }
        default: if let key = Self.cursorKey(final) { keys.append(key) }
        }
    }

    // MARK: Paste

    private static let pasteEnd: [UInt8] = [0x1B] + "[201~".utf8

    private mutating func paste(_ byte: UInt8, _ keys: inout [Key]) {
        // Ctrl-C always works, even if the end of the paste was lost.
        if byte == 0x03 {
            reset()
            keys.append(.control("c"))
            return
        }
        if byte == Self.pasteEnd[matched] {
            matched += 1
            if matched == Self.pasteEnd.count {
                let text = String(decoding: held, as: UTF8.self)
                reset()
                keys.append(.paste(text))
            }
            return
        }
        keep(Self.pasteEnd[..<matched])
        // The mark's first byte does not occur in the rest of it.
        matched = byte == Self.pasteEnd[0] ? 1 : 0
        if matched == 0 { keep([byte]) }
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        held += bytes.prefix(Self.longestPaste - held.count)
    }

    // MARK: Tables

    /// The key for the last byte of CSI and SS3 sequences (xterm's control sequences, "PC-Style Function Keys").
    private static func cursorKey(_ final: UInt8) -> Key? {
        switch final {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "P")...UInt8(ascii: "S") where final != UInt8(ascii: "R"):
            .function(Int(final - UInt8(ascii: "O")))
        default: nil
        }
    }

    /// The key for the number in `CSI number ~`.
    private static func numberedKey(_ number: Int) -> Key? {
        switch number {
        case 1, 7: .home
        case 2: .insert
        case 3: .delete
        case 4, 8: .end
        case 5: .pageUp
        case 6: .pageDown
        case 11...15: .function(number - 10)
        case 17...21: .function(number - 11)
        case 23...26: .function(number - 12)
        case 28, 29: .function(number - 13)
        case 31...34: .function(number - 14)
        default: nil
        }
    }

    /// A mouse report in SGR form: button, column and row, from 1; `M` for a press and `m` for a release.
    private static func mouse(_ final: UInt8, _ parameters: ArraySlice<UInt8>) -> Key.Mouse? {
        let numbers = numbers(parameters)
        guard final == UInt8(ascii: "M"), numbers.count == 3, numbers[1] > 0, numbers[2] > 0 else { return nil }
        let kind: Key.Mouse.Kind
        switch numbers[0] & ~0b1_1100 {
        case 0: kind = .press
        case 64: kind = .wheelUp
        case 65: kind = .wheelDown
        default: return nil
        }
        return Key.Mouse(kind: kind, column: numbers[1] - 1, row: numbers[2] - 1)
    }

    /// Numbers between semicolons, each limited to 65,535; 0 for an empty one.
    private static func numbers(_ bytes: ArraySlice<UInt8>) -> [Int] {
        guard !bytes.isEmpty else { return [] }
        return bytes.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map { digits in
            digits.reduce(0) { min($0 * 10 + Int($1 & 0x0F), 65_535) }
        }
    }
}
