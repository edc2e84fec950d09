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

    static let keys: [ObjectKey<ConfigScale>] = [
        .init(
            SettingTable.rows.unit.name, Types.text(limit: 32),
            "What the values are measured in, for sources that name no unit of their own.", \.unit),
        .init(
            "higher_is_better", Types.flag, "Whether a higher band is an improvement; false without it.",
            \.higherIsBetter),
        .init(
            SettingTable.rows.bands.name,
            SettingType(
                .scale, tree: { .array($0.map { ObjectKey.tree(of: $0, bandKeys) }) }, read: { $2.bands($0, $1) }),
            "1 to 32 bands, ascending; the last one has no end.", isNeeded: true, \.bands),
    ]

    fileprivate static let end = "up_to"
    static let bandKeys: [ObjectKey<Band>] = [
        .init(
            SettingTable.rows.name.name, name, "What it is called; unique in the scale.",
            isNeeded: true, \.name),
        .init(
            "letter", letter, "One character that stands for it where there is no colour.", isNeeded: true, \.letter),
        .init("color", color, "`#RRGGBB`.", isNeeded: true, \.color),
        .init(end, number, "The highest value in it; every band but the last has one.", \.upTo),
    ]

    private static let name = SettingType<String>(
        .string(limit: 32), limit: 32,
        parse: { text throws(UsageError) in
            guard !text.isEmpty else { throw UsageError("the text is empty") }
            guard !text.unicodeScalars.contains(where: Sanitizer.isHidden) else {
                throw UsageError("\(UsageError.quoted(text)) holds a character that cannot be seen")
            }
            return text
        }, tree: JSONTree.string)
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
        .string(limit: 7),
        parse: { text throws(UsageError) in
            guard let color = Band.Color(hex: text) else {
                throw UsageError("\(UsageError.quoted(text)) is no colour; write it like #00b050")
            }
            return color
        }, tree: { .string($0.hex) })
    private static let number = SettingType<Double>(.string(limit: 4_096), tree: JSONTree.number) {
        node, path, reader in
        guard case .number(let text) = node.value else { return reader.wrong(node, path, "a number") }
        if let number = Double(text), number.isFinite { return number }
        return reader.refuse(node, path, "is no number that can be told from others")
    }

    /// The most bands of a scale.
    static let mostBands = 32

    /// The scales that need no definition.
    ///
    /// `cpcb`: India's National Air Quality Index. Names and upper bounds are those of the Central Pollution Control
    /// Board ("National Air Quality Index", CUPS/82/2014-15, 2014; https://cpcb.nic.in/National-Air-Quality-Index/);
    /// the colours follow its scheme, from green to dark red.
    static let builtIn: [String: ConfigScale] = {
        let bands: [(name: String, letter: Character, color: String, end: Double?)] = [
            ("good", "G", "#00b050", 50), ("satisfactory", "S", "#92d050", 100), ("moderate", "M", "#ffff00", 200),
            ("poor", "P", "#ff9900", 300), ("very poor", "V", "#ff0000", 400), ("severe", "X", "#c00000", nil),
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

    var tree: JSONTree {
        switch self {
        case .own(let scale): scale.tree
        case .named(let name): .string(name)
        }
    }
}

extension ConfigReader {
    mutating func scaleOrName(_ node: JSONTree, _ path: String) -> ScaleReference? {
        if case .string = node.value { return string(node, path, limit: 64).map(ScaleReference.named) }
        return scale(node, path).map(ScaleReference.own)
    }

    mutating func scale(_ node: JSONTree, _ path: String) -> ConfigScale? {
        guard case .object = node.value else { return wrong(node, path, "the name of a scale or a scale") }
        var scale = ConfigScale()
        guard object(node, path, ConfigScale.keys, into: &scale)?.isWhole == true else { return nil }
        return scale.scale == nil ? refuse(node, path, "its bands do not cover every number") : scale
    }

    /// Returns nil and adds issues when an element is not a band or the bands do not ascend.
    fileprivate mutating func bands(_ node: JSONTree, _ path: String) -> [Band]? {
        guard let elements = elements(node, path, atMost: ConfigScale.mostBands) else { return nil }
        let before = issues.count
        if elements.isEmpty { issues.add(node.position, path, "is empty; a scale has a band at least") }
        var bands: [Band] = []
        var names: Set<String> = []
        var highest = -Double.infinity
        for (index, (element, path)) in elements.enumerated() {
            var band = Band(name: "", letter: " ", color: Band.Color(red: 0, green: 0, blue: 0), upTo: nil)
            guard object(element, path, ConfigScale.bandKeys, into: &band)?.isWhole == true else { continue }
            if !names.insert(band.name).inserted {
                issues.add(element.position, path, "there is a band \(UsageError.quoted(band.name)) already")
            }
            let endPath = Self.path(path, ConfigScale.end)
            switch (band.upTo, index == elements.count - 1) {
            case (let end?, false) where end <= highest:
                issues.add(element.position, endPath, "is not above the band before it")
            case (let end?, false): highest = end
            case (nil, false): issues.add(element.position, path, "needs up_to: only the last band has no end")
            case (_?, true): issues.add(element.position, endPath, "the last band has no end; leave it out")
            case (nil, true): break
            }
            bands.append(band)
        }
        return issues.count == before ? bands : nil
    }
}
