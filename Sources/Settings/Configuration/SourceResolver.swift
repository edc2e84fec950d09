internal import Feed

/// Puts together what presets, the command line and the configuration say of sources, and checks that it goes together.
struct SourceResolver {
    let options: Options
    let scales: [String: ConfigScale]
    /// `http://127.0.0.1:PORT` of the stand-in API.
    let demoOrigin: String?
    /// Whether there will be a stand-in API.
    var isDemo: Bool
    var issues: ConfigIssues
    /// What the options say of every source.
    private let general: [String: ConfigValue]

    init(options: Options, scales: [String: ConfigScale], demoOrigin: String?, issues: ConfigIssues) {
        self.options = options
        self.scales = scales
        self.demoOrigin = demoOrigin
        isDemo = options.demo
        self.issues = issues
        general = options.sourceValues
    }

    /// The sources, named; those with something wrong are told and left out.
    mutating func resolve(_ drafts: [SourceDraft]) -> [EffectiveSource] {
        var names = SourceName.Register()
        // Also those of sources that have something else wrong.
        for draft in drafts {
            guard case .string(let name)? = draft.values["name"], !names.take(name) else { continue }
            issues.add(draft.mark("name"), "\(UsageError.quoted(name)) is another source's name already")
        }
        var sources = drafts.compactMap { resolve($0) }
        for index in sources.indices { name(&sources[index], &names) }
        return sources
    }

    private mutating func resolve(_ draft: SourceDraft) -> EffectiveSource? {
        // A kind or a preset that is none has been told; what else it would need, nobody knows.
        for key in ["kind", "preset"] where draft.marks[key] != nil && draft.values[key] == nil { return nil }
        let before = issues.count
        let kind = kind(of: draft)
        for key in ConfigKey.source {
            guard let mark = draft.marks[key.name], !key.kinds.contains(kind) else { continue }
            let kinds = OptionTable.list(key.kinds.map(\.rawValue))
            issues.add(mark, "says nothing to sources of kind \(kind.rawValue); it is for \(kinds)")
        }
        var source = EffectiveSource(
            name: "", kind: kind, values: values(of: draft, kind), draft: draft,
            hasKnownURL: draft.values["url"].map(Options.Preset.urls.contains) ?? true, isStandIn: isStandIn(draft))
        if source.isStandIn, let demoOrigin, let url = draft.preset?.standIn(at: demoOrigin) {
            source.values["url"] = .url(url)
        }
        checkPlace(of: source)
        checkPaging(of: source)
        checkRequest(of: source)
        source.scale = scale(of: source)
        return issues.count == before && !draft.isBroken ? source : nil
    }

    private func isStandIn(_ draft: SourceDraft) -> Bool {
        guard isDemo, let preset = draft.preset, preset != .fibonacci else { return false }
        return draft.values["url"] == nil
    }

    private func kind(of draft: SourceDraft) -> SourceKind {
        let preset = draft.preset?.draft
        if case .string(let text)? = draft.values["kind"] ?? preset?.values["kind"],
            let kind = SourceKind(rawValue: text)
        {
            return kind
        }
        if case .url(let url)? = draft.values["url"], url.scheme.isWebSocket { return .websocket }
        return .http
    }

    /// The defaults, and over them what is more and more about this one source.
    private func values(of draft: SourceDraft, _ kind: SourceKind) -> [String: ConfigValue] {
        var values = ConfigKey.defaults(of: kind)
        let preset = draft.preset?.draft.values ?? [:]
        for layer in draft.isOfCommandLine ? [preset, general, draft.values] : [general, preset, draft.values] {
            values.merge(layer) { $1 }
        }
        // One way to go from page to page: the nearest.
        if draft.values["page_parameter"] != nil, draft.values["next"] == nil { values["next"] = nil }
        if draft.values["next"] != nil, draft.values["page_parameter"] == nil { values["page_parameter"] = nil }
        // What says nothing then.
        if values["once"] == .boolean(true) { values["every"] = nil }
        if values["page_parameter"] == nil { values["first_page"] = nil }
        if values["batch"] == nil { values["batch_parameter"] = nil }
        let known = Set(ConfigKey.source.lazy.filter { $0.kinds.contains(kind) }.map(\.name))
        return values.filter { known.contains($0.key) }
    }

