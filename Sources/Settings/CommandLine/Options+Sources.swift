internal import Feed
internal import Inputs

extension Options {
    /// What the options say of every source, as far as anybody said it.
    var sourceValues: [String: ConfigValue] {
        var values: [String: ConfigValue] = [:]
        func set(_ long: String, _ key: String, _ value: @autoclosure () -> ConfigValue?) {
            if explicit.contains(long) { values[key] = value() }
        }
        // Checked when they were set.
        func place(_ text: String?) -> ConfigValue? { text.flatMap { try? JSONPointer($0) }.map(ConfigValue.pointer) }
        set("every", "every", .duration(every))
        set("value", "value", place(value))
        set("text", "text", place(text))
        set("items", "items", place(items))
        set("key", "key", key == "#" ? .position : place(key))
        set("time", "time", place(time))
        set("number", "number", .string(number.rawValue))
        set("timeout", "timeout", .duration(request.timeout))
        set("max-body", "max_body", .size(request.maxBody))
        set("max-redirects", "max_redirects", .integer(request.maxRedirects))
        set("cacert", "ca_file", request.caFile.map(ConfigValue.string))
        set("cert", "certificate", request.certificate.map(ConfigValue.string))
        set("key-file", "key_file", request.key.map(ConfigValue.string))
        return values
    }

    /// Whether they name something to watch.
    package var namesSources: Bool { !urls.isEmpty || !presets.isEmpty || demo || attach != nil || readsStdin }

    /// The sources to start: presets, URLs, standard input, then the configuration's; `fact` when there is none at all.
    ///
    /// - Parameter notices: gets what was left out, and why.
    /// - Throws: `UsageError` when a preset needs what was not given.
    func drafts(notices: inout [String]) throws(UsageError) -> [SourceDraft] {
        let configured = configuration?.sources ?? []
        var urls = urls
        var presets = presets
        if presets.isEmpty, configured.isEmpty, demo || (urls.isEmpty && !readsStdin) { presets = [.fact] }
        let wantsAll = presets.contains(.all)
        var single = presets.filter { $0 != .all }
        if wantsAll { single += Preset.single.filter { !single.contains($0) } }

        var drafts: [SourceDraft] = []
        for preset in single {
            var draft = SourceDraft(option: "--preset", isOfCommandLine: true)
            draft.values["preset"] = .string(preset.rawValue)
            if preset == .aqi {
                if let index = urls.firstIndex(where: \.scheme.isWebSocket) {
                    draft.values["url"] = .url(urls.remove(at: index))
                } else if !demo {
                    guard wantsAll, !self.presets.contains(.aqi) else {
                        throw UsageError(
                            "aqi needs the URL of a feed; add --url wss://HOST/PATH, or --demo", option: "--preset")
                    }
                    notices.append(
                        "the preset aqi is left out, as it needs the URL of a feed: add --url wss://HOST/PATH")
                    continue
                }
            }
            drafts.append(draft)
        }
        for url in urls {
            drafts.append(SourceDraft(values: ["url": .url(url)], option: "--url", isOfCommandLine: true))
        }
        if readsStdin {
            drafts.append(SourceDraft(values: ["kind": .string("stdin")], option: "-", isOfCommandLine: true))
        }
        return drafts + configured
    }
}
