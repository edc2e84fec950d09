internal import Feed

/// What is asked for, by the command line, the environment and the configuration; every value is checked and in range.
package struct Options: Sendable, Equatable {
    /// Each setting of the program, and what is said of every source.
    package var values: SettingValues
    /// What the words name that are no options.
    var feeds = Feeds()
    /// What the configuration says of sources; its options are among the values.
    var configuration: Configuration?

    /// What holds when nobody says anything.
    package init(_ values: SettingValues = .init()) {
        self.values = .initial()
        self.values.overlay(values)
    }

    package subscript<Value>(_ key: KeyPath<SettingTable, SettingKey<Value>>) -> Value { values[key] }

    /// Says of what a check of these throws where in the configuration it stands, when that is what says it.
    func placing<Value>(_ check: () throws(UsageError) -> Value) throws(UsageError) -> Value {
        do throws(UsageError) {
            return try check()
        } catch {
            let row = SettingTable.options.first { $0.option.flag == error.option }
            guard case .file(let mark)? = row?.setting.flatMap({ values.entry(of: $0)?.origin }) else { throw error }
            var issues = ConfigIssues(name: mark.file)
            issues.add(mark, error.message)
            try issues.check()
            throw error
        }
    }

    /// Takes over what a configuration says and nobody nearer has said.
    ///
    /// - Parameter nearer: what the command line and the environment say.
    mutating func configure(_ file: Configuration, under nearer: SettingValues) {
        var file = file
        if namesSources {
            file.sources = []
            for row in SettingTable.inFile where row.option.traits.contains(.choosesFeed) {
                file.values.remove(row.setting)
            }
        }
        values = .initial()
        values.overlay(file.values)
        values.overlay(nearer)
        configuration = file
    }

    /// What the words of the command line name that are no options; addresses are among the URLs.
    struct Feeds: Sendable, Equatable {
        private(set) var readsStdin = false
        private(set) var files: [String] = []
        /// What was taken for more than it says.
        private(set) var notices: [String] = []

        var isEmpty: Bool { !readsStdin && files.isEmpty }

        /// Takes the next word; see `FeedWord`.
        ///
        /// - Parameter values: gets what addresses are there.
        mutating func take(
            _ word: String, isThere: (String) -> Bool, into values: inout SettingValues
        ) throws(UsageError) {
            switch try FeedWord(word, isThere: isThere) {
            case .stdin:
                guard !readsStdin else { throw UsageError("there is one standard input, and - stands twice") }
                readsStdin = true
            case .file(let path): files.append(path)
            case .url(let url, let isGuessed):
                let urls = SettingTable.rows.urls
                values.put(urls, [url], from: .option(urls.flag))
                if isGuessed {
                    notices.append("\(FeedURL.redact(word)) is taken for \(Sanitizer.visible(url.description))")
                }
            }
        }
    }

    /// What stderr says.
    package enum Verbosity: Int, Sendable, Comparable {
        /// Errors that end the program.
        case quiet
        /// Failures of the upstream as well.
        case normal
        /// Every request as well.
        case verbose

        package static func < (left: Verbosity, right: Verbosity) -> Bool { left.rawValue < right.rawValue }
    }

    package var verbosity: Verbosity { self[\.verbose] ? .verbose : self[\.quiet] ? .quiet : .normal }

    /// How far back windows are kept: what was asked for in whole windows, else 2 minutes, or one window when that is
    /// longer.
    package var resolvedHistory: Duration {
        let interval = self[\.interval]
        guard let history = self[\.history] else { return max(FeedState.Limits().history, interval) }
        let rest = history.components.seconds % max(1, interval.components.seconds)
        return rest == 0 ? history : history + interval - .seconds(rest)
    }

    /// Whether they name something to watch.
    package var namesSources: Bool {
        hasOwnSources || !self[\.attach].isEmpty || self[\.replay] != nil
    }

    private var hasOwnSources: Bool {
        !self[\.urls].isEmpty || !self[\.presets].isEmpty || self[\.demo] || !feeds.isEmpty
    }

    /// The agent whose feed is passed on as it is: one alone, and no source beside it. With others they are a fleet, as are those
    /// that publish to NATS.
    package var passedOn: FeedURL? {
        guard self[\.attach].count == 1, !hasOwnSources, configuration?.sources.isEmpty != false else { return nil }
        return self[\.attach].first { !$0.scheme.isNats }
    }

    /// Whether the feed is another agent's, or a recording of one: then there are no sources of one's own.
    package var isRelay: Bool { passedOn != nil || self[\.replay] != nil }

    /// Whether nobody has said what to watch, or that it is to be served: then a running agent's feed may be shown.
    package var mayAttachByDefault: Bool {
        !namesSources && self[\.config] == nil && self[\.listen] == nil
            && self[\.http] == nil
    }

    /// What the top level of a configuration would say, in the order of the table and without secrets.
    ///
    /// What is off, or was not given and has no default, is left out.
    var settings: [(key: String, setting: any Setting, tree: JSONTree)] {
        SettingTable.inFile.compactMap { key, _, setting in
            let tree =
                setting === SettingTable.rows.history
                ? .string(DurationText.format(resolvedHistory)) : values.entry(of: setting)?.tree
            guard let tree, tree != .boolean(false), tree != .array([]) else { return nil }
            return (key, setting, tree)
        }
    }

    /// The sources to start: presets, URLs, standard input, files, then the configuration's; `fact` when there is none at
    /// all.
    ///
    /// - Parameter notices: gets what was left out or guessed, and why.
    /// - Throws: `UsageError` when a preset needs what was not given.
    func drafts(notices: inout [String]) throws(UsageError) -> [SourceDraft] {
        let rows = SettingTable.rows
        let configured = configuration?.sources ?? []
        var urls = self[\.urls]
        var presets = self[\.presets]
        let asksForNone = urls.isEmpty && feeds.isEmpty && self[\.attach].isEmpty
        if presets.isEmpty, configured.isEmpty, self[\.demo] || asksForNone { presets = [.fact] }
        let wantsAll = presets.contains(.all)
        var single = presets.filter { $0 != .all }
        if wantsAll { single += Preset.single.filter { !single.contains($0) } }

        func draft(of setting: any Setting) -> SourceDraft {
            SourceDraft(option: setting.flag, isOfCommandLine: true)
        }
        let byURL = values.entry(of: rows.urls)?.origin ?? .initial
        var drafts: [SourceDraft] = []
        for preset in single {
            var draft = draft(of: rows.presets)
            draft.values.set(\.preset, preset, from: values.entry(of: rows.presets)?.origin ?? .initial)
            if preset == .aqi {
                if let index = urls.firstIndex(where: \.scheme.isWebSocket) {
                    draft.values.set(\.url, urls.remove(at: index), from: byURL)
                } else if !self[\.demo] {
                    guard wantsAll, !self[\.presets].contains(.aqi) else {
                        throw UsageError(
                            "aqi needs the URL of a feed; add --url wss://HOST/PATH, or --demo", option: draft.option)
                    }
                    notices.append(
                        "the preset aqi is left out, as it needs the URL of a feed: add --url wss://HOST/PATH")
                    continue
                }
            }
            drafts.append(draft)
        }
        for url in urls {
            var draft = draft(of: rows.urls)
            draft.values.set(\.url, url, from: byURL)
            drafts.append(draft)
        }
        if feeds.readsStdin {
            var draft = SourceDraft(option: "-", isOfCommandLine: true)
            draft.values.set(\.kind, .stdin, from: .option("-"))
            drafts.append(draft)
        }
        for file in feeds.files {
            var draft = SourceDraft(isOfCommandLine: true)
            draft.values.set(\.path, file, from: .option(UsageError.quoted(file)))
            drafts.append(draft)
        }
        notices += feeds.notices
        return drafts + agents + configured
    }

    /// The agents that are attached to, as sources.
    var agents: [SourceDraft] {
        let attach = SettingTable.rows.attach
        return self[\.attach].map { url in
            var draft = SourceDraft(option: attach.flag, isOfCommandLine: true)
            draft.values.set(\.kind, .feed, from: .option(attach.flag))
            draft.values.set(\.url, url, from: values.entry(of: attach)?.origin ?? .initial)
            return draft
        }
    }
}