    private mutating func checkPlace(of source: EffectiveSource) {
        let draft = source.draft
        if SourceKind.remote.contains(source.kind), !draft.isBroken || draft.marks["url"] == nil {
            if let url = source.url {
                if url.scheme.isWebSocket != (source.kind == .websocket) {
                    let schemes = source.kind == .websocket ? "ws or wss" : "http or https"
                    issues.add(
                        draft.mark("url"), option: draft.option,
                        "sources of kind \(source.kind.rawValue) need \(schemes), not \(url.scheme.rawValue)")
                }
            } else if !source.isStandIn, draft.marks["url"] == nil {
                missing("url", source)
            }
        }
        if source.kind == .fibonacci, source.values["n"] == nil, draft.marks["n"] == nil { missing("n", source) }
        let hasItems = source.pointer("items") != nil
        if source.kind == .pages, !hasItems, draft.marks["items"] == nil || source.values["items"] == .null {
            missing("items", source)
        }
        if source.kind != .pages, !hasItems, draft.marks["items"] == nil || source.values["items"] == .null,
            source.values["key"] == .position
        {
            issues.add(draft.mark("key"), option: "--key", "# counts items; say with items where they are")
        }
    }

    private mutating func missing(_ key: String, _ source: EffectiveSource) {
        let draft = source.draft
        let text = "needs \(key)" + (draft.preset.map { "; the preset \($0.rawValue) has none" } ?? "")
        issues.add(draft.mark(key), option: draft.option, text)
    }

    private mutating func checkPaging(of source: EffectiveSource) {
        guard source.kind == .pages else { return }
        let draft = source.draft
        if draft.marks["next"] != nil, let other = draft.marks["page_parameter"] {
            issues.add(other, "is given beside next; leave one of them out")
        } else if source.values["next"] == nil, source.values["page_parameter"] == nil, !draft.isBroken {
            issues.add(draft.mark, option: draft.option, "needs next or page_parameter")
        }
        if draft.marks["first_page"] != nil, source.values["page_parameter"] == nil,
            draft.marks["page_parameter"] == nil
        {
            issues.add(draft.mark("first_page"), "says nothing without page_parameter")
        }
        if draft.marks["batch_parameter"] != nil, source.values["batch"] == nil, draft.marks["batch"] == nil {
            issues.add(draft.mark("batch_parameter"), "says nothing without batch")
        }
        if source.flag("once"), draft.marks["every"] != nil {
            issues.add(draft.mark("every"), "says nothing beside once: leave one of them out")
        }
    }

    private mutating func checkRequest(of source: EffectiveSource) {
        guard SourceKind.remote.contains(source.kind) else { return }
        let draft = source.draft
        if source.values["key_file"] != nil, source.values["certificate"] == nil, draft.marks["certificate"] == nil {
            issues.add(draft.mark("key_file"), "needs the certificate it belongs to")
        }
        var ways = ["bearer", "basic"].filter { source.values[$0] != nil }
        if case .headers(let headers)? = source.values["headers"],
            headers.contains(where: { $0.name.lowercased() == "authorization" })
        {
            ways.append("headers")
        }
        if ways.count > 1, let last = ways.last {
            issues.add(draft.mark(last), "more than one of \(ways.joined(separator: ", ")) says who asks; leave one")
        }
    }

    private mutating func scale(of source: EffectiveSource) -> ConfigScale? {
        switch source.values["bands"] {
        case .scale(let scale)?: return scale
        case .scaleName(let name)?:
            if let scale = scales[name] ?? BuiltInScales.all[name] { return scale }
            let known = scales.keys.sorted() + BuiltInScales.all.keys.sorted()
            let hint =
                EditDistance.suggestion(for: name, among: known).map { "did you mean '\($0)'?" }
                ?? "there is \(known.prefix(20).joined(separator: ", "))"
            issues.add(
                source.draft.mark("bands"), "\(UsageError.quoted(name)) is no scale; \(Sanitizer.visible(hint))")
        default: break
        }
        return nil
    }

    /// What was said it is called, and else what it can be told by.
    private func name(_ source: inout EffectiveSource, _ names: inout SourceName.Register) {
        if case .string(let name)? = source.draft.values["name"] {
            source.name = name
        } else {
            let base = source.string("name") ?? source.url.map { SourceName.base(for: $0) } ?? source.kind.rawValue
            source.name = names.name(base)
        }
    }
}

extension ConfigKey {
    /// The values that hold when nothing is said.
    static func defaults(of kind: SourceKind) -> [String: ConfigValue] { defaults[kind] ?? [:] }

    private static let defaults: [SourceKind: [String: ConfigValue]] = SourceKind.allCases.reduce(into: [:]) {
        all, kind in
        for key in source where key.kinds.contains(kind) {
            guard let initial = key.initial(for: kind) else { continue }
            let text = ConfigText(name: "defaults", bytes: Array(initial.utf8))
            var reader = ConfigReader(issues: ConfigIssues(text: text))
            if let node = try? ConfigNode.parse(text) {
                all[kind, default: [:]][key.name] = reader.value(node, key.name, key.type)
            }
        }
    }
}
