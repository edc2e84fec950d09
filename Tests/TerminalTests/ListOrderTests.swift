import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct ListOrderTests {
    /// The order by sorting everything anew.
    private func twin(_ board: Board, _ key: ListOrder.Key, _ filter: String) -> [Int32] {
        let places = Dictionary(
            board.sourceOrder.enumerated().map { (board.sources[$0.element].name, $0.offset) }, uniquingKeysWith: min)
        func place(_ series: BoardSeries) -> Int { rank(series.name) > 0 ? 0 : places[series.source] ?? .max }
        func rank(_ name: String) -> Int { name.hasPrefix("latency:") ? 1 : name.hasPrefix("memory:") ? 2 : 0 }
        func number(_ series: BoardSeries) -> Double {
            switch key {
            case .source, .name: 0
            case .value: series.newest?.value ?? -.infinity
            case .change: series.change.map(abs) ?? -1
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
            if key == .source, place(one) != place(other) { return place(one) < place(other) }
            return NaturalOrder.isBefore(one.name, other.name)
        }.map(Int32.init)
    }

    @Test func isWhatSortingEverythingGives() {
        var random = SeededGenerator(seed: 8)
        var script = FeedScript()
        script.hello()
        var order = ListOrder()
        var key = ListOrder.Key.source
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
            order.update(script.view.board, key: key, filter: ListFilter(filter))
            let expected = twin(script.view.board, key, filter)
            #expect(order.series == expected, "round \(round), \(key), '\(filter)', seed \(random.seed)")
            if order.series != expected { return }
        }
    }

    /// The sources of another run appear one by one.
    @Test func aSourceThatComesLaterIsFoldedAsWasChosen() {
        var script = FeedScript()
        script.hello()
        var order = ListOrder()
        for source in ["b", "a"] {
            script.data(source, key: "1", 1)
            script.data(source, key: "2", 2)
            order.update(script.view.board, key: .source, folds: ["a": true])
        }
        #expect(order.groups.filter(\.isFolded).map(\.name) == ["a"])
    }
}

@Suite(.limited) struct ListOrderVectorTests {
    /// Tests/Vectors/order/list.json: lines, and now and then the rows, or the series of a source.
    @Test func rowsAreThoseOfTheVector() throws {
        let keys = ["source": ListOrder.Key.source, "name": .name, "value": .value, "change": .change, "age": .age]
        var board = Board()
        var order = ListOrder()
        for (place, step) in try VectorFiles.elements("steps", of: "list.json", in: "order").enumerated() {
            if let line = step.string {
                board.apply(try LineDecoder.decode(Bytes(Array(line.utf8))))
                continue
            }
            let key = try #require(keys[step["key"]?.string ?? "source"])
            let now = step["now_us"]?.number.map { Timestamp(microseconds: Int64($0)) }
            var folds: [String: Bool] = [:]
            if case .object(let members)? = step["folds"] { folds = members.mapValues { $0 == .bool(true) } }
            order.update(
                board, key: key, filter: ListFilter(step["filter"]?.string ?? ""), folds: folds,
                firingOnly: step["firing"] == .bool(true), lateAt: now)
            if let name = step["within"]?.string {
                let index = try #require(board.series(named: name))
                let series = order.within(board.series[index].source, board).map { board.series[$0].name }
                #expect(series == step["series"]?.elements.compactMap(\.string), "step \(place)")
                continue
            }
            let rows = VectorJSON.array(order.rows.map { vector($0, order, board, at: now) })
            let difference = rows.difference(from: try #require(step["rows"]))
            #expect(difference == nil, "step \(place)")
        }
    }

    private func vector(_ row: ListRow, _ order: ListOrder, _ board: Board, at time: Timestamp?) -> VectorJSON {
        let now = time ?? board.clock ?? Timestamp(microseconds: 0)
        func vector(_ alert: BoardAlert, more: Int, _ key: String) -> VectorJSON {
            let row = AlertRow(alert, more: more, at: now, offset: 0)
            return .object([key: .string(row.name), "mark": .string(row.severity.mark), "alert": .string(row.text)])
        }
        switch row {
        case .alert(let number): return board.alerts[number].map { vector($0, more: 0, "about") } ?? .null
        case .trouble(let source):
            let row = SourceRow(trouble: board.sources[source], at: now, window: board.interval, offset: 0)
            return .object([
                "trouble": .string(row.name), "mark": .optional(row.mark?.rawValue), "text": .string(row.text),
            ])
        case .heading(let index):
            let group = order.groups[index]
            let row = SourceRow(
                heading: group, of: group.source.map { board.sources[$0] }, at: now, window: board.interval)
            return .object([
                "heading": .string(row.name), "mark": .optional(row.mark?.rawValue), "text": .string(row.text),
                "age": .string(row.age), "folded": .bool(group.isFolded),
            ])
        case .series(let index):
            let name = board.series[index].name
            if let (alert, more) = board.alertsByWorst(about: name).first { return vector(alert, more: more, "series") }
            guard order.isHeading(index), let source = board.describedSource(board.series[index].source) else {
                return .string(name)
            }
            let mark = SourceRow.Mark(source, at: now, window: board.interval)
            return .object(["series": .string(name), "mark": .string(mark.rawValue)])
        }
    }
}

@Suite(.limited) struct EventFieldsTests {
    /// Tests/Vectors/fields.
    @Test(arguments: VectorFiles.names(of: "fields"))
    func rowsAreThoseOfTheVectors(_ name: String) throws {
        for vector in try VectorFiles.elements("cases", of: name, in: "fields") {
            let data = try #require(vector["data"]?.string)
            let rows = EventFields.rows(EventFields.read(Array(data.utf8)), besides: vector["text"]?.string)
            let texts = rows.map { VectorJSON.array([.string($0.label), .string($0.value), .optional($0.link)]) }
            let difference = VectorJSON.array(texts).difference(from: try #require(vector["rows"]))
            #expect(difference == nil, "\(data.prefix(200))")
        }
    }

    @Test func isBounded() {
        let wide = "[" + (0..<5_000).map { "{\"k\":\($0)}" }.joined(separator: ",") + "]"
        #expect(EventFields.read(Array(wide.utf8)).count <= 200)
        let deep = String(repeating: "{\"a\":", count: 400) + "1" + String(repeating: "}", count: 400)
        let fields = EventFields.read(Array(deep.utf8))
        #expect(fields.count == 1)
    }
}
