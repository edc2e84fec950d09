import Feed
import Reactor
import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct AgentTableTests {
    @Test func saysWhatThePageSays() throws {
        var board = Board()
        let vector = try VectorFiles.vector("table.json", in: "agents")
        for line in VectorFiles.lines(vector["lines"]) { board.apply(try LineDecoder.decode(line[...])) }
        for one in vector["whose"]?.elements ?? [] {
            let source = try #require(one["source"]?.string)
            #expect(board.agent(ofSource: source) ?? "" == one["agent"]?.string, "\(source)")
        }
        let counts = VectorJSON.object(AgentTable(board, filter: "").alerts.mapValues { .int($0) })
        #expect(counts.difference(from: try #require(vector["alerts"])) == nil)
        for one in vector["refused"]?.elements ?? [] {
            #expect(AgentTable.refused(Int(try #require(one["lines"]?.number))) ?? "" == one["text"]?.string)
        }
        for one in vector["cases"]?.elements ?? [] {
            let now = Timestamp(microseconds: Int64(try #require(one["now_us"]?.number)))
            let table = AgentTable(board, filter: try #require(one["filter"]?.string))
            let rows = table.rows.map { index -> VectorJSON in
                let agent = board.agents[index]
                let texts = AgentTable.texts(agent, at: now)
                let said = [
                    agent.name, texts.state, texts.age, texts.rate, texts.host, texts.system, texts.version, texts.skew,
                    texts.lost, AgentTable.look(agent).rawValue,
                ]
                return .array(
                    said.map { .string($0) } + [.bool(AgentTable.isSkewed(agent, window: .seconds(10)))])
            }
            let difference = VectorJSON.array(rows).difference(from: try #require(one["rows"]))
            #expect(difference == nil)
        }
    }

    // MARK: The screen

    private static func fleet(_ count: Int, columns: Int = 80, rows: Int = 24) throws -> FeedScript {
        var script = FeedScript(columns: columns, rows: rows)
        script.hello()
        for number in 1...count {
            try script.say(
                peer: "web\(number)", number == 7 ? "away" : number == 8 ? "silent" : "live", host: "box-\(number)")
        }
        script.type("3")
        return script
    }

    private static func screen(_ script: inout FeedScript) -> [String] {
        script.view.frame(now: script.now).text().split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init)
    }

    @Test func aThousandScrollUnderTheirTitles() throws {
        var script = try Self.fleet(1_000)
        var rows = Self.screen(&script)
        #expect(rows[2].contains("Agents 1000") && rows[2].contains("state") && rows[2].contains("lines/s"))
        #expect(rows[3].contains("web7 ") && rows[3].contains("away"))
        #expect(rows[4].contains("web8 ") && rows[4].contains("silent") && rows[4].contains("30s"))
        #expect(rows[5].contains("web1 ") && rows[5].contains("live") && rows[5].contains("+12 ms"))
        for _ in 0..<500 { _ = script.view.handle(.down, now: script.now) }
        rows = Self.screen(&script)
        #expect(rows[2].contains("Agents 1000"))
        #expect(rows[3].contains("web501 "))
        _ = script.view.handle(.character("G"), now: script.now)
        rows = Self.screen(&script)
        #expect(rows.contains { $0.contains("loop lag") || $0.contains("not told yet") })
        #expect(rows.contains { $0.contains("web1000 ") })
    }

    @Test func theFilterIsForAgentsAndTheirMachines() throws {
        var script = try Self.fleet(1_000)
        script.type("/box-99")
        _ = script.view.handle(.enter, now: script.now)
        var rows = Self.screen(&script)
        #expect(rows[2].contains("Agents 11 of 1000"))
        #expect(rows[3].contains("web99 ") && rows[4].contains("web990 "))
        _ = script.view.handle(.escape, now: script.now)
        rows = Self.screen(&script)
        #expect(rows[2].contains("Agents 1000"))
        script.type("/nothing")
        rows = Self.screen(&script)
        #expect(rows[3].contains("none is called so"))
    }

    @Test func linesOfAgentsThatAreRefusedAreCounted() throws {
        var script = FeedScript(columns: 120, rows: 24)
        script.hello()
        script.type("3")
        for _ in 0..<2 { try script.say(peer: "not.one", "live", host: "box") }
        var rows = Self.screen(&script)
        #expect(rows[2].contains("Agents 0") && rows[3].contains("2 more lines, of agents for which there is no room"))
        #expect(!rows.dropFirst(4).joined().contains("more lines") && !rows.joined().contains("none is called so"))
        try script.say(peer: "web1", "live", host: "box")
        script.now = script.now + .seconds(2)
        rows = Self.screen(&script)
        #expect(rows[2].contains("Agents 1") && rows[3].contains("web1 ") && rows[4].contains("2 more lines"))
        script.type("/nothing")
        rows = Self.screen(&script)
        #expect(rows[3].contains("none is called so") && rows[4].contains("2 more lines"))
    }

    @Test func whatIsWrongStandsWhereTheSystemWould() throws {
        var script = try Self.fleet(9, columns: 120)
        try script.say(
            #""type":"error","source":"web7.catwatch","code":"connect","message":"web7: nobody is there","agent":"web7""#
        )
        let rows = Self.screen(&script)
        #expect(rows[3].contains("web7: nobody is there") && !rows[3].contains("box-7"))
        #expect(rows[4].contains("box-8") && rows[4].contains("Debian"))
    }

    @Test func aClockThatIsOffByMoreThanAWindowStandsOut() throws {
        var script = try Self.fleet(2, columns: 120)
        try script.say(peer: "web2", "live", host: "box-2", skew: 12_000)
        let grid = script.view.frame(now: script.now)
        let rows = Self.screen(&script)
        for (row, text) in [(3, "+12 ms"), (4, "+12.0 s")] {
            let column = try #require(
                rows[row].firstRange(of: text).map { rows[row][..<$0.lowerBound].count }, "\(rows[row])")
            #expect((grid[row, column].style == Theme().warning) == (row == 4))
        }
    }

    /// Agents that ask the same endpoint are told apart.
    @Test(arguments: [60, 80, 120]) func anEndpointSaysWhoseItIs(columns: Int) throws {
        var script = try Self.fleet(2, columns: columns, rows: 40)
        for source in ["web1.fact", "web2.fact", "web3.fact", "fact"] {
            try script.say(
                #""type":"latency","source":"\#(source)","endpoint":"GET http://cats.test/fact","status":200,"ms":1"#)
        }
        let rows = Self.screen(&script).filter { $0.contains("cats.test/fact") }
        let starts = ["  web1 ", "  web2 ", "  GET http", "  GET http"]
        #expect(rows.count == 4)
        for (row, start) in zip(rows, starts) where columns > 60 || !start.contains("GET") {
            #expect(row.hasPrefix(start) || start.contains("GET") && !row.contains("web"), "\(row)")
        }
    }

    @Test(arguments: [(20, 5), (40, 12), (59, 8), (80, 24), (300, 60)])
    func hostileTextsStayInTheirPlaces(columns: Int, rows: Int) throws {
        var script = FeedScript(columns: columns, rows: rows)
        script.hello()
        let bad = #"\u001b[2J\u0007\u202e"# + String(repeating: "猫", count: 2_000)
        for skew in ["1e308", "-1e308", "0.1", "-0.4"] {
            try script.say(
                #""type":"peer","source":"x","state":"\#(bad)","since":"9999-12-31T23:59:59Z","heard":"0001-01-01T00:00:00Z","run":"r","host":{"name":"\#(bad)","os":"\#(bad)"},"app":{"version":"\#(bad)"},"skew_ms":\#(skew),"lost":9223372036854775807,"agent":"w\#(skew.count)""#
            )
            try script.say(
                #""type":"lost","source":"x","from":1,"to":9223372036854775807,"agent":"w\#(skew.count)","origin_run":"r""#
            )
        }
        script.type("3")
        let screen = Self.screen(&script)
        #expect(!screen.joined().unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
    }
}

extension FeedScript {
    /// A line as it comes, with the next number and the time that it is.
    fileprivate mutating func say(_ members: String) throws {
        var text = TimestampText()
        let time = LineWriter.bytes(atMost: 64) { text.write(now, to: &$0) }
        skip()
        let line = #"{"seq":\#(sequence),"time":\#(String(decoding: time, as: UTF8.self)),\#(members)}"#
        view.apply(try LineDecoder.decode(Bytes(Array(line.utf8))), now: now)
    }

    fileprivate mutating func say(peer agent: String, _ state: String, host: String, skew: Int = 12) throws {
        try say(
            #""type":"peer","source":"\#(agent).catwatch","state":"\#(state)","since":"2026-03-01T11:00:00Z","heard":"2026-03-01T11:59:30Z","run":"r","host":{"name":"\#(host)","os":"Debian GNU/Linux 12"},"app":{"name":"catwatch","version":"1"},"skew_ms":\#(skew),"lost":0,"agent":"\#(agent)""#
        )
    }
}
