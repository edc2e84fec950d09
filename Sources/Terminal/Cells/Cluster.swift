internal import Feed

/// A character in its safe form for a terminal, and its width, as far as it can be known.
package struct Cluster: Equatable, Sendable {
    /// The code points to write, without any that would control the terminal or be invisible.
    package var text: String
    /// The number of columns: 1 or 2; more for a visible form like `\u{202e}`, which is narrow ASCII.
    package var columns: Int
    /// Whether terminals differ on the number of columns.
    package var isDoubtful = false

    /// The most bytes of a cluster; further marks are dropped.
    package static let longest = 32

    /// Converts `character` to its safe form.
    package init(_ character: Character) {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else {
            self.init(text: " ", columns: 1)
            return
        }
        if scalars.index(after: scalars.startIndex) == scalars.endIndex {
            self.init(alone: first)
        } else {
            self.init(together: character)
        }
    }

    private init(text: String, columns: Int, isDoubtful: Bool = false) {
        self.text = text
        self.columns = columns
        self.isDoubtful = isDoubtful
    }

    private init(alone scalar: Unicode.Scalar) {
        if Sanitizer.isHidden(scalar) {
            self.init(visible: String(Character(scalar)))
            return
        }
        switch WidthClass(scalar) {
        // A mark without a letter gets Unicode's dotted circle, or it would change the character before it.
        case .none: self.init(text: "\u{25CC}" + String(Character(scalar)), columns: 1, isDoubtful: true)
        case .one: self.init(text: String(Character(scalar)), columns: 1)
        case .two: self.init(text: String(Character(scalar)), columns: 2)
        case .uncertain: self.init(text: String(Character(scalar)), columns: 1, isDoubtful: true)
        }
    }

    private init(visible text: String) {
        let visible = Sanitizer.visible(text)
        var columns = 0
        // Pictures of controls and ASCII take one column each; the width of other scalars is looked up.
        for scalar in visible.unicodeScalars { columns += WidthClass(scalar) == .two ? 2 : 1 }
        self.init(text: visible, columns: columns)
    }

    private init(together character: Character) {
        let scalars = Array(character.unicodeScalars)
        var columns = 0
        var bases = 0
        var bytes = 0
        var isSequence = false
        var isDoubtful = false
        var kept = String.UnicodeScalarView()
        for (index, scalar) in scalars.enumerated() {
            let next = index + 1 < scalars.count ? scalars[index + 1] : nil
            let joins = scalar.value == 0x200D && index > 0 && next.map(Self.isPictograph) == true
            if !joins, Sanitizer.isHidden(scalar) {
                self.init(visible: String(character))
                return
            }
            bytes += UTF8.width(scalar)
            guard bytes <= Self.longest else { break }
            kept.append(scalar)
            switch scalar.value {
            case 0x200D, 0xFE0F, 0x1F3FB...0x1F3FF, 0x20E3: isSequence = isSequence || index > 0
            case 0x1F1E6...0x1F1FF: isSequence = true
            default: break
            }
            if scalar.value == 0xFE0E { isDoubtful = true }
            switch WidthClass(scalar) {
            case .none: break
            case .one:
                columns += 1
                bases += 1
            case .two:
                columns += 2
                bases += 1
            case .uncertain:
                columns += 1
                isDoubtful = true
            }
        }
        if isSequence {
            self.init(text: String(kept), columns: 2, isDoubtful: true)
        } else if columns == 0 {
            self.init(text: "\u{25CC}" + String(kept), columns: 1, isDoubtful: true)
        } else {
            self.init(text: String(kept), columns: min(columns, 2), isDoubtful: isDoubtful || bases > 1)
        }
    }

    private static func isPictograph(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value > 0xFF && scalar.properties.isEmoji
    }
}

extension String {
    /// The number of columns of the text on a terminal, in its visible form.
    package var columns: Int {
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return utf8.count }
        return reduce(0) { $0 + Cluster($1).columns }
    }
}
