import TestSupport
import Testing

@testable import Settings

/// Whatever a configuration holds, it is refused or taken, and nothing worse.
@Suite(.limited) struct ConfigMutationTests {
    @Test func survivesEveryPrefixOfTheTemplate() throws {
        let bytes = Array(try ConfigFixture.example("catwatch").utf8)
        // A debug build takes half a millisecond each. Without its last newline it is whole.
        for length in stride(from: 0, to: bytes.count - 1, by: LongRun.isOn ? 1 : 29) {
            let text = ConfigText(name: "p", bytes: Array(bytes[..<length]))
            #expect(throws: UsageError.self, "\(length)") { try Configuration.read(text) }
        }
    }

    /// All in one line, and nothing takes longer the more there is of it.
    @Test func readsAsManySourcesAsThereMayBe() throws {
        let count = LongRun.rounds(short: 500, long: Configuration.mostSources)
        let sources = (0..<count).map { #"{"url":"http://h/","name":"n\#($0)"}"# }.joined(separator: ",")
        let text = ConfigFixture.text(#"{"sources":[\#(sources)]}"#)
        #expect(try Configuration.read(text).sources.count == count)
    }

    @Test func survivesMutations() throws {
        let originals = try ConfigFixture.examples.map { Array(try ConfigFixture.example($0).utf8) }
        let pieces = [
            "null", "5", "-1", "\"\"", "{}", "[]", "\"#\"", "true", "1e999", "\"\\u0000\"", ",", "}", "]", "\"", "/*",
            "//",
            "\u{1b}[31m", "{\"env\":\"A\"}",
        ].map { Array($0.utf8) }
        var random = SeededGenerator(seed: 20_261)
        for round in 0..<LongRun.rounds(short: 400, long: 100_000) {
            var bytes = originals[round % originals.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let start = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, start + Int.random(in: 0..<12, using: &random))
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    bytes.replaceSubrange(start..<end, with: pieces[Int.random(in: 0..<pieces.count, using: &random)])
                case 1: bytes.replaceSubrange(start..<end, with: bytes[end..<min(bytes.count, end + 40)])
                default: bytes[start] = UInt8.random(in: 0...255, using: &random)
                }
            }
            do throws(UsageError) {
                let configuration = try Configuration.read(ConfigText(name: "m", bytes: bytes))
                // What is taken can be resolved.
                var options = Options()
                options.configure(configuration, under: SettingValues())
                _ = try WatchPlan(options, environment: ["STATUS_KEY": "k"]).effectiveText()
            } catch {
                #expect(!error.description.utf8.contains(0x1B), "seed \(random.seed), round \(round)")
            }
        }
    }
}
