import Reactor
import TestSupport
import Testing

@testable import Feed

/// What is made of one agent's lines, without a store.
@Suite(.limited) struct FleetMemberTests {
    private static let wall = PeerScript.start

    /// Takes lines and says in short what they came to.
    private func take(
        _ lines: [Line], _ member: inout FleetMember, wall: Timestamp = wall
    ) -> [String] {
        var items: [FleetMember.Item] = []
        for line in lines { member.process(line, wall: wall, into: &items) }
        member.flushMissing(into: &items)
        return items.map {
            switch $0 {
            case .line(let line, let place, _): "\(place.run) \(place.sequence) \(line.type)"
            case .kept(let line, let place, let isMissed):
                "\(isMissed ? "missed" : "kept") \(place.run) \(place.sequence) \(line.type)"
            case .windows(let kept): "windows \(kept.windows.count)"
            case .lost(let run, let numbers): "lost \(run) \(numbers)"
            case .stats(let stats): "stats \(stats.sources.count)+\(stats.moreSources)"
            case .report(.error(let failure)): failure.message
            case .report(let body): "\(body)"
            case .breach(let reason): "breach: \(reason)"
            }
        }
    }

    private func member(after places: [LineID] = []) -> FleetMember {
        FleetMember("web1", width: .seconds(10), mostSources: 3, after: places.map { MemberPosition("web1", $0) })
    }

    @Test func whatItBeginsWithIsNoLoss() throws {
        var (member, peer) = (member(), PeerScript(from: 500))
        #expect(member.place == nil)
        #expect(try take([peer.hello(), peer.fact(), peer.fact()], &member) == ["r1 500 fact", "r1 501 fact"])
        #expect(member.place == LineID("r1", 501) && member.lost == 0)
    }

    /// As when its sources change, or the connection breaks, before it has said anything.
    @Test func thatItGreetsAgainIsNoLossEither() throws {
        var (member, peer, other) = (member(), PeerScript(from: 500), PeerScript(run: "r2", from: 2))
        _ = take(try [peer.hello(), peer.hello(), other.hello(), peer.hello()], &member)
        #expect(try take([peer.fact()], &member) == ["r1 500 fact"])
        #expect(try take([other.hello(), other.fact()], &member) == ["lost r2 1...1", "r2 2 fact"])
    }

    @Test func whatComesAgainIsDroppedAndCounted() throws {
        var (member, peer) = (member(), PeerScript())
        let lines = try [peer.hello(), peer.fact(), peer.fact()]
        #expect(take(lines + lines, &member) == ["r1 1 fact", "r1 2 fact"])
        #expect(member.repeated == 2 && member.lost == 0)
    }

