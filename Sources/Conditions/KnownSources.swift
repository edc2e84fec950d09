internal import Feed

// The sources and agents that a condition can concern, known before it runs.

extension Condition {
    /// Whether it may be about a source or one of its series.
    package func mayConcern(source: String) -> Bool {
        // Decides most at once.
        guard subject.pattern?.mayMatch(beginning: source) ?? true else { return false }
        return isOfSources ? isAbout(source: source) : mayBeAbout(source: source)
    }

    /// Whether it may be about an agent of a fleet, or about a source of that agent.
    package func mayConcern(agent: String) -> Bool {
        isAboutAgents ? subject.pattern?.matches(agent) ?? true : mayBeAbout(agent: agent)
    }
}
