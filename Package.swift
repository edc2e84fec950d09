// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// SwiftPM's own start of tests looks for XCTest's in an index, which costs a build a sixth of its time. Tests/run.sh starts the
/// tests by itself, without one; `swift test` would find none so.
let isForChecks = Context.environment["CATWATCH_CHECKS"] != nil

/// Thread Sanitizer looks at code with more than one thread, and at nothing else: see `threads` in Tests/run.sh.
let isForThreads = Context.environment["CATWATCH_THREADS"] != nil

/// A module of the program: imports run one way, see docs/architecture.md.
func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// - Parameter threads: the files and folders whose tests have more than one thread, with what they need; nil is all of them.
func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], threads: [String]? = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, sources: isForThreads ? threads : nil,
        swiftSettings: settings)
}

let package = Package(
    name: "catwatch",
    products: [
        .executable(name: "catwatch", targets: ["catwatch"]),
        .executable(name: "catwatch-bench", targets: ["catwatch-bench"]),
    ],
    targets: [
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNATS", pkgConfig: "libnats", providers: [.apt(["libnats-dev"])]),
        .target(name: "Page", exclude: ["Files"], cSettings: [.unsafeFlags(["-std=c23"])]),

        module("Reactor", ["CLinux"]),
        module("Feed", ["Reactor"]),
        module("Conditions", ["Feed", "Reactor"]),
        module("WebSocket", ["CCrypto"]),
        module("Journal", ["Feed", "Reactor", "CSQLite"]),
        module("Nats", ["Feed", "Reactor", "CNATS", "CCrypto"]),
        module("Inputs", ["Journal", "Nats", "Feed", "Reactor", "WebSocket", "CCurl"]),
        module("Outputs", ["Journal", "Nats", "Feed", "Reactor"]),
        module("Terminal", ["Feed", "Reactor", "CLinux"]),
        module("HTTPServer", ["Reactor", "CMicroHTTPD"]),
        module(
            "Web", ["HTTPServer", "WebSocket", "Page", "Outputs", "Journal", "Feed", "Reactor", "CCrypto", "CZlib"]),
        module("CatAPI", ["HTTPServer", "Reactor", "WebSocket"]),
        module("Settings", ["Conditions", "Inputs", "Outputs", "Journal", "Nats", "Feed", "Reactor", "CLinux"]),
        program(
            "catwatch",
            [
                "Settings", "Conditions", "Inputs", "Outputs", "Journal", "Nats", "Terminal", "Web", "CatAPI", "Feed",
                "Reactor",
            ]),
        program(
            "catwatch-bench",
            [
                "Conditions", "Inputs", "Outputs", "Journal", "Nats", "Web", "CatAPI", "Terminal", "Feed", "Reactor",
                "WebSocket",
                "CLinux", "CSQLite", "CNATS",
            ]),

        .target(name: "LineRules", path: "Tests/LineRules", swiftSettings: settings),
        .target(
            name: "TestSupport", dependencies: ["Journal", "Nats", "Feed", "Reactor", "CLinux"],
            path: "Tests/TestSupport",
            swiftSettings: settings),
        tests("ReactorTests", ["Reactor", "TestSupport", "CLinux"], threads: nil),
        tests("FeedTests", ["Feed", "Reactor", "TestSupport", "LineRules"]),
        tests(
            "JournalTests", ["Journal", "Feed", "Reactor", "TestSupport", "CSQLite"],
            threads: ["FeedOfLines.swift", "JournalSuite.swift", "JournalThreadsTests.swift"]),
        tests("ConditionsTests", ["Conditions", "Feed", "Reactor", "TestSupport"]),
        tests("WebSocketTests", ["WebSocket", "TestSupport"]),
        tests(
            "InputsTests",
            [
                "Inputs", "Outputs", "Journal", "Nats", "CatAPI", "Feed", "Reactor", "WebSocket", "TestSupport",
                "LineRules",
            ],
            threads: [
                "Curl", "Fibonacci", "Stdin/FileInputTests.swift", "Stdin/StdinPressureTests.swift",
                "Stdin/StdinRun.swift", "Support", "WebSocket/CurlStreamTests.swift",
            ]),
        tests("NatsTests", ["Nats", "Feed", "Reactor", "TestSupport"]),
        tests(
            "OutputsTests",
            ["Outputs", "Inputs", "Journal", "Nats", "Feed", "Reactor", "TestSupport", "LineRules"],
            threads: [
                "FeedReader.swift", "FeedStage.swift", "StreamOutputPipeTests.swift", "StreamOutputTests.swift", "File",
                "Journal", "Nats",
                "Socket/UnixSocketTests.swift",
            ]),
        tests("TerminalTests", ["Terminal", "Feed", "Reactor", "TestSupport", "CLinux"], exclude: ["Snapshots"]),
        tests("HTTPServerTests", ["HTTPServer", "Reactor", "TestSupport"], threads: nil),
        tests(
            "WebTests",
            [
                "Web", "WebSocket", "HTTPServer", "Outputs", "Inputs", "Journal", "Conditions", "Feed", "Reactor",
                "TestSupport",
            ],
            threads: [
                "WebStage.swift", "WebServerTests.swift", "FeedHandlerTests.swift", "AlertsHandlerTests.swift",
                "MetricsStage.swift", "Metrics",
            ]),
        tests("CatAPITests", ["CatAPI", "HTTPServer", "Reactor", "WebSocket", "TestSupport"]),
        tests(
            "SettingsTests",
            [
                "Settings", "Conditions", "Inputs", "Outputs", "Journal", "Nats", "Feed", "Reactor", "TestSupport",
                "CLinux",
            ]),
        tests(
            "CommandTests",
            [
                "catwatch", "Settings", "Terminal", "Web", "Inputs", "Outputs", "Journal", "Nats", "Feed", "Reactor",
                "TestSupport", "CLinux",
            ]),
        tests("EndToEndTests", ["TestSupport", "CatAPI", "Reactor", "CLinux"]),
    ],
    swiftLanguageModes: [.v6]
)

/// CATWATCH_TESTS=FeedTests,TerminalTests leaves the other test targets out, which saves two thirds of a first build.
if let wanted = Context.environment["CATWATCH_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}

if isForChecks {
    package.targets.append(.testTarget(name: "Nothing", path: "Tests/Start/Nothing"))
    // No test needs the benchmark, which takes a fifteenth of the build: Tests/run.sh --long builds it.
    package.targets.removeAll { $0.name == "catwatch-bench" }
    package.products.removeAll { $0.name == "catwatch-bench" }
}

if isForThreads {
    package.products = []
    package.targets.removeAll { target in
        target.sources == [] || target.type == .executable || ["Settings", "Terminal"].contains(target.name)
    }
}

// libFuzzer has a runtime of its own, which the ordinary build has no need of: see Tests/fuzz.sh.
if Context.environment["CATWATCH_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "catwatch-fuzz",
            dependencies: [
                "Settings", "Conditions", "Terminal", "Web", "Inputs", "Outputs", "Feed", "Reactor", "WebSocket",
                "LineRules",
            ],
            path: "Tests/Fuzz", swiftSettings: settings))
}
