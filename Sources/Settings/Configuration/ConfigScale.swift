internal import Feed

/// A scale of bands as a configuration defines it.
struct ConfigScale: Sendable, Equatable {
    /// The unit for sources that name none of their own.
    var unit: String?
    var higherIsBetter = false
    var bands: [Band] = []

    /// The scale for a source's values; nil when the bands do not cover every number.
    var scale: BandScale? { BandScale(bands, higherIsBetter: higherIsBetter) }

    var tree: JSONTree { ObjectKey.tree(of: self, Self.keys) }

    init(unit: String? = nil, bands: [Band] = []) { (self.unit, self.bands) = (unit, bands) }

    init(_ node: ConfigNode) throws(UsageError) {
        guard case .object = node.value else { throw node.wrong("the name of a scale or a scale") }
        self = try node.object(Self.keys, into: Self()) { scale, _ throws(UsageError) in
            guard scale.scale != nil else { throw UsageError("its bands do not cover every number") }
            return scale
        }
    }

    static let keys: [ObjectKey<ConfigScale>] = [
        .init(
            SettingTable.rows.unit.name, Types.text(limit: 32),
            "The unit of the values, for sources without one.", \.unit),
        .init(
            "higher_is_better", Types.flag, "Whether a higher band is an improvement; false without it.",
            \.higherIsBetter),
        .init(
            SettingTable.rows.bands.name,
            SettingType(.bands, tree: { .array($0.map { ObjectKey.tree(of: $0, bandKeys) }) }, read: bands),
            "1 to 32 bands, ascending; the last one has no end.", isNeeded: true, \.bands),
    ]

    private static let end = "up_to"
    static let bandKeys: [ObjectKey<Band>] = [
        .init(SettingTable.rows.name.name, name, "Its name; unique in the scale.", isNeeded: true, \.name),
        .init("letter", letter, "One character, where there is no colour.", isNeeded: true, \.letter),
        .init("color", color, "`#RRGGBB`.", isNeeded: true, \.color),
        .init(end, number, "The highest value in it; every band but the last has one.", \.upTo),
    ]

    private static let name = Types.text(limit: 32) { text in
        text.unicodeScalars.contains(where: Sanitizer.isHidden)
            ? "\(UsageError.quoted(text)) holds a character that cannot be seen" : nil
    }
    private static let letter = SettingType<Character>(
        .string(limit: 1),
        parse: { text throws(UsageError) in
            guard text.unicodeScalars.count == 1, let letter = text.first, let scalar = text.unicodeScalars.first,
                !Sanitizer.isHidden(scalar), !letter.isWhitespace, !needsOthers(scalar.properties.generalCategory)
            else { throw UsageError("\(UsageError.quoted(text)) is not one visible character") }
            return letter
        }, tree: { .string(String($0)) })
    /// Whether a character of this category shows nothing by itself: a combining mark, or one of private use.
    private static func needsOthers(_ category: Unicode.GeneralCategory) -> Bool {
        [.nonspacingMark, .spacingMark, .enclosingMark, .privateUse].contains(category)
    }

    private static let color = SettingType<Band.Color>(
        .color,
        parse: { text throws(UsageError) in
            guard let color = Band.Color(hex: text) else {
                throw UsageError("\(UsageError.quoted(text)) is no colour; write it like #00b050")
            }
            return color
        }, tree: { .string($0.hex) })
    private static let number = SettingType<Double>(.number, tree: JSONTree.number) {
        node throws(UsageError) in
        guard case .number(let text) = node.value else { throw node.wrong("a number") }
        guard let number = Double(text), number.isFinite else {
            throw UsageError("is no number that can be told from others")
        }
        return number
    }

