/// The version of the program, as `--version`, `hello` lines and the User-Agent header show it.
package enum Version {
    /// Semantic version.
    package static let current = "0.1.0"
}
