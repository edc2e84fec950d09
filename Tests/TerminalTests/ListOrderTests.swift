import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct ListOrderTests {
    /// The order by sorting everything anew.
    private func twin(_ board: Board, _ key: ListOrder.Key, _ filter: String) -> [Int32] {
        func rank(_ name: String) -> Int { name.hasPrefix("latency:") ? 1 : name.hasPrefix("memory:") ? 2 : 0 }
        func number(_ series: BoardSeries) -> Double {
            switch key {
            case .name: 0
            case .value: series.newest?.value ?? -.infinity
            case .change: abs(series.change ?? -1)
            case .age: Double(series.newestTime?.microseconds ?? .min)
            }
        }
        return board.series.indices.filter {
            filter.isEmpty || board.series[$0].name.lowercased().holds(filter.lowercased())
        }
        .sorted { left, right in
            let (one, other) = (board.series[left], board.series[right])
            if rank(one.name) == rank(other.name), number(one) != number(other) { return number(one) > number(other) }
            if rank(one.name) != rank(other.name) { return rank(one.name) < rank(other.name) }
            return NaturalOrder.isBefore(one.name, other.name)
        }.map(Int32.init)
    }

    @Test func isWhatSortingEverythingGives() {
        var random = SeededGenerator(seed: 8)
        var script = FeedScript()
        script.hello()
        var order = ListOrder()
        var key = ListOrder.Key.name
        var filter = ""
        for round in 0..<LongRun.rounds(short: 300, long: 5_000) {
            script.pass(Double.random(in: 0...2, using: &random))
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let number = Int.random(in: 0...40, using: &random)
                switch Int.random(in: 0...5, using: &random) {
                case 0: script.latency("s\(number % 7)", "GET http://x", ms: Double(number))
                case 1: script.data("S\(number)", text: "no value")
                default: script.data("a", key: "\(number)", Double(Int.random(in: 0...9, using: &random)))
                }
            }
            if round % 90 == 89 { script.hello(run: "\(round)") }
            if round % 11 == 0 { key = key.next }
            if round % 7 == 0 { filter = ["", "1", "A/", "zz", "latency"].randomElement(using: &random) ?? "" }
            order.update(script.view.board, key: key, filter: filter)
            let expected = twin(script.view.board, key, filter)
            #expect(order.rows == expected, "round \(round), \(key), '\(filter)', seed \(random.seed)")
            if order.rows != expected { return }
        }
    }
}

@Suite(.limited) struct EventFieldsTests {
    @Test func aDogIsRows() {
        let json =
            #"[{"id":"x1","url":"https://cdn.example/d.jpg","width":10,"breeds":[{"weight":{"metric":"3 - 6"},"name":"Affen\u0070inscher","bred_for":"Small rodent hunting, lapdog","life_span":"10 - 12 years","temperament":"Stubborn, Curious","note":null}]}]"#
        let rows = EventFields.rows(EventFields.read(Array(json.utf8)), besides: nil)
        #expect(
            rows.map(\.label) == [
                "name", "life span", "temperament", "purpose", "picture", "id", "width", "weight metric",
            ])
        #expect(rows[0].value == "Affenpinscher")
        #expect(rows[4].link == "https://cdn.example/d.jpg")
        #expect(rows.filter { $0.link != nil }.count == 1)
    }

    @Test func severalBreedsAreNumbered() {
        let json = #"{"breeds":[{"name":"A"},{"name":"B"}],"tags":["x","y",3]}"#
        let rows = EventFields.rows(EventFields.read(Array(json.utf8)), besides: nil)
        #expect(rows.map { $0.label + "=" + $0.value } == ["1 name=A", "2 name=B", "tags=x, y, 3"])
    }

    @Test func whatTheTextSaysIsNotSaidAgain() {
        let fields = EventFields.read(Array(#"{"fact":"Cats.","length":5,"empty":""}"#.utf8))
        #expect(EventFields.rows(fields, besides: "Cats.").map(\.label) == ["length"])
    }

    @Test(arguments: ["", "{", "[1,,2]", "{\"a\":\"\\ud800\"}", "nul", String(repeating: "[", count: 5_000)])
    func whatIsNoJSONHasNoFields(_ text: String) { #expect(EventFields.read(Array(text.utf8)).count <= 1) }

    @Test func isBounded() {
        let wide = "[" + (0..<5_000).map { "{\"k\":\($0)}" }.joined(separator: ",") + "]"
        #expect(EventFields.read(Array(wide.utf8)).count <= 200)
        let deep = String(repeating: "{\"a\":", count: 400) + "1" + String(repeating: "}", count: 400)
        let fields = EventFields.read(Array(deep.utf8))
        #expect(fields.count == 1)
    }
}

@Suite(.limited) struct FibonacciRunsTests {
    @Test func keepsTheNewestCalculationAndAllSums() {
        var script = FeedScript()
        script.hello()
        for n in [2, 5] {
            for place in 0...n { script.data("fibonacci", json: #"{"n":\#(place),"f":"\#(place)"}"#) }
            script.data("fibonacci", Double(n), json: #"{"n":\#(n),"ms":\#(n).5}"#)
        }
        let source = script.view.runs.sources["fibonacci"]
        #expect(source?.pairs.map(\.n) == [0, 1, 2, 3, 4, 5])
        #expect(source?.sums == [.init(n: 2, ms: 2.5), .init(n: 5, ms: 5.5)])
        #expect(source?.total == 5.5)
        script.data("fibonacci", json: #"{"n":0,"f":"0"}"#)
        #expect(script.view.runs.sources["fibonacci"]?.total == nil)
        script.hello(run: "2")
        #expect(script.view.runs.sources.isEmpty)
    }

    @Test func isBounded() {
        var script = FeedScript()
        script.hello()
        let digits = String(repeating: "7", count: 2_000)
        for n in 0..<1_200 { script.data("fibonacci", json: #"{"n":\#(n),"f":"\#(digits)"}"#) }
        let source = script.view.runs.sources["fibonacci"]
        #expect((source?.pairs.count ?? 0) * 2_000 <= 1 << 20)
        #expect((source?.pairs.count ?? 0) + (source?.droppedPairs ?? 0) == 1_200)
        for n in 0..<1_500 { script.data("fibonacci", 1, json: #"{"n":\#(n),"ms":1}"#) }
        let sums = script.view.runs.sources["fibonacci"]
        #expect((sums?.sums.count ?? 0) <= 1_000)
        #expect((sums?.sums.count ?? 0) + (sums?.droppedSums ?? 0) == 1_500)
        for n in 0..<50 { script.data("s\(n)", json: #"{"n":1,"ms":1}"#) }
        #expect(script.view.runs.sources.count <= 16)
    }

    @Test(arguments: [#"{"n":-1,"f":"1"}"#, #"{"n":1,"f":"x"}"#, #"{"n":1.5,"f":"1"}"#, #"{"n":1}"#, #"{"f":"1"}"#])
    func otherDataIsNoneOfItsBusiness(_ json: String) {
        var script = FeedScript()
        script.hello()
        script.data("fact", json: json)
        #expect(script.view.runs.sources.isEmpty)
    }
}
