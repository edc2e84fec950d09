extension Options {
    /// A known feed.
    package enum Preset: String, Sendable, CaseIterable {
        case fact, facts, breeds, dogs, aqi, fibonacci
        /// Each of the others.
        case all

        /// Those that are one feed.
        package static let single = allCases.filter { $0 != .all }
    }
}

extension Options.Preset {
    /// The source as a configuration has it; `name` is only what it is called when nobody says otherwise.
    var text: String {
        switch self {
        case .fact:
            """
            {"name": "fact", "url": "https://catfact.ninja/fact", "every": "2s", "value": "/length", "text": "/fact"}
            """
        case .facts:
            """
            {
              "name": "facts", "kind": "pages", "type": "fact", "url": "https://catfact.ninja/facts", "every": "10m",
              "batch": 30, "items": "/data", "value": "/length", "text": "/fact",
              "next": "/next_page_url", "total": "/total"
            }
            """
        case .breeds:
            """
            {
              "name": "breeds", "kind": "pages", "type": "breed", "url": "https://catfact.ninja/breeds", "every": "10m",
              "batch": 30, "items": "/data", "key": "/breed", "value": null, "text": "/country",
              "next": "/next_page_url", "total": "/total"
            }
            """
        case .dogs:
            """
            {
              "name": "dogs", "type": "dog", "every": "30s",
              "url": "https://api.thedogapi.com/v1/images/search?limit=10&has_breeds=true",
              "headers": {"x-api-key": {"env": "DOG_API_KEY", "optional": true}},
              // By position, so that ten rows are refreshed and not ever more dogs added.
              "items": "", "key": "#", "value": null, "text": "/breeds/0/name"
            }
            """
        case .aqi:
            """
            {
              "name": "aqi", "kind": "websocket", "type": "aqi", "bands": "cpcb",
              "items": "", "key": "/city", "value": "/aqi", "text": null
            }
            """
        case .fibonacci:
            """
            {"name": "fibonacci", "kind": "fibonacci", "type": "fibonacci", "unit": "ms", "n": 10000, "every": "10s"}
            """
        case .all: "{}"
        }
    }

    /// The keys of `text`; a test holds that all of them are read.
    var draft: SourceDraft { Self.drafts[self] ?? SourceDraft() }

    private static let drafts: [Self: SourceDraft] = allCases.reduce(into: [:]) { drafts, preset in
        let text = ConfigText(name: "preset \(preset.rawValue)", bytes: Array(preset.text.utf8))
        var reader = ConfigReader(issues: ConfigIssues(text: text))
        if let node = try? ConfigNode.parse(text) { drafts[preset] = reader.source(node, "") }
    }

    /// The presets' own URLs, which hold no secret.
    static let urls = allCases.compactMap { $0.draft.values["url"] }

    /// Where the stand-in API has it; nil for what needs none.
    ///
    /// - Parameter origin: `http://127.0.0.1:PORT`.
    func standIn(at origin: String) -> FeedURL? {
        if self == .aqi { return try? FeedURL("ws" + origin.dropFirst(4) + "/aqi") }
        guard case .url(let url)? = draft.values["url"] else { return nil }
        return try? FeedURL(origin + url.target)
    }
}
