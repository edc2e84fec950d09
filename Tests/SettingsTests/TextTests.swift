import Inputs
import Reactor
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct OptionTests {
    private func option(_ long: String) -> Option? { Option.all.first { $0.long == long } }

    @Test func givesEveryOptionANameOfItsOwn() {
        let entries = Option.all
        #expect(Set(entries.map(\.long)).count == entries.count)
        let shorts = entries.compactMap(\.short)
        #expect(Set(shorts).count == shorts.count)
        #expect(shorts.allSatisfy { $0.isASCII && $0.isLetter })
        #expect(entries.allSatisfy { $0.long.allSatisfy { $0.isLowercase || $0 == "-" } })
    }

    @Test func namesTheEnvironmentVariablesOfSettingsOnly() {
        #expect(option("max-body")?.environment == "CATWATCH_MAX_BODY")
        #expect(option("url")?.environment == "CATWATCH_URL")
        #expect(option("help")?.environment == nil)
    }

    /// A default that the help names is the default that the parser uses.
    @Test func tellsTheDefaultsThatHold() throws {
        let options = Options()
        let defaults = [
            ("every", DurationText.format(HTTPSource.usualEvery)),
            ("interval", DurationText.format(options[\.interval])),
            ("history", DurationText.format(options.resolvedHistory)), ("output", "view in a terminal"),
            ("timeout", DurationText.format(options[\.timeout])),
            ("max-body", ByteSize.format(options[\.maxBody])),
            ("max-series", "\(options[\.maxSeries])"), ("max-redirects", "\(options[\.maxRedirects])"),
            ("log-bytes", ByteSize.format(options[\.logBytes])),
            ("kept-bytes", ByteSize.format(options[\.keptBytes])),
            ("url", "https://catfact.ninja/fact"), ("preset", "fact"), ("number", options[\.number].rawValue),
            ("max-readers", "\(options[\.maxReaders])"), ("listen-mode", String(options[\.listenMode], radix: 8)),
        ]
        for (long, text) in defaults {
            #expect(option(long)?.help.hasSuffix("(\(text))") == true, "--\(long)")
        }
    }
}

@Suite(.limited) struct HelpTextTests {
    @Test func fitsOneScreenWithRoomForThePrompt() {
        let lines = HelpText.main.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.last?.isEmpty == true)
        #expect(lines.count - 1 <= 23)
        for line in lines { #expect(line.count <= 80, "\(line)") }
        for line in HelpText.all.split(separator: "\n") { #expect(line.count <= 88, "\(line)") }
    }

    @Test func namesThePageWhereOneLooksFirst() { #expect(HelpText.main.contains("catwatch --demo --http ")) }

    @Test func namesEveryOption() {
        for entry in Option.all {
            #expect(HelpText.all.contains("--\(entry.long)"))
            #expect(HelpText.main.contains(entry.usage) == (entry.group == .main))
        }
    }

    @Test func givesExamplesThatParse() throws {
        let examples = HelpText.main.split(separator: "\n").filter { $0.hasPrefix("  catwatch ") }
            .flatMap { line in line.split(separator: "  catwatch ").map { "catwatch \($0)" } }
        #expect(examples.count == 3)
        for example in examples {
            let words = example.prefix { $0 != "|" && $0 != "(" }.split(separator: " ").dropFirst().map(String.init)
            guard case .watch = try Command.parse(words) else {
                Issue.record("\(example)")
                continue
            }
        }
    }
}

@Suite(.limited) struct ManualPageTests {
    @Test func namesEveryOptionAndLeavesNoRequestToText() {
        for entry in Option.all {
            let long = entry.long.split(separator: "-").joined(separator: "\\-")
            #expect(ManualPage.text.contains("\\-\\-\(long)"), "\(entry.long)")
        }
        let known = [".TH", ".SH", ".B", ".I", ".RI", ".RB", ".IR", ".BR", ".TP", ".PP", ".nf", ".fi"]
        for line in ManualPage.text.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(known.contains { line == $0 || line.hasPrefix($0 + " ") }, "\(line)")
        }
    }
}

@Suite(.limited) struct CompletionsTests {
    @Test(arguments: Command.Shell.allCases)
    func offersEveryOption(_ shell: Command.Shell) {
        let script = Completions.script(for: shell)
        for entry in Option.all {
            #expect(script.contains(shell == .fish ? "-l \(entry.long)" : "--\(entry.long)"), "\(entry.long)")
        }
        #expect(script.contains("view ndjson none"))
        #expect(script.contains("check fibonacci log"))
        #expect(script.hasSuffix("\n"))
    }
}
