import Testing

/// The start of the tests' program in builds of Tests/run.sh: see `isForChecks` in Package.swift.
@main struct Start {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
