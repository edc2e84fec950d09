/// Names that no source and no agent of a fleet may have.
package enum ReservedNames {
    /// The types of the lines that an agent writes itself, and what it is called as a source.
    package static let all: Set<String> = [
        "hello", "stats", "latency", "memory", "window", "error", "progress", "recovered", "agent", "gap", "bye",
        "resync", "restart", "refusal", "lost", "peer", EventStore.ownName,
    ]
}
