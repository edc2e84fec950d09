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
            #expect(await fleet.store.sources[1].timeliness == .inTime)
            await fleet.store.release(named: "web1.catwatch")
            #expect(await fleet.store.sourceStates.isEmpty)
        }
    }

    // MARK: Windows

    // MARK: Clocks that are wrong, and one that is hostile

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
            let windows = try theirs.compactMap { text -> Line.Window? in
                if case .window(let window) = try LineDecoder.decode(Bytes(text.utf8)).body { window } else { nil }
            }
            #expect(windows.reduce(0) { $0 + $1.count } == Self.rounds, "seed \(seed)")
        }
        // What it says bears its name, and no other.
        let claimed = all.filter { $0.contains(#""source":"good1.fact""#) }
        #expect(claimed.allSatisfy { $0.contains(#""agent":"good1""#) })
        let errors = all.filter { $0.contains(#""source":"bad.catwatch""#) && $0.contains(#""type":"error""#) }
        #expect((3...8).contains(errors.count), "seed \(seed): \(errors)")
        #expect(errors.allSatisfy { $0.utf8.count < 600 })
        #expect(all.allSatisfy { $0.utf8.count < 2_000 })
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
