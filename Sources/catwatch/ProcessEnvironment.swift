internal import Glibc

/// The environment as the process got it.
enum ProcessEnvironment {
    /// All variables; of repeated ones the first, as getenv(3) has it.
    static func variables() -> [String: String] {
        var variables: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if pair.count == 2, variables[String(pair[0])] == nil { variables[String(pair[0])] = String(pair[1]) }
            entry += 1
        }
        return variables
    }
}
