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

    @Test func theExampleOfAQIIsThePresetWithAURL() throws {
        let preset = try ConfigFixture.sources(nil, ["-p", "aqi", "-u", "wss://aqi.example.org/feed"])
        #expect(try ConfigFixture.sources(ConfigFixture.example("aqi")) == preset)
        guard case .webSocket(let source) = try #require(preset.first) else { throw UsageError("no WebSocket") }
        #expect(
            source.description == SourceDescription(name: "aqi", unit: "AQI", bands: ConfigScale.builtIn["cpcb"]?.scale)
        )
        #expect(source.extraction.items == .root)
        #expect(source.extraction.key == .at(pointer("/city")))
        #expect(source.extraction.value == .at(pointer("/aqi")))
        #expect(source.extraction.text == .nowhere)
        #expect(source.request.url == "wss://aqi.example.org/feed")
    }

    @Test func everyPresetIsReadAndIsASourceOfAConfiguration() throws {
        for preset in Preset.single {
            #expect(
                ConfigFixture.faults(#"{"sources": [\#(preset.tree.line)]}"#)
                    == (preset == .aqi ? ["1:14: sources[0]: needs url"] : []),
                "\(preset)")
        }
        let sizes = Preset.single.map { preset in
            SettingTable.ofSources.count { preset.values.isSaid($0.setting) }
        }
        #expect(sizes == [5, 11, 12, 10, 8, 6])
        #expect(ConfigScale.builtIn["cpcb"]?.bands.count == 6)
        for kind in SourceKind.allCases {
            let values = SettingValues.initial(for: kind)
            for (setting, source) in SettingTable.ofSources {
                let entry = values.entry(of: setting)
                #expect(entry == nil || source.kinds.contains(kind) && entry?.origin == .initial, "\(setting.name)")
            }
        }
    }

    @Test func theDefaultsAreTheInputsOwn() throws {
        let request = HTTPRequest(url: "http://h/")
        let http = SettingValues.initial(for: .http)
        #expect(http[\.timeout] == request.timeout && http[\.maxBody] == request.maxBody)
        #expect(http[\.maxRedirects] == request.maxRedirects && http[\.every] == HTTPSource.usualEvery)
        let socket = WebSocketSource(SourceDescription(name: "a"), request: request)
        let webSocket = SettingValues.initial(for: .websocket)
        #expect(webSocket[\.pingEvery] == socket.pingEvery && webSocket[\.pingTimeout] == socket.pingTimeout)
        let source = PagesSource(
            SourceDescription(name: "a"), request: request, paging: .next(.root), extraction: Extraction())
        let pages = SettingValues.initial(for: .pages)
        #expect(pages[\.mostPages] == source.mostPages && pages[\.batchParameter] == source.batchParameter)
        #expect(pages[\.every] == PagesSource.usualEvery)
        #expect(
            SettingValues.initial(for: .stdin)[\.maxLine] == StdinSource(SourceDescription(name: "a")).maxLine)
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

    @Test func optionsOverrideAPresetOfTheCommandLine() throws {
        let sources = try ConfigFixture.sources(
            nil, ["-p", "fact", "--every", "5s", "--value", "/x", "--timeout", "1s"])
        guard case .http(let fact) = sources[0] else { throw UsageError("no http") }
        #expect(fact.every == .seconds(5) && fact.extraction.value == .at(pointer("/x")))
        #expect(fact.extraction.text == .at(pointer("/fact")) && fact.request.timeout == .seconds(1))
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

    @Test func watchesFactsWhenNothingIsNamed() throws {
        for text in [nil, "{}", #"{"interval":5}"#] {
            let sources = try ConfigFixture.sources(text)
            #expect(sources.compactMap(\.request?.url) == ["https://catfact.ninja/fact"])
        }
        let sources = try ConfigFixture.sources(
            nil, ["--demo", "-u", "http://h/fact"], demoOrigin: "http://127.0.0.1:1")
        #expect(sources.map(\.description.name) == ["fact", "fact-2"])
        #expect(sources.map(\.description.type) == ["fact", "fact-2"])
        #expect(sources.compactMap(\.request?.url) == ["http://127.0.0.1:1/fact", "http://h/fact"])
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

    @Test func anEarlierDerivedNameGivesWayToAChosenOne() throws {
        let text = #"{"sources":[{"url":"http://h/a"},{"url":"http://g/a"},{"url":"http://h/b","name":"a"}]}"#
        #expect(try ConfigFixture.sources(text).map(\.description.name) == ["a-2", "a-3", "a"])
    }

    @Test func aPresetIsOverriddenKeyByKey() throws {
        let text = #"{"sources":[{"preset":"breeds","name":"cats","batch":10,"page_parameter":"page","once":true}]}"#
        guard case .pages(let pages) = try ConfigFixture.sources(text)[0] else { throw UsageError("no pages") }
        #expect(pages.description == SourceDescription(name: "cats", type: "breed", rhythm: .once))
        #expect(pages.paging == .counted(parameter: "page", first: 1) && pages.batch == 10 && pages.every == nil)
        #expect(pages.request.url == "https://catfact.ninja/breeds")
        let others = #"{"sources":[{"preset":"breeds","page_parameter":"page","first_page":3,"every":"5m"}]}"#
        guard case .pages(let pages) = try ConfigFixture.sources(others)[0] else { throw UsageError("no pages") }
        #expect(pages.paging == .counted(parameter: "page", first: 3) && pages.every == .seconds(300))
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

    @Test func bandsMayBeDefinedAfterTheSourcesOrWithin() throws {
        let scale =
            ##"{"unit":"m","higher_is_better":true,"bands":[{"name":"a","letter":"A","color":"#FF0000","up_to":-1.5},{"name":"b","letter":"B","color":"#00ff00"}]}"##
        for text in [
            #"{"sources":[{"url":"http://h/a","bands":"s","unit":"km"}],"bands":{"s":\#(scale)}}"#,
            #"{"sources":[{"url":"http://h/a","bands":\#(scale),"unit":"km"}]}"#,
        ] {
            let description = try ConfigFixture.sources(text)[0].description
            #expect(description.unit == "km")
            #expect(description.bands?.higherIsBetter == true)
            #expect(description.bands?.bands.map(\.upTo) == [-1.5, nil])
            #expect(description.bands?.bands[0].color == Band.Color(red: 255, green: 0, blue: 0))
        }
    }
}
