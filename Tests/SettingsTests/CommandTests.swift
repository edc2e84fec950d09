import Feed
import Glibc
import Inputs
import TestSupport
import Testing

@testable import Settings

@Suite(.limited) struct CommandTests {
    private func options(_ arguments: String..., environment: [String: String] = [:]) throws -> Options {
        let command = try Command.parse(arguments, environment: environment)
        guard case .watch(let options) = command else { throw Unexpected(command: command) }
        return options
    }

    private struct Unexpected: Error { var command: Command }

    private func fault(_ arguments: [String], _ environment: [String: String] = [:]) -> UsageError? {
        do throws(UsageError) {
            _ = try Command.parse(arguments, environment: environment)
            return nil
        } catch { return error }
    }

    @Test func playsNoJournalBackIntoItselfWhateverItIsCalled() throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "journal")
        #expect(symlink(folder.path("journal"), folder.path("link")) == 0)
        #expect(link(folder.path("journal"), folder.path("second")) == 0)
        for (replay, journal) in [("journal", "./journal"), ("link", "journal"), ("second", "journal"), ("a", "./a")] {
            let fault = fault(["--replay=\(folder.path(replay))", "--journal=\(folder.path(journal))"])
            #expect(fault?.option == "--replay", "\(replay)")
        }
        #expect(fault(["--replay=\(folder.path("journal"))", "--journal=\(folder.path("other"))"]) == nil)
    }

    @Test func watchesWithTheDefaultsWhenNothingIsGiven() throws {
        let options = try options()
        #expect(options == Options())
        #expect(!SettingTable.inFile.contains { options.values.isSaid($0.setting) })
        #expect(options[\.every] == nil)
        #expect(options[\.interval] == .seconds(10))
        #expect(options.resolvedHistory == .seconds(120))
        #expect(options[\.output] == nil)
        #expect(options.verbosity == .normal)
        #expect(options[\.timeout] == .seconds(10))
        #expect(options[\.maxBody] == 1_048_576)
        #expect(options[\.logBytes] == 8_388_608)
    }

    @Test func readsEveryOptionLongAndShort() throws {
        let short = try options(
            "-u", "http://a/x", "-e500ms", "-p", "fact", "-i", "5", "-o", "none", "-n3", "-d", "1m", "-v")
        let long = try options(
            "--url=http://a/x", "--every", "0.5", "--preset=fact", "--interval=5s", "--output", "none", "--count=3",
            "--duration=60s", "--verbose")
        #expect(short == long)
        #expect(short[\.urls].map(\.withoutUserInfo) == ["http://a/x"])
        #expect(short[\.every] == .milliseconds(500))
        #expect(short[\.presets] == [.fact])
        #expect(short[\.interval] == .seconds(5))
        #expect(short[\.output] == StdoutFormat.none)
        #expect(short[\.count] == 3)
        #expect(short[\.duration] == .seconds(60))
        #expect(short.verbosity == .verbose)

        let rest = try options(
            "--value", "/a/b", "--text=/c~1d", "--demo", "--history", "10m", "--quiet", "--header", "X-Key: 1",
            "--header=Accept:json", "--header-file", "h", "--bearer-file=t", "--cacert", "ca", "--cert", "c",
            "--key-file", "k", "--timeout", "3", "--max-body", "64KiB", "--max-redirects", "0", "--log-bytes", "2MiB")
        #expect(rest[\.value] == .at(try JSONPointer("/a/b")))
        #expect(rest[\.text] == .at(try JSONPointer("/c~1d")))
        #expect(rest[\.demo])
        #expect(rest[\.history] == .seconds(600))
        #expect(rest.verbosity == .quiet)
        #expect(rest[\.header].map(\.name) == ["X-Key", "Accept"])
        #expect(rest[\.header].map(\.value) == ["1", "json"])
        #expect(rest[\.headerFile] == "h")
        #expect(rest[\.bearerFile] == "t")
        #expect(rest[\.authorities] == "ca")
        #expect(rest[\.certificate] == "c")
        #expect(rest[\.keyFile] == "k")
        #expect(rest[\.timeout] == .seconds(3))
        #expect(rest[\.maxBody] == 65_536)
        #expect(rest[\.maxRedirects] == 0)
        #expect(rest[\.logBytes] == 2_097_152)
    }

    @Test func aModeHasNinePermissionsAtMost() throws {
        for (text, mode) in [("0", 0), ("660", 0o660), ("0777", 0o777)] as [(String, UInt32)] {
            #expect(try options("--listen", "--listen-mode", text)[\.listenMode] == mode)
        }
        for text in ["1000", "8", "rw", "-1", ""] {
            #expect(fault(["--listen", "--listen-mode", text]) != nil, "\(text)")
        }
    }

    @Test func takesUnambiguousAbbreviationsAndClusters() throws {
        #expect(try options("--dem", "--inter=20")[\.interval] == .seconds(20))
        #expect(try options("-qn2")[\.count] == 2)
        #expect(fault(["--he"])?.message == "option '--he' is ambiguous: --help, --header, --header-file")
        #expect(fault(["--c=1"])?.message.contains("--config, --count, --connect, --cacert, --cert, --compl") == true)
    }

    /// Names of which one begins with the other.
    private static let nested = Option.all.flatMap { option in
        Option.all.map(\.long).filter { $0 != option.long && $0.hasPrefix(option.long) }.map { (option.long, $0) }
    }

    @Test(arguments: nested) func anExactNameWinsOverALongerOneThatBeginsWithIt(name: String, longer: String) throws {
        for given in [name, longer] {
            let entry = try #require(Option.all.firstIndex { $0.long == given })
            let argument = Option.all[entry].argument == .none ? "" : "=x"
            #expect(try LongOptions.scan(["--\(given)\(argument)"]).occurrences.map(\.entry) == [entry])
        }
    }

    @Test func findsOptionsBehindOperandsAndStopsAtTwoDashes() throws {
        #expect(try Command.parse(["x", "--version"]) == .version)
        #expect(fault(["--", "--demo"])?.message == "unexpected '--demo'; did you mean '--demo'?")
        #expect(try options("--demo", "--")[\.demo])
        #expect(try options("-").feeds.readsStdin)
        #expect(try options("-", "--items", "/a")[\.items] == (try JSONPointer("/a")))
        #expect(fault(["-", "-"])?.message == "there is one standard input, and - stands twice")
        #expect(fault([""])?.message.hasPrefix("'' is no file") == true)
    }

    @Test(arguments: [
        (["--help"], Command.help(.main)), (["-h"], .help(.main)), (["--help=all"], .help(.all)),
        (["-V"], .version), (["--version", "--nonsense"], .version), (["--man"], .manual),
        (["--completions", "zsh"], .completions(.zsh)), (["--demo", "--help", "-n"], .help(.main)),
        (["check"], .check(Options())),
        (["fibonacci", "0"], .fibonacci([0])), (["fibonacci", "10", "0050", "100000"], .fibonacci([10, 50, 100_000])),
        (["fibonacci", "--help"], .help(.main)), (["check", "--version"], .version),
    ])
    func doesWhatIsRequestedInsteadOfWatching(_ arguments: [String], _ expected: Command) throws {
        #expect(try Command.parse(arguments) == expected)
    }

    @Test(arguments: [["--online", "check"], ["check", "--online"]])
    func asksTheSourcesWhenACheckIsToDoSo(_ arguments: [String]) throws {
        guard case .check(let options) = try Command.parse(arguments) else { throw UsageError("no check") }
        #expect(options[\.online] && !options[\.explain] && options != Options())
    }

    private static let wrong: [([String], String?, String)] = [
        (["--evry", "2"], nil, "unknown option '--evry'; did you mean '--every'?"),
        (["--intreval=2"], nil, "unknown option '--intreval'; did you mean '--interval'?"),
        (["--password=hunter2"], nil, "unknown option '--password'"),
        (["--=x"], nil, "unknown option '--'"),
        (["--keep", "1h"], nil, keepFault), (["--demo", "--keep=secret"], nil, keepFault),
        (["--page-parameter=p"], nil, optionFault("--page-parameter", "page_parameter")),
        (["--once", "ndjson"], "--once", "a form is written --once=ndjson"),
        (["html", "--demo", "--once"], "--once", "a form is written --once=html"),
        (["--once=html", "ndjson"], nil, "'ndjson' \(neither)"), (["--demo", "ndjson"], nil, "'ndjson' \(neither)"),
        (["--once", "--output=none"], "--output", stdoutFault),
        (["--once=ndjson", "-ondjson"], "--output", stdoutFault),
        (["--once", "--listen"], "--listen", onceFault),
        (["--once=ndjson", "-l=/x"], "--listen", onceFault),
        (["--once", "--http"], "--http", onceFault),
        (["--once=ndjson", "--http=127.0.0.1:9"], "--http", onceFault),
        (["-x"], nil, "unknown option '-x'"),
        (["-vx"], nil, "unknown option '-x'"),
        (["-é"], nil, "unknown option '-\\xc3'"),
        (["-\u{1b}"], nil, "unknown option '-␛'"),
        (["--\u{202e}every"], nil, "unknown option '--\\u{202e}every'; did you mean '--every'?"),
        (["--every"], "--every", "needs an argument: DURATION"),
        (["-n"], "--count", "needs an argument: N"),
        (["--demo=yes"], "--demo", "takes no argument"),
        (["-o", "ndjosn"], "--output", "'ndjosn' is not known; did you mean 'ndjson'?"),
        (["-o", "NDJSON"], "--output", "'NDJSON' is not known; did you mean 'ndjson'?"),
        (["-o", "xml"], "--output", "'xml' is not known; write view, ndjson or none"),
        (["-p", "fcat"], "--preset", "'fcat' is not known; did you mean 'fact'?"),
        (["--count", "0"], "--count", "'0' is not a whole number from 1"),
        (["-n", "-5"], "--count", "'-5' is not a whole number from 1"),
        (["-n", "1.5"], "--count", "'1.5' is not a whole number from 1"),
        (["-n", "99999999999999999999"], "--count", "'99999999999999999999' is not a whole number from 1"),
        (["--max-redirects", "51"], "--max-redirects", "'51' is not a whole number, 0 to 50"),
        (["--interval", "1.5s"], "--interval", "'1.5s' has a fraction; write whole seconds"),
        (["--interval", "2h"], "--interval", "'2h' is out of range; write 1s to 1h"),
        (["--every", "9ms"], "--every", "'9ms' is out of range; write 10ms to 1d"),
        (["--history", "5s"], "--history", "5s is shorter than one window of --interval 10s"),
        (["--key-file", "k"], "--key-file", "a key needs the certificate it belongs to; add --cert FILE"),
        (["--key", "k"], "--key", "'k' is no JSON Pointer; it begins with a slash: '/length'"),
        (["--number", "loose"], "--number", "'loose' is not known; write strict or lenient"),
        (["--online"], "--online", "says nothing without check"),
        (["--value", "length"], "--value", "'length' is no JSON Pointer; it begins with a slash: '/length'"),
        (["--text", "/a~2"], "--text", "'/a~2' has a ~ that is neither ~0 (for ~) nor ~1 (for /)"),
        (["--text", "/a~"], "--text", "'/a~' has a ~ that is neither ~0 (for ~) nor ~1 (for /)"),
        (["--cacert", ""], "--cacert", "the path is empty"),
        (["--help=me"], "--help", "write --help or --help=all"),
        (["--completions", "bsh"], "--completions", "'bsh' is not known; did you mean 'bash'?"),
        (["chekc"], nil, "unexpected 'chekc'; did you mean 'check'?"),
        (["check", "check"], nil, "'check' stands alone or in front: catwatch check"),
        (["--demo", "fibonacci", "5"], nil, "'fibonacci' stands alone or in front: catwatch fibonacci"),
        (["fibonacci"], nil, "fibonacci needs a number: catwatch fibonacci 90"),
        (["fibonacci", "1", "-5"], nil, "fibonacci: '-5' is no number; write digits only"),
        (["fibonacci", "5x"], nil, "fibonacci: '5x' is no number; write digits only"),
        (["fibonacci", ""], nil, "fibonacci: '' is no number; write digits only"),
        (["fibonacci", "٣"], nil, "fibonacci: '٣' is no number; write digits only"),
        (["fibonacci", "100001"], nil, "fibonacci: '100001' is too large; 100000 is the most"),
        (
            ["fibonacci", "99999999999999999999"], nil,
            "fibonacci: '99999999999999999999' is too large; 100000 is the most"
        ),
        (["me:pw@host"], nil, "'…@host' \(neither)"), (["me:hunter2@host:80/x"], nil, "'…@host:80/x' \(neither)"),
        (["me:1@2:80"], nil, "'…@2:80' \(neither)"), (["me@host:80"], nil, "'…@host:80' \(neither)"),
        (["catfact.ninja/fact?key=s"], nil, "'catfact.ninja/fact?…' \(neither)"),
        (["./fact"], nil, "'./fact' \(neither)"), (["http:/x"], nil, "'http:/x' \(neither)"),
        (["ftp://host/x"], nil, "'ftp://host/x' is no http, https, ws or wss URL"),
        (["http://"], nil, "'http://' has no host"), (["https://h:0/"], nil, portFault("https://h:0/")),
        (["host:0"], nil, portFault("http://host:0")), (["host:65536/x"], nil, portFault("http://host:65536/x")),
        (["a:b:80"], nil, "'a:b:80' \(neither)"), (["[::1]"], nil, "'[::1]' \(neither)"),
        (["fact"], nil, "unexpected 'fact'; did you mean '--preset fact'?"),
        (["fcat"], nil, "unexpected 'fcat'; did you mean '--preset fact'?"),
        (["lisen"], nil, "unexpected 'lisen'; did you mean '--listen'?"),
        (["fibonaci"], nil, "unexpected 'fibonaci'; did you mean 'fibonacci'?"),
        (["--attach", "http://h/"], "--attach", attachFault),
        (["--attach=ws://h/"], "--attach", "an agent is read by its socket, http or https, not by ws"),
        (["--no-reconnect"], "--no-reconnect", "says nothing without --attach, or beside other sources"),
        (
            ["-a", "-a=/x", "--no-reconnect"], "--no-reconnect",
            "says nothing without --attach, or beside other sources"
        ),
        (["--attach", "/x.sock"], "--attach", "a path is written --attach=PATH"),
        (["./x.sock", "-l"], "--listen", "a path is written --listen=PATH"),
        (["--listen", "x.sock"], "--listen", "a path is written --listen=PATH"),
        (["--listen=/x.sock", "./y"], nil, "'./y' \(neither)"),
        (["--replay", "f", "http://h/"], "--replay", replayFault), (["--replay=f", "-"], "--replay", replayFault),
        (["--replay=f", "--demo"], "--replay", replayFault), (["--replay=f", "-a"], "--replay", replayFault),
        (["--replay=f", "--journal=f"], "--replay", "a journal is not played back into itself"),
        (["--replay="], "--replay", "the path is empty"),
        (["--speed=2x"], "--speed", "says nothing without --replay"),
        (["--every", "1s", "--demo", "-e2s"], "--every", "is given twice; leave one out"),
        (["--http=127.0.0.1:1", "--http=127.0.0.1:2"], "--http", "is given twice; leave one out"),
        (
            ["--http", "127.0.0.1:9300", "--demo"], "--http",
            "an address is written --http=HOST:PORT; what is to be watched stands in front of it"
        ),
        (
            ["--http", "[::1]:0"], "--http",
            "an address is written --http=HOST:PORT; what is to be watched stands in front of it"
        ),
        (["--from=2026-11-22T08:30:00Z"], "--from", "says nothing without --replay"),
        (["--replay=f", "--speed=0.01x"], "--speed", "'0.01x' is out of range; write 0.1x to 10000x, or max"),
        (["--replay=f", "--speed=10001"], "--speed", "'10001' is out of range; write 0.1x to 10000x, or max"),
        (["--replay=f", "--speed=fast"], "--speed", "'fast' is no speed; write one like 10x, 0.5x or max"),
        (
            ["--replay=f", "--from=8:30"], "--from",
            "'8:30' is no time; write 08:00, 'yesterday 08:00', '2026-11-22 08:00', 2026-11-22, "
                + "2026-11-22T08:00:00Z, -1h, '1h ago', today, yesterday or now"
        ),
    ]

    @Test(arguments: wrong)
    func saysWhatIsWrong(_ arguments: [String], _ option: String?, _ message: String) {
        #expect(fault(arguments) == UsageError(message, option: option))
    }

    private static let neither =
        "is no file that is there; an address begins with http:// or ws://, or is HOST:PORT"
    private static let attachFault = "an agent's path or address is written --attach=PATH"

    private static let onceFault = "does not go with --once: it ends before anybody could read"
    private static let stdoutFault = "does not go with --once: it says itself what stdout gets"
    private static let keepFault = optionFault("--keep", "keep")
    private static func optionFault(_ option: String, _ key: String) -> String {
        "'\(option)' is no option; a configuration says it of a source: \"sources\": [{…, \"\(key)\": …}]"
    }

    private static let replayFault =
        "the feed is the recording's; leave out --url, --preset, --demo, --attach, files and addresses"

    @Test func aPortAloneIsTakenFromAConfiguration() throws {
        let plan = try ConfigFixture.plan(#"{"http": 9400}"#)
        #expect(plan.options[\.http]?.description == "127.0.0.1:9400")
    }

    @Test func aRecordingIsWatchedInsteadOfSources() throws {
        let options = try options("--replay=f", "--speed=0.5x", "--from=2026-11-22T08:30:00Z")
        #expect(options[\.replay] == "f" && options[\.speed] == .thousandths(500) && options.isRelay)
        #expect(try options[\.from] == TimeWord("2026-11-22T08:30:00Z"))
        #expect(options.namesSources && !options.mayAttachByDefault)
        #expect(try self.options("--replay=-")[\.speed] == .usual)
        for text in ["max", "10x", "0.1x", "2.5x", "10000x"] {
            #expect(try self.options("--replay=f", "--speed", text)[\.speed].text == text)
        }
    }

    private static func portFault(_ url: String) -> String {
        "'\(url)' has a port that is not a number from 1 to 65535"
    }

    /// What the words come to when `x.json`, `check`, `localhost:80` and `http:` are files.
    private func words(_ words: String...) throws -> Options {
        let files: Set = ["x.json", "check", "localhost:80", "a/b", "./check", "/", "http://h/"]
        let command = try Command.parse(words, isThere: files.contains)
        switch command {
        case .watch(let options), .check(let options): return options
        default: throw UsageError("\(command)")
        }
    }

    @Test func takesAddressesFilesAndStandardInputInAnyOrder() throws {
        let options = try words("https://h/x.json", "x.json", "-", "WS://h/y", "-n", "3", "a/b", "--url", "http://h/z")
        // Options were read before the words.
        #expect(options[\.urls].map { "\($0)" } == ["http://h/z", "https://h/x.json", "ws://h/y"])
        #expect(options.feeds.files == ["x.json", "a/b"] && options.feeds.readsStdin && options[\.count] == 3)
        #expect(options.feeds.notices.isEmpty && options.namesSources)
        #expect(try words("check", "x.json", "http://h/q")[\.urls].count == 1)
    }

    @Test func aConfigurationIsNotReadAsLines() throws {
        for words in [["x.jsonc"], ["check", "a/x.jsonc"]] {
            #expect(throws: UsageError("'\(words[words.count - 1])' is a configuration by its name; write -c in front"))
            {
                try Command.parse(words, isThere: { _ in true })
            }
        }
        #expect(throws: UsageError(Self.attachFault, option: "--attach")) {
            try words("--attach", "a/b")
        }
    }

    @Test func whatMayBeLeftOutStandsBehindASignInShort() throws {
        #expect(try options("-l=/x.sock")[\.listen]?.path == "/x.sock")
        #expect(try options("-a=x")[\.attach].map(\.path) == ["x"] && options("-ax")[\.attach].map(\.path) == ["x"])
        #expect(try options("-l==x")[\.listen]?.path == "=x" && options("--listen==x")[\.listen]?.path == "=x")
        #expect(try options("-l")[\.listen] == .usual && options("--attach")[\.attach] == [FeedURL(socket: "")])
        // A variable that is not set.
        for (word, option) in [("-l=", "--listen"), ("--listen=", "--listen"), ("--attach=", "--attach")] {
            #expect(throws: UsageError("needs PATH behind '='; leave '=' out for the usual one", option: option)) {
                try options(word)
            }
        }
        // As everywhere else, where it must be there.
        #expect(fault(["-e=5s"])?.message.hasPrefix("'=5s' is not a duration") == true)
    }

    @Test(arguments: [
        ("localhost:8080", "http://localhost:8080/"), ("h:1/x.json", "http://h:1/x.json"),
        ("[::1]:80", "http://[::1]:80/"),
        ("10.0.0.1:65535/a:b@c", "http://10.0.0.1:65535/a:b@c"), ("H-1.x:80?key=s", "http://h-1.x:80/?…"),
    ])
    func aHostAndAPortAreAnHTTPAddressWithANotice(word: String, url: String) throws {
        let options = try words(word)
        #expect(options[\.urls].map { "\($0)" } == [url])
        #expect(options.feeds.notices == ["\(FeedURL.redact(word)) is taken for \(url)"])
    }

    @Test func readsTheEnvironmentAndLetsFlagsWin() throws {
        let environment = [
            "CATWATCH_URL": " http://a/1  http://b/2\n", "CATWATCH_EVERY": "5s", "CATWATCH_DEMO": "0",
            "CATWATCH_VERBOSE": "1", "CATWATCH_MAX_BODY": "2MiB", "CATWATCH_HEADER": "A: 1\nB: 2", "CATWATCH_COUNT": "",
            "CATWATCH_HELP": "1", "CATWATCH_NONSENSE": "x",
        ]
        let plain = try options(environment: environment)
        #expect(plain[\.urls].map(\.host) == ["a", "b"])
        #expect(plain[\.every] == .seconds(5))
        #expect(!plain[\.demo])
        #expect(plain.verbosity == .verbose)
        #expect(plain[\.maxBody] == 2_097_152)
        #expect(plain[\.header].map(\.name) == ["A", "B"])
        #expect(plain[\.count] == nil)

        let flagged = try options("-u", "http://c/", "--every=1", "-q", "--header", "C: 3", environment: environment)
        #expect(flagged[\.urls].map(\.host) == ["c"])
        #expect(flagged[\.every] == .seconds(1))
        #expect(flagged.verbosity == .quiet)
        #expect(flagged[\.header].map(\.name) == ["C"])
    }

    @Test func namesTheVariableThatIsWrongUnlessAFlagReplacesIt() throws {
        let wrong = fault([], ["CATWATCH_EVERY": "soon"])
        #expect(wrong?.option == "CATWATCH_EVERY")
        #expect(wrong?.message == "'soon' is not a duration; write 500ms, 10s, 2m, 1h, or bare seconds")
        #expect(try options("--every", "1", environment: ["CATWATCH_EVERY": "soon"])[\.every] == .seconds(1))
        #expect(fault([], ["CATWATCH_DEMO": "maybe"])?.message == "'maybe' is neither 1 nor 0")
        #expect(try Command.parse(["--help"], environment: [:]) == .help(.main))
    }

    @Test func servesNothingWithOnceWhateverTheConfigurationSays() throws {
        func options(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Options {
            let command = try Command.parse(arguments, environment: environment) { (_) throws(UsageError) in
                ConfigText(
                    name: "c", bytes: Array(#"{"listen": true, "http": 9300, "output": "none", "history": "5m"}"#.utf8))
            }
            guard case .watch(let options) = command else { throw Unexpected(command: command) }
            return options
        }
        #expect(try options([])[\.listen] != nil && options([])[\.http] != nil)
        for arguments in [["--once"], ["--once=ndjson", "-n", "3"]] {
            let once = try options(arguments, ["CATWATCH_LISTEN": "/x", "CATWATCH_OUTPUT": "view"])
            #expect(once[\.listen] == nil && once[\.http] == nil && once[\.history] == .seconds(300))
        }
    }
}
