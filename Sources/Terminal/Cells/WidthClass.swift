/// How many columns a code point takes on a terminal, by Unicode's data: the general category and, for characters that
/// are not emoji, the East Asian width (UAX #11).
enum WidthClass {
    /// No column of its own: it combines with the character before it.
    case none
    /// Also for what is ambiguous.
    case one
    case two
    /// One column by Unicode, but terminals differ.
    case uncertain

    /// - Parameter scalar: not a control character.
    init(_ scalar: Unicode.Scalar) {
        let properties = scalar.properties
        switch scalar.value {
        case ..<0x300: self = .one
        case 0x1160...0x11FF, 0xD7B0...0xD7FF: self = .none  // vowels and finals of Hangul
        case 0x1F1E6...0x1F1FF: self = .one  // halves of flags
        // Signs that stand before what they mark.
        case 0x600...0x605, 0x6DD, 0x70F, 0x890...0x891, 0x8E2, 0x110BD, 0x110CD: self = .one
        default:
            switch properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format: self = .none
            // Newer emoji than the library knows are among these.
            case .unassigned where 0x1F900...0x1FAFF ~= scalar.value: self = .two
            case .privateUse, .surrogate, .unassigned: self = .uncertain
            case _ where Self.isWide(scalar.value) || properties.isEmojiPresentation: self = .two
            case .spacingMark: self = .uncertain
            default: self = .one
            }
        }
    }

    /// Whether an assigned code point other than an emoji is wide or full-width.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4E00...0xA4C6,
            0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
            0x16FE0...0x1B2FB, 0x1F200...0x1F265, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
