internal import Feed

/// What conditions are about, by name: which of them a source or a series may concern is asked for each that is new.
struct SubjectIndex: Sendable {
    private let conditions: [Condition]
    /// The conditions about each series or source that is named, and the sources of these.
    private let byName: [Board.Name: [Int]]
    private let namedSources: Set<Board.Name>
    /// The conditions about several, in their order.
    let wide: [Int]
    /// Whether an agent of a fleet may be silent: then each line of it counts.
    let hasSilentAgent: Bool

    init(_ conditions: [Condition]) {
        var byName: [Board.Name: [Int]] = [:]
        var (wide, sources): ([Int], Set<Board.Name>) = ([], [])
        for (index, condition) in conditions.enumerated() {
            if let name = condition.literalSubject, let source = condition.literalSource {
                byName[Board.Name(name), default: []].append(index)
                sources.insert(Board.Name(String(source)))
            } else {
                wide.append(index)
            }
        }
        (self.conditions, self.byName, self.wide, namedSources) = (conditions, byName, wide, sources)
        hasSilentAgent = wide.contains { conditions[$0].isAboutAgents && conditions[$0].mayBeSilent }
    }

    /// The conditions that may be about a source, or about one of its series, in their order.
    func candidates(of source: String, series: String?) -> [Int] {
        let named = byName[Board.Name(source)] ?? []
        let ofSeries = series.flatMap { $0 == source ? nil : byName[Board.Name($0)] } ?? []
        if named.isEmpty, ofSeries.isEmpty { return wide }
        return (named + ofSeries + wide).sorted()
    }

    /// Whether some condition may be about a source, or about a series of it.
    func mayBeAbout(source: String) -> Bool {
        namedSources.contains(Board.Name(source))
            || hasSilentAgent && source.utf8.contains(UInt8(ascii: "."))
            || wide.contains { conditions[$0].mayBeAbout(source: source) }
    }
}
