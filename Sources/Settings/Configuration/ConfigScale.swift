internal import Feed

/// A scale of bands as a configuration defines it.
struct ConfigScale: Sendable, Equatable {
    var scale: BandScale
    /// The unit for sources that name none of their own.
    var unit: String?

    var tree: JSONTree {
        let bands = scale.bands.map { band in
            JSONTree.object(
                [
                    .init(Key.name, .string(band.name)), .init(Key.letter, .string(String(band.letter))),
                    .init(Key.color, .string(band.color.hex)),
                ] + (band.upTo.map { [.init(Key.end, .number($0))] } ?? []))
        }
        return .object(
            (unit.map { [.init(Key.unit, .string($0))] } ?? []) + [
                .init(Key.higherIsBetter, .boolean(scale.higherIsBetter)), .init(Key.bands, .array(bands)),
            ])
    }

    /// The keys of a scale and of a band.
    enum Key {
        static let unit = SettingTable.rows.unit.name
        static let higherIsBetter = "higher_is_better"
        static let bands = SettingTable.rows.bands.name
        static let name = SettingTable.rows.name.name
        static let letter = "letter"
        static let color = "color"
        static let end = "up_to"
    }

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
        let scale = BandScale(
            bands.compactMap { band in
                Band.Color(hex: band.color).map {
                    Band(name: band.name, letter: band.letter, color: $0, upTo: band.end)
                }
            }, higherIsBetter: false)
        return scale.map { ["cpcb": ConfigScale(scale: $0, unit: "AQI")] } ?? [:]
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