    /// Behind the greatest number there is none, and nothing could be told from what was here.
    @Test func numbersThatNoLineHasAreRefusedInWords() throws {
        var (member, peer) = (member(), PeerScript())
        let words = "web1 counts up to \(Int.max), which is no number of a line: it is not taken"
        let time = PeerScript.time(PeerScript.start)
        let bye = try PeerScript.decoded(#"{"type":"bye","time":\#(time),"run":"r1","last_seq":\#(Int.max)}"#)
        let gap = try PeerScript.decoded(#"{"type":"gap","time":\#(time),"from":3,"to":\#(Int.max),"reason":"x"}"#)
        #expect(try take([peer.hello(), peer.fact(), bye, gap], &member) == ["r1 1 fact", words])
        peer.sequence = Int.max - 1
        #expect(try take([peer.fact()], &member) == [])
        var (other, last) = (self.member(), PeerScript(from: Int.max))
        #expect(try take([last.hello(), last.fact()], &other) == [words])
        // One less is one.
        peer.sequence = Int.max - 2
        #expect(try take([peer.fact()], &member) == ["lost r1 2...\(Int.max - 2)", "r1 \(Int.max - 1) fact"])
        #expect(member.lost == Int.max - 3)
    }

    @Test func aHoleAndAGapAreOneLossWhereTheyTouch() throws {
        var (member, peer) = (member(), PeerScript())
        var lines = try [peer.hello(), peer.fact()]
        peer.skip(3)  // 2...4
        lines.append(
            try PeerScript.decoded(
                #"{"type":"gap","time":\#(PeerScript.time(PeerScript.start)),"from":3,"to":8,"reason":"slow_reader"}"#))
        peer.sequence = 9  // 9 too
        lines.append(try peer.fact())
        #expect(take(lines, &member) == ["r1 1 fact", "lost r1 2...9", "r1 10 fact"])
        #expect(member.lost == 8)
    }

    @Test func aGapBeforeItsFirstLineIsAsLongAsItSays() throws {
        var (member, peer) = (member(), PeerScript(from: 9))
        let time = PeerScript.time(PeerScript.start)
        let gap = try PeerScript.decoded(#"{"type":"gap","time":\#(time),"from":5,"to":8,"reason":"slow_reader"}"#)
        #expect(try take([peer.hello(), gap, peer.fact()], &member) == ["lost r1 5...8", "r1 9 fact"])
        #expect(member.lost == 4)
    }

    @Test func aRunThatFollowsIsExpectedFromItsFirstLine() throws {
        var (member, peer) = (member(), PeerScript())
        _ = take(try [peer.hello(), peer.fact()], &member)
        var second = PeerScript(run: "r2", from: 4)
        #expect(try take([second.hello(), second.fact()], &member) == ["lost r2 1...3", "r2 4 fact"])
        // The rest of the first one comes after all, as from a journal.
        #expect(
            try take([peer.hello(), peer.fact(), second.hello(), second.fact()], &member) == ["r1 2 fact", "r2 5 fact"])
    }

    @Test func eightRunsAreKnownAndNoMore() throws {
        var member = member()
        for number in 1...9 {
            var peer = PeerScript(run: "r\(number)")
            _ = take(try [peer.hello(), peer.fact()], &member)
        }
        #expect(member.marks.places.map(\.run) == (2...9).map { "r\($0)" })
        var (known, forgotten) = (PeerScript(run: "r2"), PeerScript(run: "r1"))
        #expect(try take([known.hello(), known.fact()], &member) == [])
        #expect(try take([forgotten.hello(), forgotten.fact()], &member) == ["r1 1 fact"])
        #expect(member.repeated == 1)
    }

    /// Takes a message that a stream stored at this second; nil when it is a repeat.
    private func take(
        _ peer: inout PeerScript, at second: Int, on host: String? = nil, isReread: Bool = false,
        _ member: inout FleetMember
    ) throws -> [String]? {
        let message = StreamMessage(
            run: peer.run, host: host, stored: Self.wall + .seconds(second), isReread: isReread)
        let lines = try [peer.hello(), peer.fact()]
        guard member.begin(message, lines.map { .success($0) }) else { return nil }
        return take(lines, &member)
    }

    /// As after every start of an agent that has been started often.
    @Test func whatIsMissingOfANinthRunIsLost() throws {
        var member = member()
        for number in 0..<8 {
            var peer = PeerScript(run: "r\(number)")
            #expect(try take(&peer, at: number, &member) == ["r\(number) 1 fact"])
        }
        var peer = PeerScript(run: "r8")
        peer.skip(1)
        #expect(try take(&peer, at: 9, &member) == ["lost r8 1...1", "r8 2 fact"])
    }

    /// Its journal had more of the earlier run than the stream.
    @Test func aRestartIsNoConflict() throws {
        var (member, one, two) = (member(), PeerScript(), PeerScript(run: "r2"))
        #expect(try take(&one, at: 0, on: "box1", &member) == ["r1 1 fact"])
        let message = StreamMessage(run: "r2", host: "box1", stored: Self.wall + .seconds(1))
        let restart = try two.line(#""type":"restart","source":"catwatch","last_run":"r1","last_seq":5"#)
        let lines = try [two.hello(), restart, two.fact()]
        let isNew = member.begin(message, lines.map { .success($0) })
        let items = take(lines, &member)
        #expect(isNew && !items.contains { $0.contains("name of two agents") }, "\(items)")
        #expect(member.lost == 4)
    }

    /// A stream that is read again has runs from before those that are known.
    @Test func anUnknownRunFromBeforeTheNewestMessageIsARepeat() throws {
        let known = MemberPosition("web1", LineID("r1", 1), stored: Self.wall + .seconds(10))
        var member = FleetMember("web1", width: .seconds(10), after: [known])
        var (old, peer, new) = (PeerScript(run: "r0"), PeerScript(), PeerScript(run: "r2"))
        #expect(try take(&old, at: 9, isReread: true, &member) == nil)
        #expect(member.repeated == 1)
        #expect(try take(&peer, at: 10, isReread: true, &member) == [])
        #expect(try take(&peer, at: 11, isReread: true, &member) == ["r1 2 fact"])
        #expect(try take(&new, at: 12, isReread: true, &member) == ["r2 1 fact"])
        // By another server's clock: what is no repeat by its place in the stream is none.
        #expect(try take(&old, at: 5, &member) == ["lost r0 1...1", "r0 2 fact"])
    }

    @Test func twoAgentsOfOneNameAreNamedOnceByTheirHosts() throws {
        var (member, one, other) = (member(), PeerScript(), PeerScript(run: "r2"))
        #expect(try take(&one, at: 0, on: "box1", &member) == ["r1 1 fact"])
        #expect(try take(&other, at: 1, on: "box2", &member) == ["r2 1 fact"])
        let words = #"web1 is the name of two agents, on the hosts "box2" and "box1": give one another --agent-name"#
        #expect(try take(&one, at: 2, on: "box1", &member) == [words, "r1 2 fact"])
        #expect(try take(&other, at: 3, on: "box2", &member) == ["r2 2 fact"])
        member.state.hear(at: Self.wall)
        #expect(member.state.report(at: Self.wall, index: 0, lost: 0)?.state == "conflict")
    }

    @Test func itGoesOnFromWhereAJournalHasIt() throws {
        var (member, peer) = (member(after: [LineID("r0", 4), LineID("r1", 2)]), PeerScript())
        #expect(member.place == LineID("r1", 2))
        let lines = try [peer.hello(), peer.fact(), peer.fact(), peer.fact()]
        #expect(take(lines, &member) == ["r1 3 fact"])
        var other = PeerScript(run: "r2", from: 3)
        #expect(try take([other.hello(), other.fact()], &member) == ["lost r2 1...2", "r2 3 fact"])
    }

    /// Also a byebye of lines that never came.
    @Test func theEndOfARunTellsWhatIsMissing() throws {
        var (member, peer) = (member(), PeerScript())
        let bye = #"{"type":"bye","time":\#(PeerScript.time(PeerScript.start)),"run":"r1","last_seq":3,"reason":"end"}"#
        #expect(
            try take([peer.hello(), peer.fact(), PeerScript.decoded(bye)], &member) == ["r1 1 fact", "lost r1 2...3"])
        // Another run's says nothing of this one.
        let other = PeerScript(run: "r2")
        #expect(try take([other.hello(), PeerScript.decoded(bye)], &member) == [])
    }

    @Test(arguments: [
        (
            #""type":"fact","source":"fact","series":"other","value":1"#,
            "sends a series that is not of its source \"fact\": \"other\""
        ),
        (
            #""type":"fact","source":"fact","series":"facts/x","value":1"#,
            "sends a series that is not of its source \"fact\": \"facts/x\""
        ),
        (#""type":"fact","source":"a b","series":"a b","value":1"#, "names a source as no source is called: \"a b\""),
        (#""type":"fact","source":"","series":"","value":1"#, "names a source as no source is called: \"\""),
        (#""type":"fact\u001b","source":"a","series":"a"""#, "has lines of a type as no type is called: \"fact␛\""),
        (#""type":"fact","source":"catwatch","series":"catwatch""#, "sends data in the name of the agent itself"),
        (#""type":"lost","source":"a.catwatch","from":1,"to":2"#, "sends what only a fleet says"),
    ])
    func whatNoAgentSendsIsLostAndSaidOnce(_ members: String, _ message: String) throws {
        let members = members.hasSuffix(#""""#) ? String(members.dropLast()) : members
        var (member, peer) = (member(), PeerScript())
        let lines = try [peer.hello(), peer.fact(), peer.line(members), peer.line(members), peer.fact()]
        #expect(take(lines, &member) == ["r1 1 fact", "web1 \(message)", "lost r1 2...3", "r1 4 fact"])
    }

    @Test func aFirstLineThatCannotBeReadIsLostToo() throws {
        var (member, peer) = (member(), PeerScript(from: 2))
        #expect(try take([peer.hello()], &member) == [])
        var items: [FleetMember.Item] = []
        member.process(LineFault(offset: 0, reason: .notAnObject), into: &items)
        #expect(items.count == 1 && member.lost == 0)
        #expect(try take([peer.fact()], &member) == ["lost r1 1...1", "r1 2 fact"])
        #expect(member.lost == 1)
    }

    @Test func linesOfALaterVersionArePassedOver() throws {
        var (member, peer) = (member(), PeerScript())
        let lines = try [
            peer.hello(), peer.fact(), peer.line(#""type":"latest","source":"a","new":1"#),
            peer.line(#""type":"notified","source":"a","series":1"#), peer.fact(),
        ]
        #expect(take(lines, &member) == ["r1 1 fact", "r1 4 fact"])
        #expect(member.unknown == 2 && member.lost == 0)
    }

    @Test func sourcesBeyondItsShareAreLost() throws {
        var (member, peer) = (member(), PeerScript())
        var lines = [try peer.hello()]
        for name in ["a", "b", "c", "d", "a", "e"] {
            lines.append(try peer.line(#""type":"t","source":"\#(name)","series":"\#(name)""#))
        }
        #expect(
            take(lines, &member) == [
                "r1 1 t", "r1 2 t", "r1 3 t", "web1 has more than 3 sources: lines of further ones are lost",
                "lost r1 4...4", "r1 5 t", "lost r1 6...6",
            ])
        // One that is gone makes room for another; of more than there is room for it is said how many.
        let four = ["a", "b", "d", "e"].map { #"{"source":"\#($0)","state":"ok"}"# }.joined(separator: ",")
        #expect(try take([peer.stats(four)], &member) == ["stats 3+1"])
        #expect(try take([peer.line(#""type":"t","source":"d","series":"d""#)], &member) == ["r1 7 t"])
    }

    @Test func whatItSaysOfItsSourcesIsCheckedToo() throws {
        var (member, peer) = (member(), PeerScript())
        let types = ["fact", "two words", "a\\u001bb", ""].enumerated().map { number, type in
            #"{"source":"s\#(number)","state":"ok","type":"\#(type)"}"#
        }
        var items: [FleetMember.Item] = []
        let sources = #"{"source":"a b","state":"ok"},"# + types[..<3].joined(separator: ",")
        member.process(try peer.hello(), wall: Self.wall, into: &items)
        member.process(try peer.stats(sources), wall: Self.wall, into: &items)
        guard case .stats(let stats)? = items.first else { throw PeerScript.Unexpected() }
        #expect(stats.sources.map(\.source) == ["s0", "s1", "s2"] && stats.moreSources == 1)
        #expect(stats.sources.map(\.type) == ["fact", nil, nil])
    }

    @Test func aFleetIsNoMember() throws {
        var (member, peer) = (member(), PeerScript())
        let hello = try peer.hello(#","fleet":true"#)
        let reason = "web1 is a fleet itself, and no member of one: attach to it alone"
        #expect(take([hello], &member) == [reason, "breach: it is a fleet itself"])
        #expect(take([hello], &member) == ["breach: it is a fleet itself"])
        #expect(try take([peer.fact()], &member) == [])
    }

    @Test func linesOfAnUnknownRunAreNobodys() throws {
        var (member, peer) = (member(), PeerScript())
        #expect(try take([peer.fact()], &member) == [])
    }

    /// Windows are computed here; that they were written is how the agent's time goes on.
    @Test func theClockIsTheAgentsOwn() throws {
        var (member, peer) = (member(), PeerScript())
        let slow = PeerScript.start - .seconds(600)
        let memory = #""type":"memory","source":"catwatch","rss_bytes":1,"peak_bytes":1,"private_bytes":1"#
        let window =
            #""type":"window","source":"fact","series":"fact","start":\#(PeerScript.time(slow)),"seconds":10,"last":1,"last_seq":1,"count":1,"min":1,"max":1,"mean":1"#
        _ = take(try [peer.hello(), peer.line(memory, at: slow)], &member)
        #expect(member.clock.time == slow)
        #expect(try take([peer.line(window, at: slow + .seconds(5))], &member) == [])
        #expect(member.clock.time == slow + .seconds(5) && member.lost == 0)
        // From ahead of the time here it is not taken.
        _ = take(try [peer.line(memory, at: PeerScript.start + .seconds(3_600))], &member)
        #expect(member.clock.time == PeerScript.start)
    }
}

@Suite(.limited) struct RunMarksTests {
    @Test func goUpOnly() {
        var marks = RunMarks([LineID("a", 3), LineID("b", 1)])
        marks.advance(to: LineID("a", 2))
        #expect(marks.places == [LineID("b", 1), LineID("a", 3)])
        marks.advance(to: LineID("b", 5))
        #expect(marks.places == [LineID("a", 3), LineID("b", 5)])
        #expect(RunMarks((0..<10).map { LineID("r\($0)", 1) }).places.map(\.run) == (2..<10).map { "r\($0)" })
    }
}

@Suite(.limited) struct MemberClockTests {
    private static let start = PeerScript.start

    @Test func goesForwardByWhatTheAgentSays() {
        var clock = MemberClock(width: .seconds(10))
        #expect(clock.time == nil)
        clock.hear(Self.start, isData: false, wall: Self.start + .seconds(60))
        clock.hear(Self.start - .seconds(3), isData: false, wall: Self.start + .seconds(60))
        #expect(clock.time == Self.start)
        clock.hear(Self.start + .seconds(2), isData: false, wall: Self.start + .seconds(60))
        #expect(clock.time == Self.start + .seconds(2))
        // It was stepped back.
        clock.hear(Self.start - .seconds(60), isData: false, wall: Self.start + .seconds(60))
        #expect(clock.time == Self.start - .seconds(60))
    }

    /// It has the time here, and so has its clock.
    @Test func anEventFromTheFutureIsOfNow() {
        var clock = MemberClock(width: .seconds(10))
        clock.hear(Self.start - .seconds(9_000), isData: true, wall: Self.start)
        clock.hear(Self.start + .seconds(9_000), isData: true, wall: Self.start)
        #expect(clock.time == Self.start)
    }

    @Test func anEventSaysOnlyThatTheClockIsNotFarBehindIt() {
        var clock = MemberClock(width: .seconds(10))
        clock.hear(Self.start, isData: false, wall: Self.start + .seconds(60))
        clock.hear(Self.start + .seconds(9), isData: true, wall: Self.start + .seconds(60))
        #expect(clock.time == Self.start)
        clock.hear(Self.start + .seconds(25), isData: true, wall: Self.start + .seconds(60))
        #expect(clock.time == Self.start + .seconds(15))
        clock.hear(Self.start - .seconds(3_600), isData: true, wall: Self.start + .seconds(60))
        #expect(clock.time == Self.start + .seconds(15))
    }

    @Test func isNeverMoreThanAWindowAheadOfTheTimeHere() {
        var clock = MemberClock(width: .seconds(10))
        clock.hear(Self.start + .seconds(3_600), isData: false, wall: Self.start)
        #expect(clock.time == Self.start)
        clock.hear(Self.start + .seconds(10), isData: false, wall: Self.start)
        #expect(clock.time == Self.start + .seconds(10))
        // The time here was stepped back, and all that comes is ahead of it, events too.
        let back = Self.start - .seconds(3_600)
        clock.hear(Self.start + .seconds(11), isData: true, wall: back)
        #expect(clock.time == back)
        // And forward again.
        clock.hear(Self.start + .seconds(30), isData: true, wall: Self.start + .seconds(30))
        #expect(clock.time == Self.start + .seconds(20))
    }
}

@Suite(.limited) struct FleetTests {
    private static let now = LoopInstant(nanoseconds: 0)
    private static let moment = Moment(wall: Timestamp(seconds: 1_700_000_000), now: now)

    /// A hub of at most two agents, which come by one source.
    private struct Hub: ~Copyable {
        var state: FeedState
        private let way: SourceID

        init() {
            var limits = FeedState.Limits()
            limits.members = 2
            state = FeedState(limits: limits)
            way = state.register(SourceDescription(name: "nats"), at: FleetTests.moment.wall)
        }

        mutating func join(_ name: String) -> MemberID? {
            try? state.member(name, by: way, subject: "s", at: FleetTests.moment).get().member
        }

        /// Has an agent join and go again, whose sources are not forgotten yet.
        mutating func visit(_ name: String) throws -> MemberID {
            let id = try #require(join(name))
            _ = state.fleet[id].state.farewell(at: FleetTests.moment.wall, lost: 0)
            state.fleet[id].way = nil
            for source in state.sources(of: id) { state.release(source, at: FleetTests.moment) }
            state.fleet.free(id)
            return id
        }
    }

    @Test func aPlaceIsFreeOnceItsSourcesAreForgotten() throws {
        var hub = Hub()
        let first = try hub.visit("a")
        #expect(hub.join("b") != first && hub.join("c") == nil)
        #expect(hub.state.makeRoom(forAgent: "a", at: Self.moment) == nil)
        #expect(hub.join("c") == first && hub.state.fleet["a"] == nil && hub.state.fleet[first].name == "c")
        #expect(hub.state.fleet.free == [] && hub.join("d") == nil)
    }

    @Test func oneThatIsBackKeepsItsPlace() throws {
        var hub = Hub()
        let first = try hub.visit("a")
        #expect(hub.join("a") == first && hub.state.fleet.free == [])
        #expect(hub.join("b") != first && hub.join("c") == nil)
        #expect(hub.state.fleet["a"] == first && hub.state.fleet[first].name == "a")
    }
}

@Suite(.limited) struct AgentNameTests {
    @Test(arguments: [
        ("web1", true), ("Web-1_a", true), ("", false), ("a.b", false), ("ä", false), ("a b", false),
        (String(repeating: "x", count: 63), true), (String(repeating: "x", count: 64), false),
    ])
    func isShortAndPlain(_ name: String, _ isValid: Bool) { #expect(AgentName.isValid(name) == isValid) }

    @Test(arguments: [
        ("web1", "web1"), ("web1.example.org", "web1-example-org"), ("büro", "b-ro"), ("...", nil), ("", nil),
        (String(repeating: "x", count: 80), String(repeating: "x", count: 63)),
    ])
    func isMadeOfWhatAHostIsCalled(_ host: String, _ name: String?) { #expect(AgentName.made(of: host) == name) }
}
