import Feed
import Inputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct ExtractionTests {
    private static let arrival = Timestamp(seconds: 1_800_000_000)

    /// An extraction that is asked of a document, and what it must come to.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var document: String
        var extraction: Extraction
        var events: [String]
        var problem: String?

        init(
            _ name: String, _ document: String, items: String? = nil, key: Extraction.Key? = nil,
            value: Extraction.Place = .first, states: [String] = [], text: Extraction.Place = .nowhere,
            time: String? = nil,
            number: Extraction.NumberRule = .strict, _ events: [String], problem: String? = nil
        ) {
            testDescription = name
            self.document = document
            extraction = Extraction(
                items: items.map(ExtractionTests.pointer), key: key, value: value, states: states, text: text,
                time: time.map(ExtractionTests.pointer), number: number)
            self.events = events
            self.problem = problem
        }
    }

    private static func pointer(_ text: String) -> JSONPointer {
        guard let pointer = try? JSONPointer(text) else { preconditionFailure("\(text) in a test") }
        return pointer
    }

    private static func at(_ text: String) -> Extraction.Place { .at(pointer(text)) }

    private func read(_ document: String, _ extraction: Extraction) throws -> (texts: [String], Extractor.Outcome) {
        var batch = EventBatch()
        let extractor = Extractor(extraction, of: .lines)
        let outcome = try extractor.add(
            extractor.read(Array(document.utf8)[...]), from: SourceID(index: 0), at: Self.arrival, to: &batch)
        #expect(outcome.events == batch.count)
        return (eventTexts(batch, arrival: Self.arrival), outcome)
    }

    private func message(_ document: String, _ extraction: Extraction) throws -> String {
        let failure = try #require(throws: Failure.self) { try read(document, extraction) }
        #expect(failure.code == .pointer)
        return failure.message
    }

    static let cases = [
        Case(
            "an array", #"{"data": [{"n": 1}, {"n": 2}]}"#, items: "/data",
            [
                #"value=1.0 data={"n":1}"#, #"value=2.0 data={"n":2}"#,
            ]),
        Case("the document itself", "[1, 2]", items: "", ["value=1.0 data=1", "value=2.0 data=2"]),
        Case(
            "scalars at the root of their item", "[1,2]", items: "", value: at(""),
            ["value=1.0 data=1", "value=2.0 data=2"]),
        Case("no items", #"{"data":[]}"#, items: "/data", []),
        Case("no members", #"{"data":{}}"#, items: "/data", []),
        Case(
            "an object's members by name", #"{"a": 1, "b\n\u0063": 2}"#, items: "",
            ["key=a value=1.0 data=1", "key=b\nc value=2.0 data=2"]),
        Case(
            "an object's members by position", #"{"a":1,"b":2}"#, items: "", key: .position,
            ["key=a value=1.0 data=1", "key=b value=2.0 data=2"]),
        Case(
            "an array's elements by position", "[5,6]", items: "", key: .position,
            ["key=1 value=5.0 data=5", "key=2 value=6.0 data=6"]),
        Case(
            "members named twice", #"{"a":1,"a":2}"#, items: "", ["key=a value=1.0 data=1", "key=a value=2.0 data=2"]),
        Case("items in a key that is there twice", #"{"d":[1],"d":[2]}"#, items: "/d", ["value=1.0 data=1"]),
        Case(
            "a key", #"[{"breed":"Abyssinian","n":7}]"#, items: "", key: .at(pointer("/breed")),
            [
                #"key=Abyssinian value=7.0 data={"breed":"Abyssinian","n":7}"#
            ]),
        Case(
            "an escaped key", #"[{"k":"\u00e9\"","n":7}]"#, items: "", key: .at(pointer("/k")),
            [
                #"key=é" value=7.0 data={"k":"\u00e9\"","n":7}"#
            ]),
        Case(
            "a number for a key", #"[{"id": 1.50e2}]"#, items: "", key: .at(pointer("/id")), value: .nowhere,
            [
                #"key=1.50e2 data={"id":1.50e2}"#
            ]),
        Case(
            "an empty key", #"[{"id":""}]"#, items: "", key: .at(pointer("/id")), value: .nowhere,
            [#"key= data={"id":""}"#]),
        Case(
            "no key", #"[{"k":null,"n":1},{"k":"a","n":2},{"n":3},{"k":[],"n":4}]"#, items: "", key: .at(pointer("/k")),
            [#"key=a value=2.0 data={"k":"a","n":2}"#],
            problem: """
                3 of 4 items are not as asked for (3 left out for want of a key); first, item 1: "/k" is null and not \
                a string or number
                """),
        Case(
            "no value", #"[{"v":null},{"v":"3"},{},{"v":1e999},{"v":4}]"#, items: "", value: at("/v"),
            [#"data={"v":null}"#, #"data={"v":"3"}"#, "data={}", "truncated", #"value=4.0 data={"v":4}"#],
            problem: """
                3 of 5 items are not as asked for (3 without value); first, item 2: "/v" is a string and not a number; \
                --number lenient takes numbers in strings
                """),
        Case(
            "words", #"[{"s":"up"},{"s":"d\u006fwn"},{"s":7},{"s":null},{"s":"up"}]"#, items: "", value: at("/s"),
            states: ["up", "down"],
            [
                #"value=0.0 word=up data={"s":"up"}"#, #"value=1.0 word=down data={"s":"d\u006fwn"}"#,
                #"value=7.0 data={"s":7}"#, #"data={"s":null}"#, #"value=0.0 word=up data={"s":"up"}"#,
            ]),
        Case(
            "words that are none of the states", #"["Up","down","",{},"up "]"#, items: "", value: at(""),
            states: ["up", "down"],
            [#"data="Up""#, #"value=1.0 word=down data="down""#, #"data="""#, "data={}", #"data="up ""#],
            problem: """
                4 of 5 items are not as asked for (4 without value); first, item 1: "the document" is 'Up', which is none \
                of the states; did you mean 'up'?
                """),
        Case(
            "a word that is too long and acts on a terminal", #"["\u001b[31m\#(long)"]"#, items: "", value: at(""),
            states: ["up"], [#"data="\u001b[31m\#(long)""#],
            problem: """
                1 of 1 items is not as asked for (1 without value); first, item 1: "the document" is \
                '␛[31m\(long.prefix(59))…', which is none of the states
                """),
        Case(
            "words where numbers in strings count", #"["2","1","x"]"#, items: "", value: at(""), states: ["one", "1"],
            number: .lenient, [#"value=2.0 data="2""#, #"value=1.0 word=1 data="1""#, #"data="x""#],
            problem: """
                1 of 3 items is not as asked for (1 without value); first, item 3: "the document" is 'x', which is none of \
                the states
                """),
        Case(
            "booleans", "[true,false,null,2]", items: "", value: at(""),
            ["value=1.0 word=true data=true", "value=0.0 word=false data=false", "data=null", "value=2.0 data=2"]),
        Case(
            "booleans beside states", #"[true,false,"down"]"#, items: "", value: at(""), states: ["up", "down"],
            [
                "value=1.0 word=true data=true", "value=0.0 word=false data=false", #"value=1.0 word=down data="down""#,
            ]),
        Case(
            "booleans as states", #"[true,false,"true"]"#, items: "", value: at(""), states: ["true", "false"],
            [
                "value=0.0 word=true data=true", "value=1.0 word=false data=false", #"value=0.0 word=true data="true""#,
            ]),
        Case(
            "a boolean that is none of the states", "[true,false]", items: "", value: at(""), states: ["on", "true"],
            ["value=1.0 word=true data=true", "data=false"],
            problem: """
                1 of 2 items is not as asked for (1 without value); first, item 2: "the document" is 'false', which is none \
                of the states
                """),
        Case(
            "no words where the first number was", #"[{"v":1},{"v":true},{"v":"up"}]"#, items: "",
            [#"value=1.0 data={"v":1}"#, #"data={"v":true}"#, #"data={"v":"up"}"#]),
        Case(
            "a boolean as text", #"[{"t":true},{"t":"x"},{"t":false},{"t":null}]"#, items: "", value: .nowhere,
            text: at("/t"),
            [
                #"text=true data={"t":true}"#, #"text=x data={"t":"x"}"#, #"text=false data={"t":false}"#,
                #"data={"t":null}"#,
            ]
        ),
        Case(
            "half a pair in a word", #"["\ud800"]"#, items: "", value: at(""), states: ["\u{FFFD}"],
            ["value=0.0 word=\u{FFFD} data=\"\\ufffd\" altered"]),
        Case(
            "one event with a word", #"{"s":"up"}"#, value: at("/s"), states: ["up"],
            [#"value=0.0 word=up data={"s":"up"}"#]),
        Case(
            "one event with a word that is none of the states", #"{"s":"UP"}"#, value: at("/s"), states: ["up"],
            [#"data={"s":"UP"}"#], problem: #""/s" is 'UP', which is none of the states; did you mean 'up'?"#),
        Case("nothing to be the first number", #"[{"v":null},"7"]"#, items: "", [#"data={"v":null}"#, #"data="7""#]),
        Case(
            "the first number that fits, however deep", #"[{"a":{"b":[1e999,"x",2]},"c":3}]"#, items: "", text: .first,
            ["value=2.0 text=x truncated"]),
        Case(
            "what not every reader takes", #"[{"k":"\ud800","v":1},{"k":1e999,"v":2},{"k":[\#(deep)],"v":3}]"#,
            items: "",
            [
                #"value=1.0 data={"k":"\ufffd","v":1} altered"#, "value=2.0 truncated", "value=3.0 truncated",
            ]),
        Case(
            "the same by their names",
            #"{"\ud800":{"k":"\udc00x"},"b":{"k":"\ud83d\ude3a\ud83d"},"c":{"k":"c","v":1e400}}"#,
            items: "", key: .position, text: at("/k"),
            [
                "key=\u{FFFD} text=\u{FFFD}x data={\"k\":\"\\ufffdx\"} altered",
                "key=b text=😺\u{FFFD} data={\"k\":\"\\ud83d\\ude3a\\ufffd\"} altered", "key=c text=c truncated",
            ]),
        Case(
            "a name that nobody is told", #"{"\ud800":{"k":"a","v":1}}"#, items: "", key: .at(pointer("/k")),
            [#"key=a value=1.0 data={"k":"a","v":1}"#]),
        Case(
            "a document too deep for a line", "[\(deep),\"\\udfff\"]", text: .first,
            ["value=3.0 text=\u{FFFD} truncated altered"]),
        Case(
            "numeric strings", #"["7"," -1.5e1\t","\u0037","07","+1","","0x1","1 2","1e999","٧","NaN"]"#, items: "",
            value: at(""), number: .lenient,
            [
                #"value=7.0 data="7""#, #"value=-15.0 data=" -1.5e1\t""#, #"value=7.0 data="\u0037""#, #"data="07""#,
                #"data="+1""#, #"data="""#, #"data="0x1""#, #"data="1 2""#, #"data="1e999""#, #"data="٧""#,
                #"data="NaN""#,
            ],
            problem: """
                8 of 11 items are not as asked for (8 without value); first, item 4: "the document" is a string that is \
                not a number
                """),
        Case(
            "the first numeric string", #"[{"8":"x","a":"9"},[true,"1"]]"#, items: "", number: .lenient,
            [#"value=9.0 data={"8":"x","a":"9"}"#, #"data=[true,"1"]"#]),
        Case(
            "the place of the first number", #"[{},{"a":1,"b":2},3,{"b":4},{"b":5,"a":6},{"a":null},{"a":"7"},[8]]"#,
            items: "",
            [
                "data={}", #"value=1.0 data={"a":1,"b":2}"#, "value=3.0 data=3", #"data={"b":4}"#,
                #"value=6.0 data={"b":5,"a":6}"#, #"data={"a":null}"#, #"data={"a":"7"}"#, "data=[8]",
            ]),
        Case(
            "the second value of a doubled key", #"[{"a":"x","a":1},{"a":2,"b":3},{"b":4,"a":5}]"#, items: "",
            [#"data={"a":"x","a":1}"#, #"value=2.0 data={"a":2,"b":3}"#, #"value=5.0 data={"b":4,"a":5}"#]),
        Case(
            "text where it is asked for", #"[{"t":"a\tb"},{"t":1},{}]"#, items: "", value: .nowhere, text: at("/t"),
            ["text=a\tb " + #"data={"t":"a\tb"}"#, #"data={"t":1}"#, "data={}"]),
        Case(
            "times",
            #"["2026-01-02T03:04:05.000006Z",1700000000,1700000000.25,1700000000123,99999999999,100000000000,253402300799000]"#,
            items: "", value: .nowhere, time: "",
            [
                #"time=1767323045000006 data="2026-01-02T03:04:05.000006Z""#, "time=1700000000000000 data=1700000000",
                "time=1700000000250000 data=1700000000.25", "time=1700000000123000 data=1700000000123",
                "time=99999999999000000 data=99999999999", "time=100000000000000 data=100000000000",
                "time=253402300799000000 data=253402300799000",
            ]),
        Case(
            "no times", #"[null,"soon",1e300,-1e12,"1700000000",{"t":1},253402300800000]"#, items: "", value: .nowhere,
            time: "",
            [
                "data=null", #"data="soon""#, "data=1e300", "data=-1e12", #"data="1700000000""#, #"data={"t":1}"#,
                "data=253402300800000",
            ],
            problem: """
                7 of 7 items are not as asked for (7 at the time of arrival); first, item 1: "the document" is null and \
                not a time (RFC 3339, or seconds since 1970)
                """),
        Case(
            "times in numeric strings", #"["1700000000","1.7e12","x"]"#, items: "", value: .nowhere, time: "",
            number: .lenient,
            [#"time=1700000000000000 data="1700000000""#, #"time=1700000000000000 data="1.7e12""#, #"data="x""#],
            problem: """
                1 of 3 items is not as asked for (1 at the time of arrival); first, item 3: "the document" is a string \
                that is not a time (RFC 3339, or seconds since 1970)
                """),
        Case(
            "several things wrong", #"[{"k":1},{"k":2,"v":3,"t":0},{}]"#, items: "", key: .at(pointer("/k")),
            value: at("/v"),
            time: "/t", ["key=1 data={\"k\":1}", "key=2 value=3.0 time=0 data={\"k\":2,\"v\":3,\"t\":0}"],
            problem: """
                2 of 3 items are not as asked for (1 left out for want of a key, 1 without value, 1 at the time of \
                arrival); first, item 1: there is nothing at "/v"
                """),
        Case("one event", #"{ "v": 1, "t": "x" }"#, text: .first, [#"value=1.0 text=x data={"v":1,"t":"x"}"#]),
        Case(
            "one event with all of it", #"{"k":"a\/b","v":" 1 ","s":"x","t":"2026-01-02T03:04:05Z"}"#,
            key: .at(pointer("/k")), value: at("/v"), text: at("/s"), time: "/t", number: .lenient,
            [
                #"key=a/b value=1.0 text=x time=1767323045000000 data={"k":"a\/b","v":" 1 ","s":"x","t":"2026-01-02T03:04:05Z"}"#
            ]),
    ]

    private static let long = String(repeating: "x", count: 4_096)

    /// As many levels as there may be in `data`.
    private static let deep = String(repeating: "[", count: 29) + "3" + String(repeating: "]", count: 29)

    @Test(arguments: cases)
    func readsWhatIsAskedFor(example: Case) throws {
        let (texts, outcome) = try read(example.document, example.extraction)
        #expect(texts == example.events)
        #expect(outcome.problem?.message == example.problem?.replacing("\"the document\"", with: "the document"))
        #expect(outcome.problem?.code ?? .pointer == .pointer)
    }

    @Test(arguments: [
        ("{}", #""/data" not found: the document has no key "data""#),
        (#"{"data":7}"#, #""/data" is a number and neither an array nor an object"#),
        ("7", #""/data" not found: the document is a number and has nothing in it"#),
        ("[7]", #""/data" not found: the document is an array and "data" is no index"#),
    ])
    func needsAnArrayOrAnObjectOfItems(document: String, expected: String) throws {
        #expect(try message(document, Extraction(items: Self.pointer("/data"))) == expected)
    }

    @Test(arguments: [
        ("{}", #""/v" not found: the document has no key "v""#),
        (#"{"v":null}"#, #""/v" is null and not a number"#),
        (
            #"{"v":" 1"}"#, #""/v" is a string and not a number; --number lenient takes numbers in strings"#
        ),
    ])
    func needsTheValueOfAnOnlyEvent(document: String, expected: String) throws {
        #expect(try message(document, Extraction(value: Self.at("/v"))) == expected)
        let lenient = Extraction(value: Self.at("/v"), number: .lenient)
        if document.contains("1") {
            #expect(try read(document, lenient).texts == [#"value=1.0 text= 1 data={"v":" 1"}"#])
        } else {
            #expect(try message(document, lenient) == expected)
        }
    }

    @Test func needsWhatElseIsAskedForOfAnOnlyEvent() throws {
        let document = #"{"k":null,"s":1,"t":"now","v":"one"}"#
        let place = { Self.pointer($0) }
        #expect(
            try message(document, Extraction(key: .at(place("/k"))))
                == #""/k" is null and neither a string nor a number"#)
        #expect(try message(document, Extraction(text: .at(place("/s")))) == #""/s" is a number and not a string"#)
        #expect(
            try message(document, Extraction(time: place("/t")))
                == #""/t" is a string that is not a time (RFC 3339, or seconds since 1970)"#)
        #expect(
            try message(document, Extraction(value: .at(place("/v")), number: .lenient))
                == #""/v" is a string that is not a number"#)
        for extraction in [
            Extraction(key: .at(place("/x"))), Extraction(text: .at(place("/x"))), Extraction(time: place("/x")),
        ] {
            #expect(try message(document, extraction) == #""/x" not found: the document has no key "x""#)
        }
    }

    @Test(arguments: [1, 2, 7, 100])
    func readsTheSameInSlices(limit: Int) throws {
        for example in Self.cases where example.extraction.items != nil {
            let extractor = Extractor(example.extraction, of: .lines)
            let document = try extractor.read(Array(example.document.utf8)[...])
            let begun = try extractor.begin(document, from: SourceID(index: 0), at: Self.arrival)
            var reading = try #require(begun)
            var texts: [String] = []
            while true {
                var batch = EventBatch()
                let hasMore = reading.read(atMost: limit, into: &batch)
                #expect(batch.count <= limit)
                texts += eventTexts(batch, arrival: Self.arrival)
                if !hasMore { break }
            }
            #expect(texts == example.events, "\(example.testDescription)")
            #expect(reading.outcome.events == texts.count)
        }
    }

    @Test(arguments: [false, true], 1...5)
    func stopsAtTheItemThatFillsTheBatch(isObject: Bool, count: Int) throws {
        let item = "\"\(String(repeating: "x", count: EventBatch.fullBytes / 2))\""
        let items = (0..<count).map { isObject ? "\"\($0)\":\(item)" : item }.joined(separator: ",")
        let extractor = Extractor(Extraction(items: .root, value: .nowhere, text: .nowhere), of: .lines)
        let document = try extractor.read(Array((isObject ? "{\(items)}" : "[\(items)]").utf8)[...])
        let begun = try extractor.begin(document, from: SourceID(index: 0), at: Self.arrival)
        var reading = try #require(begun)
        var counts: [Int] = []
        var hasMore = true
        while hasMore {
            var batch = EventBatch()
            hasMore = reading.read(atMost: 8, into: &batch)
            counts.append(batch.count)
        }
        #expect(counts == Array(repeating: 2, count: count / 2) + Array(repeating: 1, count: count % 2))
        var whole = EventBatch()
        let outcome = try extractor.add(document, from: SourceID(index: 0), at: Self.arrival, to: &whole)
        #expect(outcome.events == count && whole.count == count)
    }
}
