import TestSupport
import Testing

@testable import Settings

/// The command lines of the subcommands that read a journal.
@Suite(.limited) struct CommandLogTests {
    private func log(_ arguments: String...) throws -> (String, Options) {
        guard case .log(let journal, let options) = try Command.parse(["log"] + arguments) else {
            throw UsageError("no log")
        }
        return (journal, options)
    }

    @Test func readsEveryOption() throws {
        let (journal, options) = try log(
            "j.db", "--since", "-1h", "--until=today", "--type", "fact", "--type", "error", "--source=a", "--series",
            "a/b",
            "--limit", "5", "-r", "--format", "csv")
        #expect(journal == "j.db")
        let (hour, today) = (try TimeWord("-1h"), try TimeWord("today"))
        #expect(options[\.since] == hour && options[\.until] == today)
        #expect(options[\.logTypes] == ["fact", "error"])
        #expect(options[\.logSources] == ["a"] && options[\.logSeries] == ["a/b"])
        #expect(options[\.limit] == 5 && options[\.reverse] && !options[\.follow] && options[\.format] == .csv)
        #expect(try log("-f", "--", "-j").1[\.follow])
        #expect(try log("j", "--summary").1[\.summary])
        #expect(try log("j").1[\.format] == .ndjson)
    }

    private typealias Wrong = (arguments: [String], option: String?, message: String)

    private static let wrong: [Wrong] = [
        (["log", "a", "b"], nil, "log reads one journal, and 'b' is another word"),
        (["log", "a", "--every", "1s"], "--every", "says nothing to catwatch log"),
        (["log", "a", "--online"], "--online", "says nothing to catwatch log"),
        (["log", "a", "--limit", "-1"], "--limit", "'-1' is not a whole number from 0"),
        (["log", "a", "--format", "cvs"], "--format", "'cvs' is not known; did you mean 'csv'?"),
        (["log", "a", "--type", ""], "--type", "the type is empty"),
        (["log", "a", "--evry"], nil, "unknown option '--evry'; did you mean '--every'?"),
        (["log", "a", "-f", "-r"], "--reverse", "does not go with --follow: what comes is the newest"),
        (["log", "a", "-f", "--until", "now"], "--until", "does not go with --follow: it has no end"),
        (
            ["log", "a", "--summary", "--limit", "1"], "--limit",
            "does not go with --summary: it counts all that is chosen"
        ),
        (["log", "a", "--summary", "--format=text"], "--format", "does not go with --summary: a table is text"),
        (
            ["log", "a", "--summary", "-f"], "--follow",
            "does not go with --summary: a table has no order, and no end that it could wait for"
        ),
        (["--follow"], "--follow", "says nothing without log"),
        (["check", "-f"], "--follow", "says nothing without log"),
        (["--summary"], "--summary", "says nothing without log or fibonacci"),
        (["--demo", "log", "a"], nil, "'log' stands alone or in front: catwatch log"),
        (["log"], nil, "log needs a journal: catwatch log FILE"),
        (["fibonacci", "--summary"], nil, "fibonacci needs a journal: catwatch fibonacci --summary --journal FILE"),
        (["log", "a", "--journal", "b"], "--journal", "and 'a' both name the journal; leave one out"),
        (["lgo"], nil, "unexpected 'lgo'; did you mean 'log'?"),
        (["fibonacci", "--limit", "5"], "--limit", "says nothing to catwatch fibonacci"),
        (["fibonacci", "--summary", "5"], nil, "fibonacci takes numbers, or --summary and a journal"),
    ]
    @Test(arguments: wrong)
    func saysWhatIsWrong(_ arguments: [String], _ option: String?, _ message: String) {
        do throws(UsageError) {
            let command = try Command.parse(arguments)
            Issue.record("\(command)")
        } catch {
            #expect(error == UsageError(message, option: option))
        }
    }

    @Test func theJournalIsTheOneThatIsWatchedWith() throws {
        let config = ConfigText(name: "c", bytes: Array(#"{"journal": "of-file"}"#.utf8))
        func journal(
            _ arguments: [String], _ environment: [String: String] = [:], _ config: ConfigText? = nil
        ) throws(UsageError) -> String {
            let command = try Command.parse(arguments, environment: environment) { (_) throws(UsageError) in config }
            switch command {
            case .log(let journal, _), .fibonacciRuns(let journal): return journal
            default: throw UsageError("no log")
            }
        }
        #expect(try journal(["log"], [:], config) == "of-file")
        #expect(try journal(["log"], ["CATWATCH_JOURNAL": "of-env"], config) == "of-env")
        #expect(try journal(["log", "--journal", "said"], ["CATWATCH_JOURNAL": "of-env"], config) == "said")
        #expect(try journal(["log", "word"], ["CATWATCH_JOURNAL": "of-env"], config) == "word")
        #expect(try journal(["fibonacci", "--summary", "--journal", "said"]) == "said")
        #expect(try journal(["fibonacci", "--journal=said", "--summary"]) == "said")
        #expect(try journal(["fibonacci", "--summary"], [:], config) == "of-file")
        // What is wrong with a file that is not needed does not matter.
        let broken = ConfigText(name: "c", bytes: Array("{".utf8))
        #expect(try journal(["log", "word"], [:], broken) == "word")
        #expect(throws: UsageError.self) { try journal(["log"], [:], broken) }
    }
}
