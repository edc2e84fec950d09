/// The presets: feeds with known settings.
package enum Preset: String, Sendable, CaseIterable {
    case fact, facts, breeds, dogs, aqi, fibonacci
    /// Each of the other presets.
    case all

    /// The presets that stand for one feed.
    package static let single = allCases.filter { $0 != .all }

    /// The preset's settings for its source, as the command line would write them; nil for null. The name is only a
    /// default.
    private var texts: [(setting: any Setting, text: String?)] {
        let rows = SettingTable.rows
        switch self {
        case .fact:
            return [
                (rows.name, "fact"), (rows.url, "https://catfact.ninja/fact"), (rows.every, "2s"),
                (rows.value, "/length"), (rows.text, "/fact"),
            ]
        case .facts:
            return listing("facts", type: "fact") + [(rows.value, "/length"), (rows.text, "/fact")]
        case .breeds:
            return listing("breeds", type: "breed") + [
                (rows.key, "/breed"), (rows.value, nil), (rows.text, "/country"),
            ]
        case .dogs:
            return [
                (rows.name, "dogs"), (rows.type, "dog"), (rows.every, "30s"),
                (rows.url, "https://api.thedogapi.com/v1/images/search?limit=10&has_breeds=true"),
                // By position, so that ten rows are refreshed and not ever more dogs added.
                (rows.items, ""), (rows.key, "#"), (rows.value, nil), (rows.text, "/breeds/0/name"),
            ]
        case .aqi:
            return [
                (rows.name, "aqi"), (rows.kind, "websocket"), (rows.type, "aqi"), (rows.bands, "cpcb"),
                (rows.items, ""), (rows.key, "/city"), (rows.value, "/aqi"), (rows.text, nil),
            ]
        case .fibonacci:
            return [
                (rows.name, "fibonacci"), (rows.kind, "fibonacci"), (rows.type, "fibonacci"), (rows.unit, "ms"),
                (rows.n, "10000"), (rows.every, "10s"),
            ]
        case .all: return []
        }
    }

    private func listing(_ name: String, type: String) -> [(setting: any Setting, text: String?)] {
        let rows = SettingTable.rows
        return [
            (rows.name, name), (rows.kind, "pages"), (rows.type, type), (rows.url, "https://catfact.ninja/\(name)"),
            (rows.every, "10m"), (rows.batch, "30"), (rows.items, "/data"), (rows.next, "/next_page_url"),
            (rows.total, "/total"),
        ]
    }

    /// The settings, parsed; a test proves that each of them parses.
    var values: SettingValues { Self.values[self] ?? SettingValues() }

    private static let values: [Self: SettingValues] = allCases.reduce(into: [:]) { all, preset in
        var values = SettingValues()
        for (setting, text) in preset.texts {
            try? setting.parse(text, into: &values, from: .preset(preset))
        }
        if preset == .dogs {
            let key = Secret.environment("DOG_API_KEY", optional: true)
            values.set(\.headers, [SecretHeader(name: "x-api-key", value: .secret(key))], from: .preset(preset))
            values.set(\.pictures, ["https://cdn2.thedogapi.com"], from: .preset(preset))
        }
        all[preset] = values
    }

    /// The presets' own URLs, which hold no secret.
    static let urls = allCases.compactMap { $0.values[\.url] }

    /// The preset's URL at the stand-in API; nil when the preset needs none.
    ///
    /// - Parameter origin: `http://127.0.0.1:PORT`.
    func standIn(at origin: String) -> FeedURL? {
        if self == .aqi { return try? FeedURL("ws" + origin.dropFirst(4) + "/aqi") }
        return values[\.url].flatMap { try? FeedURL(origin + $0.target) }
    }
}
