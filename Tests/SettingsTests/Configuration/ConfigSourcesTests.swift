import Feed
import Glibc
import Inputs
import TestSupport
import Testing

@testable import Settings

/// What configurations, presets and options come to.
@Suite(.limited) struct ConfigSourcesTests {
    /// One that is right.
    private func pointer(_ text: String) -> JSONPointer { (try? JSONPointer(text)) ?? .root }

    @Test(arguments: ["fact", "breeds", "dogs", "fibonacci"])
    func examplesAreThePresets(_ name: String) throws {
        #expect(try ConfigFixture.sources(ConfigFixture.example(name)) == ConfigFixture.sources(nil, ["-p", name]))
    }

    @Test func readsEveryKeyOfASource() throws {
        let sources = try ConfigFixture.sources(
            ConfigFixture.example("catwatch"), environment: ["STATUS_KEY": " k \n", "DOG_API_KEY": ""])
        #expect(sources.map(\.description.name) == ["fact", "dogs", "load", "things", "ticks", "piped", "canary"])
        guard case .http(let dogs) = sources[1], case .http(let load) = sources[2],
            case .pages(let things) = sources[3],
            case .webSocket(let ticks) = sources[4], case .stdin(let piped) = sources[5],
            case .fibonacci(let canary) = sources[6]
        else { throw UsageError("other kinds") }
        #expect(dogs.description.keep == .seconds(3_600) && load.description.keep == nil)
        #expect(dogs.every == .seconds(60) && dogs.description.type == "dog")
        #expect(dogs.request.headers == ["Accept: application/json"])
        #expect(dogs.extraction.key == .position && dogs.extraction.value == .nowhere)

        #expect(load.description.unit == "processes" && load.description.bands?.bands.count == 3)
        #expect(load.every == .seconds(5))
        #expect(
            load.extraction
                == Extraction(
                    value: .at(pointer("/load/0")), text: .nowhere, time: pointer("/at"), number: .lenient))
        #expect(load.request.headers == ["Accept: application/json", "Accept-Language: en", "X-Api-Key: k"])
        #expect(load.request.timeout == .seconds(3) && load.request.maxBody == 65_536)
        #expect(load.request.maxRedirects == 0 && !load.request.usesProxy)

        #expect(things.paging == .counted(parameter: "page", first: 1))
        #expect(things.batch == 50 && things.batchParameter == "limit" && things.mostPages == 20)
        #expect(things.pause == .milliseconds(100) && things.every == nil && !things.followsOtherOrigins)
        #expect(things.total == pointer("/count") && things.extraction.key == .at(pointer("/id")))

