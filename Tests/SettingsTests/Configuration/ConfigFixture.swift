import Glibc
import Inputs
import Testing

@testable import Settings

/// Configurations in memory, and the repository's own files.
enum ConfigFixture {
    /// The repository's folder.
    static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
        .joined(separator: "/")

    static func text(_ text: String) -> ConfigText { ConfigText(name: "test.jsonc", bytes: Array(text.utf8)) }

    /// What is wrong with a configuration: everything behind the file's name, or nothing.
    static func faults(_ text: String) -> [String] {
        do throws(UsageError) {
            _ = try Configuration.read(self.text(text))
            return []
        } catch {
            return error.lines.map { String($0.dropFirst("test.jsonc:".count)) }
        }
    }

    static func plan(
        _ text: String?, _ arguments: [String] = [], environment: [String: String] = [:]
    ) throws -> WatchPlan {
        let command = try Command.parse(arguments, environment: environment) { _ throws(UsageError) in
            text.map { self.text($0) }
        }
        switch command {
        case .watch(let options), .check(let options):
            return try WatchPlan(options, environment: environment, arguments: arguments)
        default: throw UsageError("nothing to watch")
        }
    }

    static func sources(
        _ text: String?, _ arguments: [String] = [], environment: [String: String] = [:], demoOrigin: String? = nil
    ) throws -> [Source] {
        try plan(text, arguments, environment: environment).sources(demoOrigin: demoOrigin)
    }

    static func file(_ path: String) throws -> String {
        let text = try ConfigFile.read("\(root)/\(path)")
        return String(decoding: text.bytes, as: UTF8.self)
    }

    static let examples = ["fact", "breeds", "dogs", "aqi", "fibonacci", "catwatch"]

    static func example(_ name: String) throws -> String { try file("examples/\(name).jsonc") }

    /// Writes a file anew when asked to by `CATWATCH_WRITE_DOCS=1`.
    static func rewrite(_ path: String, _ text: String) {
        guard getenv("CATWATCH_WRITE_DOCS").map({ String(cString: $0) }) == "1" else { return }
        guard let stream = fopen("\(root)/\(path)", "w") else {
            Issue.record("\(path) cannot be written")
            return
        }
        fputs(text, stream)
        fclose(stream)
    }
}

extension Source {
    var request: HTTPRequest? {
        switch self {
        case .http(let source): source.request
        case .pages(let source): source.request
        case .webSocket(let source): source.request
        case .feed(let source): if case .http(let request) = source.place { request } else { nil }
        case .stdin, .fibonacci, .nats: nil
        }
    }
}
