import Feed
import Reactor
import TestSupport
import Testing

/// A store whose sources are other agents.
@Suite(.limited) struct FleetStoreTests {
    /// A journal keeps where agents are when it was told that there are any.
    @Test func readersAreToldThatItIsAFleetBeforeItsFirstLine() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start, isFleet: false)
            let source = await fleet.store.register(SourceDescription(name: "nats"))
            // As behind news of something else, less than a second before.
            _ = try await fleet.store.member("web0", by: source).get()
            try await loop.sleep(for: .milliseconds(1))
            _ = await fleet.read()
            var peer = PeerScript()
            let id = try await fleet.store.member("web1", by: source).get()
            _ = await fleet.store.receive([.success(try peer.hello()), .success(try peer.fact())], from: id)
            guard case .greeting(let greeting)? = await fleet.store.dequeue(for: fleet.reader) else {
                Issue.record("lines come first")
                return
            }
            #expect(String(decoding: greeting, as: UTF8.self).contains(#""fleet":true"#))
            #expect(await fleet.read().lines.count == 1)
        }
    }

    @Test func aLineIsEncodedAnewAndSaysWhereItCameFrom() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript(from: 42)
            let data =
                #""type":"fact","source":"fact","series":"fact/a","value":1.50,"text":"é","data":{ "a" : [1, 2] },"agent":"x","origin_seq":9"#
            await fleet.receive(
                try [
                    peer.hello(), peer.line(data),
                    peer.line(
                        #""type":"error","source":"fact","endpoint":"GET http://h/","code":"dns","message":"no""#),
                    peer.line(#""type":"breed","source":"fact","series":"fact""#),
                ])
            let time = PeerScript.time(PeerScript.start)
            func tail(_ seq: Int) -> String { #""agent":"web1","origin_run":"r1","origin_seq":\#(seq)}"# }
            #expect(
                await fleet.read().lines == [
                    #"{"seq":1,"time":\#(time),"type":"fact","source":"web1.fact","series":"web1.fact/a","value":1.5,"text":"é","data":{"a":[1,2]},\#(tail(42))"#,
                    #"{"seq":2,"time":\#(time),"type":"error","source":"web1.fact","endpoint":"GET http://h/","code":"dns","message":"no",\#(tail(43))"#,
                    #"{"seq":3,"time":\#(time),"type":"breed","source":"web1.fact","series":"web1.fact",\#(tail(44))"#,
                ])
            let greeting = String(decoding: await fleet.store.greeting(isFiltered: false), as: UTF8.self)
            #expect(greeting.contains(#""fleet":true"#) && greeting.contains(#""source":"web1.catwatch""#))
        }
    }

    /// By the line that an agent's own readers were told by, and to those who come later.
    @Test func whereAnAgentsValuesAreIsPassedOn() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            func fact(_ more: String) throws -> Line {
                try peer.line(#""type":"fact","source":"fact","series":"fact","value":1\#(more)"#)
            }
            await fleet.receive(
                try [
                    peer.hello(), peer.stats(#"{"source":"b","state":"ok","value_pointer":"/v"}"#),
                    fact(#","value_pointer":"/a""#), fact(""),
                ])
            let lines = await fleet.read().lines
            #expect(lines.map { $0.contains(#","value_pointer":"/a","agent":"#) } == [true, false])
            #expect(lines.allSatisfy { $0.contains(#""agent":"web1""#) })
            let greeting = String(decoding: await fleet.store.greeting(isFiltered: false), as: UTF8.self)
            #expect(greeting.contains(#""value_pointer":"/a""#) && greeting.contains(#""value_pointer":"/v""#))
            await fleet.receive([try peer.stats(#"{"source":"b","state":"ok","value_pointer":"/w"}"#)])
            #expect(await fleet.store.sourceStates.contains { $0.valuePointer == "/w" })
        }
    }

    @Test func anAgentsDataFillALineAndNoMore() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            await fleet.receive([try peer.hello()])
            func passOn(_ count: Int) async throws -> String {
                let data = String(repeating: "x", count: count)
                await fleet.receive([try peer.line(#""type":"fact","source":"fact","series":"fact","data":"\#(data)""#)]
                )
                return try #require(await fleet.read().lines.first)
            }
            let room = LineEncoder.longestLine - 1 - (try await passOn(0)).utf8.count
            let full = try await passOn(room)
            #expect(full.utf8.count == LineEncoder.longestLine - 1)
            #expect(full.hasSuffix(#"xx","agent":"web1","origin_run":"r1","origin_seq":2}"#))
            let cut = try await passOn(room + 1)
            #expect(
                cut.hasSuffix(
                    #""series":"web1.fact","truncated":true,"agent":"web1","origin_run":"r1","origin_seq":3}"#))
        }
    }

    @Test func whatIsMissingIsANumberedLine() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            var lines = try [peer.hello(), peer.fact()]
            peer.skip(8)
            lines.append(try peer.fact())
            await fleet.receive(lines)
            let said = await fleet.read().lines
            let time = PeerScript.time(PeerScript.start)
            #expect(
                said[1]
                    == #"{"seq":2,"time":\#(time),"type":"lost","source":"web1.catwatch","from":2,"to":9,"agent":"web1","origin_run":"r1"}"#
            )
            let place = said[1].utf8.withContiguousStorageIfAvailable { AgentPosition($0) }
            #expect(place == AgentPosition("web1", LineID("r1", 9)))
            guard case .lost(let lost) = try PeerScript.decoded(said[1]).body else { throw Failed() }
            #expect(lost == Lost(run: "r1", numbers: 2...9))
            // Also when nothing follows for now.
            let gap =
                #"{"type":"gap","time":\#(PeerScript.time(PeerScript.start)),"from":11,"to":12,"reason":"slow_reader"}"#
            await fleet.receive([try PeerScript.decoded(gap)])
            #expect(await fleet.read().lines.last?.contains(#""from":11,"to":12"#) == true)
        }
    }

    private struct Failed: Error {}

    @Test func aClockAnHourAheadDoesNotLookIntoTheFuture() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            let ahead = PeerScript.start + .seconds(3_600)
            await fleet.receive(
                try [peer.hello(), peer.fact(at: ahead), peer.fact(at: PeerScript.start + .seconds(10))])
            let lines = await fleet.read().lines
            #expect(lines[0].hasPrefix(#"{"seq":1,"time":\#(PeerScript.time(PeerScript.start)),"#))
            #expect(lines[0].hasSuffix(#""origin_seq":1,"origin_time":\#(PeerScript.time(ahead))}"#))
            #expect(lines[1].hasSuffix(#""origin_seq":2}"#))
            #expect(await fleet.store.counts.future == 1)
        }
    }

    @Test func eachAgentHasItsShareAndIsToldOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start) {
                ($0.memberSeries, $0.memberSources, $0.memberEndpoints) = (5, 4, 2)
            }
            for agent in ["a", "b"] {
                var peer = PeerScript()
                var lines = [try peer.hello()]
                for number in 0..<20 {
                    lines.append(try peer.line(#""type":"t","source":"s","series":"s/\#(number)","value":1"#))
                    lines.append(
                        try peer.line(
                            #""type":"latency","source":"s","endpoint":"GET http://h/\#(number)","status":200,"ms":1"#))
                    lines.append(try peer.line(#""type":"t","source":"t\#(number)","series":"t\#(number)""#))
                }
                await fleet.receive(lines, from: agent)
            }
            let lines = await fleet.read().lines
            for agent in ["a", "b"] {
                let errors = lines.filter { $0.contains(#""type":"error","source":"\#(agent).catwatch""#) }
                #expect(errors.count == 3, "\(errors)")
                for words in ["more than 5 series", "more than 4 sources", "more than 2 endpoints"] {
                    #expect(errors.count { $0.contains(words) && $0.contains("\(agent) has") } == 1)
                }
                #expect(lines.count { $0.contains(#""series":"\#(agent).s/"#) } == 20)
            }
            #expect(await fleet.store.counts.series == 10)
            #expect(await fleet.store.endpoints.count == 4)
            #expect(await fleet.store.counts.refusedSeries == 32)
        }
    }

    @Test func manyAgentsThatBeginAreOneGreetingASecond() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var greetings = 0
            for second in 0..<3 {
                for number in 0..<50 {
                    var peer = PeerScript(run: "r\(number)")
                    let stats = try peer.stats(#"{"source":"fact","state":"ok","type":"fact","unit":"\#(second)"}"#)
                    await fleet.receive(try [peer.hello(), stats, peer.fact()], from: "a\(number)")
                    try await loop.sleep(for: .milliseconds(20))
                    greetings += await fleet.read().greetings
                }
            }
            try await loop.sleep(for: .seconds(2))
            greetings += await fleet.read().greetings
            #expect(greetings <= 5)
            let sources = await fleet.store.sourceStates
            #expect(sources.count == 100 && sources.allSatisfy { $0.source.hasSuffix("catwatch") || $0.unit == "2" })
        }
    }

    /// All readers are told of all sources: an agent that says each second that one is otherwise has that seldom.
    @Test func anAgentWhoseSourcesChangeAllTheTimeIsNewsOnceAMinute() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let peer = PeerScript()
            var greetings: [Int] = []
            await fleet.receive([try peer.hello()])
            for second in 0..<300 {
                let stats = try peer.stats(#"{"source":"fact","state":"ok","type":"t\#(second % 2)"}"#)
                await fleet.receive([stats])
                // Others are told of as ever.
                if second == 200 {
                    var other = PeerScript(run: "o")
                    await fleet.receive(try [other.hello(), other.fact()], from: "web2")
                }
                try await loop.sleep(for: .seconds(1))
                if await fleet.read().greetings > 0 { greetings.append(second) }
            }
            #expect(greetings.count <= 8 + 5 + 1, "\(greetings)")
            #expect(greetings.starts(with: 0..<8) && greetings.contains(200), "\(greetings)")
            #expect(greetings.count { $0 >= 60 } >= 4, "\(greetings)")
        }
    }

    @Test func whatManyReadersAreToldIsEncodedOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var readers = [fleet.reader]
            for _ in 0..<3 { readers.append(await fleet.store.open(nil).0) }
            func next(_ reader: ReaderID) async -> [UInt8] {
                guard case .greeting(let lines)? = await fleet.store.dequeue(for: reader) else { return [] }
                return lines
            }
            func address(_ lines: [UInt8]) -> UInt { lines.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
            await fleet.store.greetAll()
            let (first, second) = (await next(readers[0]), await next(readers[1]))
            #expect(!first.isEmpty && address(first) == address(second))
            // What has come since is in what others get.
            var peer = PeerScript()
            await fleet.receive(try [peer.hello(), peer.fact()])
            let third = await next(readers[2])
            #expect(third != first && String(decoding: third, as: UTF8.self).contains(#""next_seq":2"#))
            await fleet.store.greetAll()
            #expect(await next(readers[3]) == third)
        }
    }

    /// A name is somebody's: what would be lost in another's source is named.
    @Test func linesOfASourceWhoseNameIsTakenAreLostAndThatIsSaidOnce() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let own = await fleet.store.register(SourceDescription(name: "web1.fact"))
            var peer = PeerScript()
            await fleet.receive(
                try [peer.hello(), peer.fact(), peer.fact(), peer.line(#""type":"breed","source":"b","series":"b""#)])
            let lines = await fleet.read().lines
            #expect(lines.count { $0.contains(#""type":"lost""#) } == 2 && lines.count == 4, "\(lines)")
            #expect(lines[1].contains(#""from":1,"to":1,"agent":"web1","origin_run":"r1"}"#))
            #expect(lines[0].contains("called like: web1.fact"))
            #expect(await fleet.store.member(fleet.store.member("web1")).lost == 2)
            // What is only remembered gives way, with its windows.
            await fleet.store.publish([Event(time: fleet.wall.now, source: own, body: .data(Datum(value: 7)))])
            await fleet.store.release(named: "web1.fact")
            await fleet.receive([try peer.fact()])
            let after = await fleet.read().lines
            #expect(after.count { $0.contains(#""type":"window","source":"web1.fact""#) } == 1)
            #expect(after.last?.contains(#""type":"fact","source":"web1.fact""#) == true, "\(after)")
        }
    }

    @Test func aSourceOfOnesOwnTakesNoAgentsName() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            await fleet.receive(try [peer.hello(), peer.fact()])
            #expect(await fleet.store.claim(SourceDescription(name: "web1.fact")) == "web1")
            #expect(await fleet.store.claim(SourceDescription(name: "web1")) == "web1")
            #expect(await fleet.store.claim(SourceDescription(name: "web1.other")) == nil)
            #expect(await fleet.store.claim(SourceDescription(agent: "web1")) == nil)
            // It is none any more.
            await fleet.store.release(named: "web1.catwatch")
            #expect(await fleet.store.claim(SourceDescription(name: "web1.fact")) == nil)
            #expect(await fleet.store.claim(SourceDescription(name: "web1")) == nil)
            #expect(await fleet.store.sourceStates.map(\.source) == ["web1.other", "web1.fact", "web1"])
        }
    }

    /// The same as a configuration has it.
    @Test func anAgentThatNobodyHasConfiguredTakesNoOthersNameEither() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let way = await fleet.store.register(SourceDescription(name: "nats"))
            _ = await fleet.store.register(SourceDescription(name: "web2.x"))
            for name in ["catwatch", "lost", "peer"] {
                #expect(await fleet.store.member(name, by: way) == .failure(.reserved))
            }
            #expect(await fleet.store.member("nats", by: way) == .failure(.taken(by: "nats")))
            #expect(await fleet.store.member("web2", by: way) == .failure(.taken(by: "web2.x")))
            await fleet.store.release(named: "web2.x")
            #expect((try? await fleet.store.member("web2", by: way).get()) != nil)
        }
    }

    /// There are as many as may be at a time, however many names there were.
    @Test func theRoomOfAgentsThatAreForgottenIsOthers() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start) { $0.members = 2 }
            let way = await fleet.store.register(SourceDescription(name: "nats"))
            try await fleet.store.whileRunning {
                for number in 0..<6 {
                    let id = try #require(try? await fleet.store.member("web\(number)", by: way).get())
                    var peer = PeerScript(run: "r\(number)")
                    _ = await fleet.store.receive(
                        try [peer.hello(), peer.fact()].map { .success($0) }, from: id)
                    if number == 1 { #expect(await fleet.store.member("more", by: way) == .failure(.tooMany(2))) }
                    if number > 0 {
                        try await loop.sleep(for: .seconds(40))
                        #expect(await fleet.store.forget("web\(number - 1)") == nil)
                        try await loop.sleep(for: .seconds(140))
                    }
                }
            }
            #expect(await fleet.store.sourceStates.count { $0.source.hasSuffix(".fact") } <= 2)
        }
    }

    @Test func aWholeStreamOfAgentsGoesBitByBit() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let way = await fleet.store.register(SourceDescription(name: "nats"))
            for number in 0..<300 {
                let id = try #require(try? await fleet.store.member("web\(number)", by: way).get())
                var peer = PeerScript()
                _ = await fleet.store.receive(try [peer.hello(), peer.fact()].map { .success($0) }, from: id)
            }
            _ = await fleet.read()
            let before = await fleet.store.nextSequence
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await fleet.store.release(named: "nats") }
                var (most, last) = (0, before)
                for _ in 0..<2_000 where last < before + 600 {
                    try await loop.sleep(for: .zero)
                    let next = await fleet.store.nextSequence
                    (most, last) = (max(most, next - last), next)
                }
                // Each says goodbye, and has a window.
                #expect(last == before + 600 && most <= 130, "\(last - before), \(most) at once")
                try await group.waitForAll()
            }
            let lines = await fleet.read().lines
            #expect(lines.count { $0.contains(#""state":"forgotten""#) } == 300)
            #expect(lines.count { $0.contains(#""type":"window""#) } == 300)
            #expect(await fleet.store.sourceStates.isEmpty)
        }
    }

    @Test func aSourceThatBeginsWithAMarkIsKnownByItsName() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            let name = "\u{301}x"
            await fleet.receive(
                try [
                    peer.hello(), peer.stats(#"{"source":"\#(name)","state":"ok"}"#),
                    peer.line(#""type":"t","source":"\#(name)","series":"\#(name)","value":1"#),
                    peer.stats(#"{"source":"\#(name)","state":"ok"}"#),
                ])
            #expect(await fleet.store.sourceStates.map(\.source) == ["web1.catwatch", "web1.\(name)"])
        }
    }

    /// What has the fleet's time is in the window of that.
    @Test(arguments: [-300_000_000, -20, 0, 20] as [Double])
    func aLineThatIsAheadOfEveryClockIsInTheWindowOfItsTime(_ first: Double) async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start + .milliseconds(3))
            let got = LoopBound(Got())
            try await fleet.store.whileRunning {
                var peer = PeerScript()
                await fleet.receive(
                    try [peer.hello(), peer.fact(1, at: PeerScript.start + .seconds(first))])
                try await loop.sleep(for: .seconds(4))
                await fleet.receive(
                    try [peer.fact(2, series: "fact/x", at: Timestamp(seconds: 253_402_300_799))])
                try await loop.sleep(for: .seconds(30))
                got.value.lines += await fleet.read().lines
            }
            let line = try PeerScript.decoded(try #require(got.value.lines.first { $0.contains("origin_time") }))
            let windows = try Self.windows(got.value.lines, prefix: "web1.").values.filter { $0.0.series == "fact/x" }
            #expect(windows.count == 1 && windows.first?.0.count == 1)
            let start = try #require(windows.first?.0.start)
            #expect(start <= line.time && line.time < start + .seconds(10), "\(start) \(line.time)")
        }
    }

    @Test func anAnswerThatTookNoTimeThereIsIsLost() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            var lines = [try peer.hello()]
            for time in ["1e308", "-5", "1e12", "0", "999999999999", "40"] {
                lines.append(
                    try peer.line(
                        #""type":"latency","source":"s","endpoint":"GET http://h/","status":200,"ms":\#(time)"#))
            }
            await fleet.receive(lines)
            let said = await fleet.read().lines
            #expect(said.count { $0.contains(#""type":"latency""#) } == 3)
            #expect(said.count { $0.contains(#""type":"error""#) } == 1)
            #expect(said.contains { $0.contains(#""type":"lost""#) && $0.contains(#""from":1,"to":3"#) }, "\(said)")
        }
    }

    @Test func anAgentsStatsSayHowItsSourcesAreToBeRead() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            let bands =
                ##""bands":[{"name":"low","letter":"l","color":"#000000","up_to":5},{"name":"high","letter":"h","color":"#ffffff"}],"higher_is_better":true"##
            let fact = #"{"source":"fact","state":"failing","type":"fact","unit":"µg","every_s":2,\#(bands)}"#
            let other = #"{"source":"other","state":"failing","since":"2026-01-01T00:00:00Z","type":"other"}"#
            await fleet.receive(try [peer.hello(), peer.stats("\(fact),\(other)"), peer.fact(9)])
            var sources = await fleet.store.sourceStates
            #expect(sources.map(\.source) == ["web1.catwatch", "web1.fact", "web1.other"])
            #expect(sources.map(\.state) == [.starting, .ok, .failing])
            #expect(
                sources[1].unit == "µg" && sources[1].bands?.bands.count == 2
                    && sources[1].rhythm == .every(.seconds(2)))
            // What is said of all of them says what is gone; what had no room does not.
            await fleet.receive([try peer.stats(fact, more: #","more_sources":1"#)])
            #expect(await fleet.store.sourceStates.count == 3)
            await fleet.receive([try peer.stats(fact)])
            sources = await fleet.store.sourceStates
            #expect(sources.map(\.source) == ["web1.catwatch", "web1.fact"])
            // Another description of a source is not another source: it has answered already.
            try await loop.sleep(for: .milliseconds(500))
            await fleet.receive([try peer.stats(fact.replacing("µg", with: "ng"))])
            var walk = await fleet.store.walk
            _ = await fleet.store.nextSource(&walk)
            #expect(await fleet.store.nextSource(&walk)?.timeliness == .inTime)
            await fleet.store.release(named: "web1.catwatch")
            #expect(await fleet.store.sourceStates.isEmpty)
        }
    }

    // MARK: Windows

    /// What a window came to, as the newest line of it says.
    private struct Came: Hashable, CustomStringConvertible {
        let series: String
        let start: Timestamp
        let last, min, max, mean: Double
        let count: Int
        var description: String { "\(series)@\(start.microseconds): \(last) \(count)" }
    }

    private static func windows(_ lines: [String], prefix: String) throws -> [String: (Came, revision: Int)] {
        var windows: [String: (Came, revision: Int)] = [:]
        for text in lines {
            let line = try PeerScript.decoded(text)
            guard case .window(let window) = line.body, window.series.hasPrefix(prefix) else { continue }
            let series = String(window.series.dropFirst(prefix.count))
            let came = Came(
                series: series, start: window.start, last: window.last, min: window.min, max: window.max,
                mean: window.mean, count: window.count)
            let key = "\(series) \(window.start.microseconds)"
            #expect(windows[key].map { $0.revision < window.revision } ?? (window.revision == 0))
            windows[key] = (came, window.revision)
        }
        return windows
    }

    /// What an agent said in ten minutes, with events that are late, and when; and what its values come to in the most obvious way.
    private static func life(seed: UInt64) async throws -> (lines: [(Timestamp, String)], windows: Set<Came>) {
        try await withLoop(virtual: true) { loop in
            var random = SeededGenerator(seed: seed)
            let agent = await StoreHarness(on: loop)
            let (reader, _) = await agent.store.open(nil)
            var values: [Int64: [(time: Timestamp, value: Double)]] = [:]
            var lines: [(Timestamp, String)] = []
            func collect() async {
                while case .lines(let span)? = await agent.store.dequeue(for: reader) {
                    let text = span.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                    lines += text.split(separator: "\n").map { (agent.wall.now, String($0)) }
                }
            }
            let running = Task(executorPreference: loop) { try? await agent.store.run() }
            let own = await agent.store.agentSource
            var due = agent.wall.now
            for _ in 0..<400 {
                try await loop.sleep(for: .milliseconds(Int.random(in: 1...3_000, using: &random)))
                let now = agent.wall.now
                let isLate = Int.random(in: 0..<10, using: &random) == 0
                // Never as late as the history, whose edge moves between what is told of the time.
                let time = isLate ? now - .seconds(Int.random(in: 1...90, using: &random)) : now
                let value = Double(Int.random(in: 0...1_000, using: &random))
                await agent.store.publish([Event(time: time, source: agent.source, body: .data(Datum(value: value)))])
                let width: Int64 = 10_000_000
                values[time.microseconds / width * width, default: []].append((time, value))
                if now >= due {
                    let sample = MemorySample(resident: 1, peak: 1, privateBytes: 1)
                    await agent.store.publish([Event(time: now, source: own, body: .memory(sample))])
                    due = now + .seconds(10)
                }
                await collect()
            }
            try await loop.sleep(for: .seconds(15))
            await collect()
            running.cancel()
            await running.value
            let windows = values.map { start, values in
                var last = values[0]
                for value in values where value.time >= last.time { last = value }
                let numbers = values.map(\.value)
                return Came(
                    series: "fact", start: Timestamp(microseconds: start), last: last.value,
                    min: numbers.min() ?? 0, max: numbers.max() ?? 0,
                    mean: numbers.reduce(0, +) / Double(numbers.count), count: values.count)
            }
            return (lines, Set(windows))
        }
    }

    /// How an agent's life comes to a fleet.
    enum Way: String, CaseIterable, Sendable { case live, backlog, slowClock, cutAndResumed }

    @Test(arguments: Way.allCases, [1, 2, 3] as [UInt64])
    func anAgentsWindowsAreTheSameWhateverWayItsLinesCome(_ way: Way, _ seed: UInt64) async throws {
        let (lines, truth) = try await Self.life(seed: seed)
        try await withLoop(virtual: true) { loop in
            let lag: Duration =
                switch way {
                case .live, .cutAndResumed: .milliseconds(50)
                case .slowClock: .seconds(600)
                case .backlog: .seconds(3_600)
                }
            let fleet = await FleetStage(on: loop, at: StoreHarness.start + lag)
            let got = LoopBound(Got())
            try await fleet.store.whileRunning {
                let id = await fleet.store.member("web1")
                _ = await fleet.store.receive([.success(try PeerScript().hello())], from: id)
                for (index, (time, text)) in lines.enumerated() {
                    // The connection is away for two minutes, and all that was said meanwhile comes at once.
                    let isAway = way == .cutAndResumed && (100..<200).contains(index)
                    if way != .backlog {
                        let due = (isAway ? lines[200].0 : time) + lag - fleet.wall.now
                        if due > .zero { try await loop.sleep(for: due) }
                    }
                    _ = await fleet.store.receive([.success(try PeerScript.decoded(text))], from: id)
                    got.value.lines += await fleet.read().lines
                }
                try await loop.sleep(for: .seconds(30))
                got.value.lines += await fleet.read().lines
            }
            let windows = try Self.windows(got.value.lines, prefix: "web1.")
            let came = Set(windows.values.map(\.0).filter { $0.series == "fact" })
            #expect(came == truth, "seed \(seed): \(came.symmetricDifference(truth))")
            let counts = await fleet.store.counts
            #expect(counts.late == 0 && counts.future == 0)
            // The agent's own lines of them are left out, and it had to say again no less.
            let own = try Self.windows(lines.map(\.1), prefix: "")
            if way == .live || way == .backlog {
                for (key, window) in own where window.0.series == "fact" {
                    #expect(windows[key]?.revision == window.revision, "seed \(seed): \(window)")
                }
            }
        }
    }

    // MARK: Clocks that are wrong, and one that is hostile

    /// Values of an agent come each second; nothing but the fleet's clock is other than usual.
    @Test func theFleetsOwnClockMayBeStepped() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let got = LoopBound(Got())
            let start = fleet.wall.now
            try await fleet.store.whileRunning {
                var peer = PeerScript()
                await fleet.receive([try peer.hello()])
                for second in 0..<300 {
                    if second == 100 { fleet.wall.step(by: .seconds(-3_600)) }
                    if second == 200 { fleet.wall.step(by: .seconds(3_600)) }
                    // The agent's own clock goes on as it was.
                    let time = start + .seconds(second)
                    var lines = [try peer.fact(Double(second), at: time)]
                    if second % 10 == 0 {
                        lines.append(
                            try peer.line(
                                #""type":"memory","source":"catwatch","rss_bytes":1,"peak_bytes":1,"private_bytes":1"#,
                                at: time))
                    }
                    await fleet.receive(lines)
                    try await loop.sleep(for: .seconds(1))
                    got.value.lines += await fleet.read().lines
                }
                try await loop.sleep(for: .seconds(15))
                got.value.lines += await fleet.read().lines
            }
            let counts = await fleet.store.counts
            #expect(counts.late == 0)
            let lines = got.value.lines.filter { $0.contains(#""type":"fact""#) }
            #expect(lines.count == 300)
            // While its clock is ahead of the fleet's, its lines have the fleet's time and keep their own.
            #expect(lines.indices.filter { lines[$0].contains("origin_time") } == Array(100..<200))
            let windows = try Self.windows(got.value.lines, prefix: "web1.").values.filter { $0.0.series == "fact" }
            #expect(windows.reduce(0) { $0 + $1.0.count } == 300, "\(windows.map(\.0.count))")
            #expect(windows.count <= 33)
        }
    }

    /// What a hostile agent may say, whatever it likes beside what an honest one says.
    private static func hostile(_ random: inout SeededGenerator, _ peer: inout PeerScript) throws -> Line {
        func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        let times = [
            PeerScript.start, PeerScript.start + .seconds(3_600), PeerScript.start - .seconds(864_000_000),
            Timestamp(seconds: 253_402_300_799), Timestamp(seconds: -62_135_596_800),
        ]
        let time = times[number(times.count)]
        // What ends a run for good is seldom, or nothing else would be heard.
        switch number(5) == 0 ? number(12) : number(8) + 5 {
        case 0:
            peer.run = "run\(number(1_000_000))"
            peer.sequence = 0
            return try peer.hello(#","interval_s":\#([0, 1, 31_556_952_000][number(3)]),"history_s":0"#)
        case 1:
            let from = [1, 1 << 40, Int.max - 1][number(3)]
            return try PeerScript.decoded(
                #"{"type":"gap","time":\#(PeerScript.time(time)),"from":\#(from),"to":\#(Int.max - 1),"reason":"x"}"#)
        case 2:
            return try PeerScript.decoded(
                #"{"type":"bye","time":\#(PeerScript.time(time)),"run":"\#(peer.run)","last_seq":\#(Int.max),"reason":"x"}"#
            )
        case 3:
            let sources = (0..<number(300)).map { _ in #"{"source":"s\#(number(1_000_000))","state":"failing"}"# }
            return try peer.stats(sources.joined(separator: ","))
        case 4:
            peer.sequence += number(1 << 50)
            let last = #""last_run":"run\#(number(20))","last_seq":\#(Int.max - 1)"#
            return try peer.line(#""type":"restart","source":"catwatch",\#(last)"#, at: time)
        case 5:
            return try peer.line(
                #""type":"latency","source":"fact","endpoint":"GET http://h/\#(number(1_000_000))","status":200,"ms":1e300"#,
                at: time)
        case 6: return try peer.line(#""type":"new\#(number(1_000_000))","source":"fact""#, at: time)
        case 7:
            let text = String(repeating: "x", count: number(5_000))
            return try peer.line(#""type":"error","source":"fact","code":"\#(text)","message":"\#(text)""#, at: time)
        case 8:
            let source = ["good1.fact", "catwatch", "../x", "a\\u0000b"][number(4)]
            return try peer.line(#""type":"t","source":"\#(source)","series":"good1.fact","value":1"#, at: time)
        case 9:
            return try peer.line(
                #""type":"t\#(number(9))","source":"s\#(number(1_000_000))","series":"s/x","value":1,"agent":"good1""#,
                at: time)
        default:
            return try peer.line(
                #""type":"fact","source":"fact","series":"fact/\#(number(1_000_000))","value":1e308"#, at: time)
        }
    }

    private static let honest = (1...5).map { "good\($0)" }
    private static let rounds = 60

    /// What comes of honest agents and a hostile one between them.
    private static func besideAHostileOne(_ fleet: FleetStage, _ seed: UInt64, _ got: LoopBound<Got>) async throws {
        var random = SeededGenerator(seed: seed)
        var bad = PeerScript()
        for agent in honest { await fleet.receive([try PeerScript().hello()], from: agent) }
        await fleet.receive([try bad.hello()], from: "bad")
        for round in 0..<rounds {
            for agent in honest {
                var good = PeerScript(from: round + 1)
                await fleet.receive([try good.fact(Double(round), at: fleet.wall.now)], from: agent)
            }
            var lines: [Line] = []
            for _ in 0..<25 { lines.append(try hostile(&random, &bad)) }
            await fleet.receive(lines, from: "bad")
            got.value.lines += await fleet.read().lines
            try await fleet.loop.sleep(for: .seconds(1))
        }
        try await fleet.loop.sleep(for: .seconds(15))
        got.value.lines += await fleet.read().lines
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func aHostileAgentIsBoundedAndNobodyElseLosesAnything(_ seed: UInt64) async throws {
        let all = try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start) {
                ($0.memberSeries, $0.memberSources, $0.memberEndpoints) = (10, 10, 10)
            }
            let got = LoopBound(Got())
            try await fleet.store.whileRunning { try await Self.besideAHostileOne(fleet, seed, got) }
            let counts = await fleet.store.counts
            #expect(counts.series <= 5 + 10)
            let endpoints = await fleet.store.endpoints.count
            let sources = await fleet.store.sourceStates.count
            #expect(endpoints <= 10 && sources <= 2 * 5 + 11)
            let bad = await fleet.store.member("bad")
            let runs = await fleet.store.member(bad).marks.places.count
            #expect(runs <= RunMarks.most)
            return got.value.lines
        }
        for agent in Self.honest {
            let theirs = all.filter { $0.contains(#""agent":"\#(agent)""#) }
            let facts = theirs.filter { $0.contains(#""type":"fact""#) }
            #expect(facts.count == Self.rounds && !theirs.contains { $0.contains(#""type":"lost""#) }, "seed \(seed)")
            let windows = try Self.windows(theirs, prefix: "\(agent).").values
            #expect(windows.reduce(0) { $0 + $1.0.count } == Self.rounds, "seed \(seed)")
        }
        // What it says bears its name, and no other.
        let claimed = all.filter { $0.contains(#""source":"good1.fact""#) }
        #expect(claimed.allSatisfy { $0.contains(#""agent":"good1""#) })
        let errors = all.filter { $0.contains(#""source":"bad.catwatch""#) && $0.contains(#""type":"error""#) }
        #expect((3...8).contains(errors.count), "seed \(seed): \(errors)")
        #expect(errors.allSatisfy { $0.utf8.count < 600 })
        #expect(all.allSatisfy { $0.utf8.count < 2_000 })
    }

    /// Windows of a thousand series that end at one moment come a slice at a time, and all of them come.
    @Test func windowsOfAnAgentThatEndTogetherComeInSlices() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start, holdsInputs: true) { $0.logCapacity = 1 << 18 }
            let got = LoopBound(Got())
            try await fleet.store.whileRunning {
                var peer = PeerScript()
                await fleet.receive([try peer.hello()])
                for start in stride(from: 0, to: 1_000, by: 50) {
                    var lines: [Line] = []
                    for number in start..<start + 50 { lines.append(try peer.fact(1, series: "fact/\(number)")) }
                    await fleet.receive(lines)
                    got.value.lines += await fleet.read().lines
                }
                // The log has no room for all of them, and who holds the inputs up gets each.
                await fleet.receive([try peer.fact(1, at: PeerScript.start + .seconds(30))])
                for _ in 0..<400 {
                    try await loop.sleep(for: .milliseconds(50))
                    got.value.lines += await fleet.read().lines
                }
            }
            let windows = try Self.windows(got.value.lines, prefix: "web1.").values
            #expect(windows.count { $0.0.start == PeerScript.start } == 1_000, "\(windows.count)")
        }
    }

    /// What has a source that nothing more was to come from forgotten, while a line of it waits.
    enum Forgetting: CaseIterable { case time, series, endpoints }

    /// A source that its agent's `stats` leave out is only remembered; what comes of it after all waits for slow outputs.
    @Test(arguments: Forgetting.allCases)
    func aSourceThatAnAgentHasLeftOutIsThereAgainWithItsNextLine(_ cause: Forgetting) async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start, holdsInputs: true) {
                $0.logCapacity = 1 << 18
                if cause == .series { $0.series = 3 }
                if cause == .endpoints { $0.endpoints = 1 }
            }
            let other = #"{"source":"other","state":"ok","type":"other"}"#
            func answer(_ source: String) -> String {
                #""type":"latency","source":"\#(source)","endpoint":"GET http://h/\#(source)","status":200,"ms":1"#
            }
            var peer = PeerScript()
            await fleet.receive(
                try [
                    peer.hello(), peer.stats(#"{"source":"fact","state":"ok","type":"fact","unit":"m"},"# + other),
                    peer.fact(), peer.line(answer("fact")), peer.stats(other),
                ])
            #expect(await !fleet.store.sourceStates.contains { $0.source == "web1.fact" })
            let lines = try [
                peer.line(#""type":"other","source":"other","series":"other","value":1"#), peer.line(answer("other")),
                peer.fact(2),
            ]
            let said = LoopBound(Got())
            try await fleet.store.whileRunning {
                try await loop.sleep(for: .seconds(1))
                _ = await fleet.read()
                if cause == .time { await Self.fill(fleet) }
                async let received = fleet.receive(lines)
                if cause == .time {
                    try await loop.sleep(for: .seconds(140))
                    // Its place would be this one's.
                    _ = await fleet.store.register(SourceDescription(name: "new"))
                    said.value.add(await fleet.read())
                }
                _ = await received
                try await loop.sleep(for: .seconds(2))
                said.value.add(await fleet.read())
                #expect(said.value.greetings > 0)
            }
            for line in said.value.lines { #expect(throws: Never.self) { _ = try PeerScript.decoded(line) } }
            let facts = said.value.lines.filter { $0.contains(#""value":2,"#) }
            #expect(facts.count == 1 && facts[0].contains(#""source":"web1.fact","series":"web1.fact","#), "\(facts)")
            let status = try #require(await fleet.store.sourceStates.first { $0.source == "web1.fact" })
            #expect(status.unit == "m" && status.state == .ok)
        }
    }

    /// That something of it cannot be had is said of the agent then, and does not bring it back.
    @Test func whatIsSaidOfASourceThatIsLeftOutIsSaidOfItsAgent() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            await fleet.receive(try [peer.hello(), peer.fact(), peer.stats("")])
            try await loop.sleep(for: .seconds(140))
            _ = await fleet.read()
            let id = await fleet.store.member("web1")
            await fleet.store.say(.error(Failure(.timeout, "no answer")), of: id, source: "fact")
            let said = try await fleet.read().lines.map { try PeerScript.decoded($0) }
            #expect(said.filter { $0.type == "error" }.map(\.source) == ["web1.catwatch"])
            #expect(await fleet.store.sourceStates.map(\.source) == ["web1.catwatch"])
        }
    }

    /// More than half of the log, which the reader has yet to get.
    private static func fill(_ fleet: FleetStage) async {
        let source = await fleet.store.register(SourceDescription(name: "filler"))
        let text = Bytes([UInt8](repeating: UInt8(ascii: "x"), count: 1_000))
        let event = Event(time: fleet.wall.now, source: source, body: .data(Datum(text: text)))
        await fleet.store.publish(Array(repeating: event, count: 140))
    }

    /// Forgetting an agent of many windows waits for slow outputs.
    @Test func anAgentThatComesBackWhileItIsForgottenIsListed() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start, holdsInputs: true) { $0.logCapacity = 1 << 16 }
            var peer = PeerScript()
            await fleet.receive([try peer.hello()])
            for number in 0..<200 {
                await fleet.receive([try peer.fact(1, series: "fact/\(number)")])
                _ = await fleet.read()
            }
            async let released: Void = fleet.store.release(named: "web1.catwatch")
            try await loop.sleep(for: .seconds(1))
            await fleet.receive([try peer.hello()])
            while await !fleet.read().lines.isEmpty { try await loop.sleep(for: .milliseconds(1)) }
            await released
            #expect(await fleet.store.sourceStates.map(\.source) == ["web1.catwatch"])
        }
    }

    /// Which agents came by a source is known before others are waited for; whose place they have then may be another's.
    @Test func whoHasThePlaceOfAnAgentThatIsForgottenIsNotForgotten() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start, holdsInputs: true) {
                ($0.logCapacity, $0.released) = (1 << 18, 0)
            }
            let source = await fleet.store.register(SourceDescription(name: "nats"))
            var last: MemberID?
            for number in 0..<40 { last = try await fleet.store.member("a\(number)", by: source).get() }
            await Self.fill(fleet)
            async let released: Void = fleet.store.release(named: "nats")
            try await loop.sleep(for: .seconds(1))
            await fleet.store.release(named: "a39.catwatch")
            var names: [String] = []
            repeat { names.append("new\(names.count)") } while await fleet.store.member(names[names.count - 1]) != last
            #expect(names.count <= 40)
            var lines = await fleet.read().lines
            await released
            lines += await fleet.read().lines
            let forgotten = lines.filter { $0.contains(#""state":"forgotten""#) }
            #expect(forgotten.count == 40 && !forgotten.contains { $0.contains(#""agent":"new"#) })
            let listed = await fleet.store.sourceStates.map(\.source)
            #expect(names.allSatisfy { listed.contains("\($0).catwatch") })
        }
    }

    @Test func thatManyWaitForAJournalIsOneTry() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start, awaitsPositions: true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { try await fleet.store.waitForPositions() } }
                try await loop.sleep(for: .seconds(5))
                await fleet.store.resume([])
                try await group.waitForAll()
            }
            let lines = try await fleet.read().lines.map { try PeerScript.decoded($0) }
            guard lines.count == 2, case .recovered(let recovery) = lines[1].body else {
                Issue.record("\(lines)")
                return
            }
            #expect(recovery.attempts == 1)
            // An agent that a reload adds later waits for nothing.
            try await fleet.store.waitForPositions()
        }
    }

    /// After a reload, an input reports its own failures.
    @Test func whatFailsIsSaidAgainForAnotherInput() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let id = await fleet.store.member("web1")
            func errorsOfTwoTries() async -> Int {
                await fleet.store.setLink(.opening, of: id)
                for _ in 0..<2 {
                    await fleet.store.fail(id, .broken, by: "it is away", Failure(.connect, "web1: it is away"))
                }
                return await fleet.read().lines.count { $0.contains(#""message":"web1: it is away""#) }
            }
            #expect(await errorsOfTwoTries() == 1)
            #expect(await errorsOfTwoTries() == 1)
        }
    }

    /// The subject of its first message counts, until its source gets another input.
    @Test func anAgentOfABrokerHasOneSubject() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let source = await fleet.store.register(SourceDescription(name: "nats"))
            func subject(_ subject: String) async -> EventStore.JoinRefusal? {
                switch await fleet.store.member("web1", by: source, subject: subject) {
                case .success: nil
                case .failure(let refusal): refusal
                }
            }
            #expect(await subject("a.web1") == nil)
            #expect(await subject("b.web1") == .elsewhere("a.web1"))
            await fleet.store.beginInput(by: source)
            #expect(await subject("b.web1") == nil)
            #expect(await subject("a.web1") == .elsewhere("b.web1"))
        }
    }

    @Test func anAgentsMemoryIsNotTheFleetsOwn() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var peer = PeerScript()
            let lines = [
                try peer.hello(),
                try peer.line(
                    #""type":"memory","source":"catwatch","rss_bytes":1,"peak_bytes":2,"private_bytes":3"#),
            ]
            await fleet.receive(lines)
            #expect(await fleet.store.numbers.memory == nil)
            let own = MemorySample(resident: 4, peak: 5, privateBytes: 6)
            let source = await fleet.store.agentSource
            await fleet.store.publish([Event(time: PeerScript.start, source: source, body: .memory(own))])
            await fleet.receive(lines, from: "web2")
            #expect(await fleet.store.numbers.memory == own)
        }
    }

    private final class Got {
        var lines: [String] = []
        var greetings = 0

        func add(_ read: (lines: [String], greetings: Int)) {
            lines += read.lines
            greetings += read.greetings
        }
    }
}
