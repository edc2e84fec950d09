extension Options {
    /// What one HTTP source polls.
    package struct Feed: Sendable, Equatable {
        /// The source's name, which is also the `type` of its events.
        package var name: String
        package var url: FeedURL
        package var every: Duration
        /// JSON Pointers; nil means the first number, and the first string.
        package var value: String?
        package var text: String?
    }

    /// Where the presets' API is, unless a stand-in takes its place.
    package static let presetOrigin = "https://catfact.ninja"

    /// The feeds to watch, named: the presets first, then every `--url`; `fact` when neither was given.
    ///
    /// - Parameter demoOrigin: `http://127.0.0.1:PORT` of the running stand-in API, when there is one.
    /// - Throws: `UsageError` when `demoOrigin` is no URL.
    package func feeds(demoOrigin: String? = nil) throws(UsageError) -> [Feed] {
        var presets = presets
        if presets.isEmpty && (demo || urls.isEmpty) { presets = [.fact] }
        var feeds: [Feed] = []
        for preset in presets {
            let url = try FeedURL((demoOrigin ?? Self.presetOrigin) + preset.path)
            let pointers = preset.pointers
            feeds.append(
                Feed(name: "", url: url, every: every, value: value ?? pointers.value, text: text ?? pointers.text))
        }
        for url in urls { feeds.append(Feed(name: "", url: url, every: every, value: value, text: text)) }
        for (index, name) in SourceName.names(for: feeds.map(\.url)).enumerated() { feeds[index].name = name }
        return feeds
    }
}