    /// Reads bands that ascend.
    private static func bands(_ node: ConfigNode) throws(UsageError) -> [Band] {
        guard case .array(let elements) = node.value, !elements.isEmpty else {
            throw node.value == .array([])
                ? UsageError("is empty; a scale has a band at least") : node.wrong("an array")
        }
        var names: Set<String> = []
        var (count, highest) = (0, -Double.infinity)
        return try node.elements(atMost: mostBands) { node throws(UsageError) in
            count += 1
            let blank = Band(name: "", letter: " ", color: Band.Color(red: 0, green: 0, blue: 0), upTo: nil)
            return try node.object(bandKeys, into: blank) { band, _ throws(UsageError) in
                var issues = ConfigIssues()
                if !names.insert(band.name).inserted {
                    issues.add(node.mark, "there is a band \(UsageError.quoted(band.name)) already")
                }
                let place = ConfigMark(file: node.mark.file, at: node.mark.at, path: "\(node.mark.path).\(end)")
                switch (band.upTo, count == elements.count) {
                case (let upTo?, false) where upTo <= highest: issues.add(place, "is not above the band before it")
                case (let upTo?, false): highest = upTo
                case (nil, false): issues.add(node.mark, "needs up_to: only the last band has no end")
                case (_?, true): issues.add(place, "the last band has no end; leave it out")
                case (nil, true): break
                }
                try issues.check()
                return band
            }
        }
    }

    /// The scale of words that values may be, from good to bad, each a band of its index; nil without words.
    init?(states: [String]) {
        guard !states.isEmpty else { return nil }
        var letters: Set<Character> = []
        bands = states.indices.map { index in
            let letter = Self.letter(of: states[index], besides: letters)
            letters.insert(letter)
            let place = states.count == 1 ? 0 : Double(index) / Double(states.count - 1)
            return Band(
                name: states[index], letter: letter, color: Self.color(at: place),
                upTo: index == states.count - 1 ? nil : Double(index) + 0.5)
        }
    }

    /// A letter or digit that stands for a word: one of its own if possible, and none of these.
    private static func letter(of word: String, besides taken: Set<Character>) -> Character {
        let own = word.uppercased().filter { $0.unicodeScalars.count == 1 && ($0.isLetter || $0.isNumber) }
        let others = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz"
        return (own + others).first { !taken.contains($0) } ?? own.first ?? "?"
    }

    /// A colour between those of the built-in scale's first and last but one band, from green (0) to red (1).
    private static func color(at place: Double) -> Band.Color {
        let stops = colors.compactMap { Band.Color(hex: $0) }
        let position = place * Double(stops.count - 1)
        let index = min(Int(position), stops.count - 2)
        let (left, right, share) = (stops[index], stops[index + 1], position - Double(index))
        func between(_ part: KeyPath<Band.Color, UInt8>) -> UInt8 {
            let (from, to) = (Double(left[keyPath: part]), Double(right[keyPath: part]))
            return UInt8((from + (to - from) * share).rounded())
        }
        return Band.Color(red: between(\.red), green: between(\.green), blue: between(\.blue))
    }

    private static let colors = ["#00b050", "#92d050", "#ffff00", "#ff9900", "#ff0000"]

    /// The most bands of a scale.
    static let mostBands = 32

    /// The scales that need no definition.
    ///
    /// `cpcb`: India's National Air Quality Index. Names and upper bounds are those of the Central Pollution Control
    /// Board ("National Air Quality Index", CUPS/82/2014-15, 2014; https://cpcb.nic.in/National-Air-Quality-Index/);
    /// the colours follow its scheme, from green to dark red.
    static let builtIn: [String: ConfigScale] = {
        let bands: [(name: String, letter: Character, color: String, end: Double?)] = [
            ("good", "G", colors[0], 50), ("satisfactory", "S", colors[1], 100), ("moderate", "M", colors[2], 200),
            ("poor", "P", colors[3], 300), ("very poor", "V", colors[4], 400), ("severe", "X", "#c00000", nil),
        ]
        let scale = ConfigScale(
            unit: "AQI",
            bands: bands.compactMap { band in
                Band.Color(hex: band.color).map {
                    Band(name: band.name, letter: band.letter, color: $0, upTo: band.end)
                }
            })
        return ["cpcb": scale]
    }()
}

/// The `bands` key of a source: a scale, or the name of one.
enum ScaleReference: Sendable, Equatable {
    case own(ConfigScale)
    /// A built-in scale, or one of the configuration's top level.
    case named(String)

    init(_ node: ConfigNode) throws(UsageError) {
        if case .string = node.value {
            self = .named(try node.string(limit: 64))
        } else {
            self = .own(try ConfigScale(node))
        }
    }

    var tree: JSONTree {
        switch self {
        case .own(let scale): scale.tree
        case .named(let name): .string(name)
        }
    }
}
