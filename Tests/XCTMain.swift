import Testing

/// Begins the tests of a bundle. SwiftPM takes a file of this name instead of looking for XCTest's tests, of which there are none: it
/// would need an index of all sources for that, a tenth of the build's time.
@main enum Runner {
    static func main() async {
        // `swift test` asks XCTest for its tests first, unless it is told not to.
        guard CommandLine.arguments.contains("swift-testing") else { return }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