        #expect(ticks.subprotocols == ["ticks.v1"])
        #expect(ticks.subscribe == #"{"op":"subscribe","args":["eur","usd"]}"#)
        #expect(ticks.pingEvery == .seconds(20) && ticks.pingTimeout == .seconds(10))
        #expect(piped.maxLine == 1 << 20)
        #expect(canary.n == 1_000 && canary.every == .seconds(30) && canary.emission == .summary)
    }

    @Test func credentialsComeFromSecrets() throws {
        let text =
            #"{"sources":[{"url":"http://h/","basic":{"user":"me","password":{"env":"P"}}}, {"url":"http://h/","bearer":{"env":"T"}}]}"#
        let requests = try ConfigFixture.sources(
            text, ["--header", "Authorization: general"], environment: ["P": "pw", "T": "tok"]
        )
        .compactMap(\.request)
        #expect(requests.map(\.credentials) == [.init(name: "me", password: "pw"), nil])
        #expect(requests.map(\.headers) == [[], ["Authorization: Bearer tok"]])
    }

    @Test(arguments: [
        (#""bearer":{"env":"UNSET_ONE"}"#, "1:44: sources[0].bearer: the environment variable 'UNSET_ONE' is not set"),
        (#""bearer":{"env":"BLANKS"}"#, "1:44: sources[0].bearer: the secret holds something that is no token"),
        (
            #""headers":{"X-Api-Key":{"env":"BROKEN"}}"#,
            "1:45: sources[0].headers: the value of header 'X-Api-Key' holds a line break or control character"
        ),
        (
            #""bearer":{"file":"/nonexistent"}"#,
            "1:44: sources[0].bearer: cannot read '/nonexistent': No such file or directory"
        ),
        (#""ca_file":"/nonexistent""#, "1:45: sources[0].ca_file: '/nonexistent': No such file or directory"),
    ])
    func saysWhichSecretOrFileIsMissing(_ keys: String, _ expected: String) throws {
        let text = #"{"sources": [{"url": "http://h/", \#(keys)}]}"#
        let error = #expect(throws: UsageError.self) {
            try ConfigFixture.plan(text, environment: ["BLANKS": "hunter2 hunter2", "BROKEN": "hunter2\nX: hunter2"])
        }
        #expect(error?.lines == ["test.jsonc:" + expected])
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test func aSourcesOwnKeysWinOverOptions() throws {
        let text =
            #"{"every":"7s","timeout":"8s","sources":[{"url":"http://h/a","every":"3s"},{"url":"http://h/b"},{"preset":"fact"}]}"#
        let every = try ConfigFixture.sources(text).map { source in
            guard case .http(let source) = source else { throw UsageError("no http") }
            return (source.every, source.request.timeout)
        }
        #expect(every.map(\.0) == [.seconds(3), .seconds(7), .seconds(2)])
        #expect(every.map(\.1) == [.seconds(8), .seconds(8), .seconds(8)])
    }

    @Test func theCommandLineSaysWhatIsStartedInsteadOfTheFile() throws {
        let text = #"{"interval":"20s","timeout":"3s","preset":["dogs"],"demo":false,"sources":[{"url":"http://h/a"}]}"#
        #expect(try ConfigFixture.sources(text).map(\.description.name) == ["dogs", "a"])
        for (arguments, environment, names) in [
            (["-u", "http://h/b"], [:], ["b"]), (["-p", "fact"], [:], ["fact"]), (["--demo"], [:], ["fact"]),
            (["-"], [:], ["stdin"]), ([], ["CATWATCH_URL": "http://h/c"], ["c"]), (["-a"], [:], []),
            (["-v"], ["CATWATCH_DEMO": "0"], ["dogs", "a"]),
        ] as [([String], [String: String], [String])] {
            let plan = try ConfigFixture.plan(text, arguments, environment: environment)
            let origin = plan.options[\.demo] ? "http://127.0.0.1:1" : nil
            #expect(try plan.sources(demoOrigin: origin).map(\.description.name) == names, "\(arguments)")
            #expect(plan.options[\.interval] == .seconds(20))
            #expect(plan.options[\.timeout] == .seconds(3))
        }
    }

    @Test func flagsWinOverTheEnvironmentAndThatOverTheFile() throws {
        let text = #"{"interval":"20s","output":"none","max_readers":5,"verbose":true}"#
        let options = try ConfigFixture.plan(
            text, ["-i", "40s", "-q"], environment: ["CATWATCH_INTERVAL": "30s", "CATWATCH_OUTPUT": "ndjson"]
        ).options
        #expect(options[\.interval] == .seconds(40) && options[\.output] == .ndjson && options[\.maxReaders] == 5)
        #expect(options.verbosity == .quiet)
    }

    @Test func everyPresetResolvesUnderDemo() throws {
        let plan = try ConfigFixture.plan(nil, ["--demo", "-p", "all"])
        #expect(plan.notices.isEmpty)
        let sources = try plan.sources(demoOrigin: "http://127.0.0.1:4711")
        #expect(sources.map(\.description.name) == ["fact", "facts", "breeds", "dogs", "aqi", "fibonacci"])
        #expect(sources.map(\.description.type) == ["fact", "fact", "breed", "dog", "aqi", "fibonacci"])
        #expect(
            sources.compactMap(\.request?.url) == [
                "http://127.0.0.1:4711/fact", "http://127.0.0.1:4711/facts", "http://127.0.0.1:4711/breeds",
                "http://127.0.0.1:4711/v1/images/search?limit=10&has_breeds=true", "ws://127.0.0.1:4711/aqi",
            ])
        #expect(sources.compactMap(\.request?.usesProxy) == [false, false, false, false, false])
    }

    @Test func allLeavesOutWhatHasNoURLAndSaysSo() throws {
        let plan = try ConfigFixture.plan(nil, ["-p", "all"])
        #expect(
            try plan.sources(demoOrigin: nil).map(\.description.name) == [
                "fact", "facts", "breeds", "dogs", "fibonacci",
            ])
        #expect(
            plan.notices == [
                "the preset aqi is left out, as it needs the URL of a feed: add --url wss://HOST/PATH"
            ])
        let whole = try ConfigFixture.sources(nil, ["-p", "all", "-u", "http://h/x", "-u", "ws://h/y"])
        #expect(whole.map(\.description.name) == ["fact", "facts", "breeds", "dogs", "aqi", "fibonacci", "x"])
        let error = #expect(throws: UsageError.self) { try ConfigFixture.plan(nil, ["-p", "aqi"]) }
        #expect(
            error == UsageError("aqi needs the URL of a feed; add --url wss://HOST/PATH, or --demo", option: "--preset")
        )
    }

    @Test func aURLTellsItsKindAndName() throws {
        let sources = try ConfigFixture.sources(
            nil,
            ["-u", "wss://h/a", "-u", "https://me:pw@h/a", "-", "--items", "", "--key", "#", "--number", "lenient"])
        #expect(sources.map(\.description.name) == ["a", "a-2", "stdin"])
        guard case .webSocket(let socket) = sources[0], case .http(let http) = sources[1],
            case .stdin(let stdin) = sources[2]
        else { throw UsageError("other kinds") }
        let extraction = Extraction(items: .root, key: .position, number: .lenient)
        #expect([socket.extraction, http.extraction, stdin.extraction] == [extraction, extraction, extraction])
        #expect(http.request.credentials == .init(name: "me", password: "pw") && http.request.url == "https://h/a")
    }

    /// What lets a view tell what is late from what is not due yet.
    @Test(arguments: [
        (#"{"url":"http://h/a","every":"5s"}"#, Rhythm.every(.seconds(5))),
        (#"{"preset":"facts"}"#, .every(.seconds(600))),
        (#"{"preset":"breeds","once":true}"#, .once), (#"{"kind":"fibonacci","n":5}"#, .once),
        (#"{"kind":"fibonacci","n":5,"every":"1m"}"#, .every(.seconds(60))), (#"{"url":"ws://h/a"}"#, .stream),
        (#"{"kind":"stdin"}"#, .stream),
    ])
    func saysWhenSomethingNewIsToBeExpected(_ source: String, _ rhythm: Rhythm) throws {
        #expect(try ConfigFixture.sources(#"{"sources":[\#(source)]}"#).map(\.description.rhythm) == [rhythm])
    }

    /// What is in a file comes once; into a pipe of that name somebody may go on writing.
    @Test func aFileIsReadOnceAndAPipeForAsLongAsItLasts() throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "file")
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        for (name, rhythm) in [("file", Rhythm.once), ("pipe", .stream)] {
            let text = #"{"sources":[{"kind":"file","path":"\#(folder.path(name))"}]}"#
            #expect(try ConfigFixture.sources(text).map(\.description.rhythm) == [rhythm])
        }
    }
}
