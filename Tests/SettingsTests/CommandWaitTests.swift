import Conditions
import TestSupport
import Testing

@testable import Settings

/// The command line of `catwatch wait`.
@Suite(.limited) struct CommandWaitTests {
    private func wait(
        _ arguments: String..., environment: [String: String] = [:], configuration: String? = nil
    ) throws -> Options {
        let command = try Command.parse(["wait"] + arguments, environment: environment) { _ in
            configuration.map { ConfigText(name: "/c.jsonc", bytes: Array($0.utf8)) }
        }
        guard case .wait(let options) = command else { throw UsageError("no wait") }
        return options
    }

    @Test func takesConditionsAndWhatToWatch() throws {
        let options = try wait(
            "http://h/x", "--for", "> 1", "--for", "a: x ms < 2s", "--fail", "x fails", "--any", "--within", "2m", "-e",
            "1s")
        #expect(options[\.waitFor].map(\.text) == ["> 1", "a: x ms < 2s"])
        #expect(options[\.waitFail].map(\.text) == ["x fails"])
        #expect(options[\.waitAny] && options[\.within] == .seconds(120) && options[\.every] == .seconds(1))
        #expect(options.namesSources && !options.namesNothing)
        let plain = try wait("--for", "> 1")
        #expect(!plain[\.waitAny] && plain[\.within] == .seconds(30) && plain.namesNothing)
    }

    /// What the environment or a configuration says of serving does not concern who waits.
    @Test func takesOnlyWhatConcernsIt() throws {
        let environment = ["CATWATCH_LISTEN": "/run/x.sock", "CATWATCH_COUNT": "3", "CATWATCH_EVERY": "5s"]
        let configuration =
            #"{"listen": "/a.sock", "http": "127.0.0.1:1", "journal": "/j.db", "interval": "5s", "sources": [{"url": "http://h/x"}]}"#
        let options = try wait("--for", "> 1", environment: environment, configuration: configuration)
        #expect(
            options[\.listen] == nil && options[\.http] == nil && options[\.journal] == nil && options[\.count] == nil)
        #expect(options[\.every] == .seconds(5) && options[\.interval] == .seconds(5) && !options.namesNothing)
    }

    private typealias Wrong = (arguments: [String], option: String?, message: String)

    @Test(
        arguments: [
            (["http://h/x"], nil, "wait needs --for LINE, such as --for 'status = 200'"),
            (["http://h/x", "--fail", "> 1"], nil, "wait needs --for LINE"),
            (["--for", "> "], "--for", "a value is missing to compare with\n  > \n    ^"),
            (["--for", "> 1", "--fail", "x > 1 or > 2"], "--fail", "there is no 'or'; write two conditions\n"),
            (["--for", "> 1", "-o", "none"], "--output", "says nothing to catwatch wait"),
            (["--for", "> 1", "--once"], "--once", "says nothing to catwatch wait"),
            (["--for", "> 1", "--count", "1"], "--count", "says nothing to catwatch wait"),
            (["--for", "> 1", "--duration", "1s"], "--duration", "says nothing to catwatch wait"),
            (["--for", "> 1", "--listen"], "--listen", "says nothing to catwatch wait"),
            (["--for", "> 1", "--http"], "--http", "says nothing to catwatch wait"),
            (["--for", "> 1", "--limit", "1"], "--limit", "says nothing to catwatch wait"),
            (["--for", "> 1", "--within", "0s"], "--within", "out of range"),
            (["http://h/x", "--for", "> 1", "--since", "-1m"], "--since", "says nothing without --attach or --replay"),
        ] as [Wrong])
    fileprivate func saysWhatIsWrong(_ arguments: [String], _ option: String?, _ message: String) {
        let fault = #expect(throws: UsageError.self) { try Command.parse(["wait"] + arguments) }
        #expect(fault?.option == option && fault?.message.contains(message) == true, "\(fault?.description ?? "none")")
    }

    @Test(arguments: [["--for", "> 1"], ["--fail", "> 1"], ["--any"], ["--within", "1s"]])
    func isMeantByItsOptionsOnly(_ arguments: [String]) {
        let fault = #expect(throws: UsageError.self) { try Command.parse(arguments) }
        #expect(fault?.message == "says nothing without wait")
    }

    @Test(arguments: [
        (["http://h/x", "http://h/y"], "> 1", "there are 2 sources; write one of them in front, or *: 'x' or 'y'"),
        (["http://h/rooms"], "room/a > 1", "there is no source 'room'; did you mean 'rooms'?"),
        (["http://h/x"], "y fails", "there is no source 'y'"),
        (["http://h/x"], "agent y silent 1s", "there are no agents here; attach to several, or write a source"),
    ])
    func knowsTheSources(_ words: [String], _ line: String, _ message: String) throws {
        guard case .wait(let options) = try Command.parse(["wait", "--for", line] + words) else { return }
        let plan = try WatchPlan(options, environment: [:])
        let fault = #expect(throws: UsageError.self) { try plan.check(options[\.waitFor]) }
        #expect(fault?.message == "'\(line)': \(message)")
    }
}
