import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct MemberStateTests {
    private static let start = Timestamp(microseconds: 1_700_000_000_000_000)

    private static func at(_ seconds: Double) -> Timestamp { start + .milliseconds(Int(seconds * 1_000)) }

    private static func line(_ text: String, at seconds: Double) throws -> Line {
        var stamp = TimestampText()
        let time = LineWriter.bytes(atMost: 64) { stamp.write(at(seconds), to: &$0) }
        return try LineDecoder.decode(
            Bytes(Array(#"{"time":\#(String(decoding: time, as: UTF8.self)),\#(text)}"#.utf8)))
    }

    private static func hello(_ run: String = "a", interval: Int = 10, at seconds: Double) throws -> Line {
        try line(
            #""type":"hello","format":1,"run":"\#(run)","interval_s":\#(interval),"first_seq":1,"next_seq":1,"#
                + #""host":{"name":"box","os":"Debian"},"app":{"name":"catwatch","version":"1"}"#, at: seconds)
    }

    private static func said(_ state: inout MemberState, at seconds: Double) -> String? {
        state.report(at: at(seconds), index: 0, lost: 0)?.state
    }

    @Test func saysWhatChangesOnce() throws {
        var state = MemberState()
        state.link = .opening
        #expect(Self.said(&state, at: 0) == "connecting")
        #expect(Self.said(&state, at: 1) == nil)
        state.link = .open
        state.hear(try Self.hello(at: 2), at: Self.at(2), wall: Self.at(2))
        state.hear(at: Self.at(2))
        let said = state.report(at: Self.at(2), index: 0, lost: 7)
        let peer = try #require(said)
        #expect((peer.state, peer.run, peer.host.name, peer.app.version) == ("live", "a", "box", "1"))
        #expect((peer.since, peer.heard, peer.lost) == (Self.at(2), Self.at(2), 7))
        #expect(Self.said(&state, at: 3) == nil)
        state.link = .broken
        #expect(Self.said(&state, at: 4) == "away")
        state.link = .refused
        #expect(Self.said(&state, at: 5) == "refused")
    }

    /// It comes by a broker all the same, and is forgotten like others that do.
    @Test func oneWhoseMessagesAreNotTakenIsRefusedUntilOneIs() throws {
        var state = MemberState(joined: LoopInstant(nanoseconds: 0))
        state.link = .unfit
        #expect(Self.said(&state, at: 0) == "refused")
        #expect(!state.isOver(at: LoopInstant(nanoseconds: 0)))
        #expect(state.isOver(at: LoopInstant(nanoseconds: 0).advanced(by: MemberState.lifetime + .seconds(1))))
        state.link = .none
        #expect(Self.said(&state, at: 1) == "connecting")
    }

    @Test func sameStateOfAnotherRunIsNews() throws {
        var state = MemberState()
        for (second, run) in ["a", "b"].enumerated() {
            state.hear(
                try Self.hello(run, at: Double(second)), at: Self.at(Double(second)), wall: Self.at(Double(second)))
            state.hear(at: Self.at(Double(second)))
            let said = state.report(at: Self.at(Double(second)), index: 0, lost: 0)
            #expect(said?.run == run)
        }
    }

    @Test func everyAgentIsToldOnceAMinuteAndNotAllAtOnce() throws {
        var perSecond = [Int](repeating: 0, count: 180)
        for index in 0..<60 {
            var state = MemberState()
            _ = state.report(at: Self.at(-1), index: index, lost: 0)
            for second in 0..<180 where state.report(at: Self.at(Double(second)), index: index, lost: 0) != nil {
                perSecond[second] += 1
            }
        }
        #expect(perSecond.allSatisfy { $0 == 1 }, "\(perSecond)")
    }

    @Test(arguments: [(10, 30.0), (1, 10), (60, 180), (100_000, 10_800)])
    func silenceIsThreeOfItsWindows(interval: Int, patience: Double) throws {
        var state = MemberState()
        state.hear(try Self.hello(interval: interval, at: 0), at: Self.at(0), wall: Self.at(0))
        state.hear(at: Self.at(0))
        #expect(Self.said(&state, at: 0) == "live")
        _ = Self.said(&state, at: patience)
        #expect(state.standing == .live)
        #expect(Self.said(&state, at: patience + 0.001) == "silent")
        state.hear(at: Self.at(patience + 1))
        #expect(Self.said(&state, at: patience + 1) == "live")
    }

    @Test func whatHasSaidGoodbyeHasEnded() throws {
        var state = MemberState()
        state.link = .open
        state.hear(try Self.hello(at: 0), at: Self.at(0), wall: Self.at(0))
        state.hear(at: Self.at(0))
        state.hear(
            try Self.line(#""type":"bye","run":"a","last_seq":0,"reason":"SIGTERM""#, at: 1), at: Self.at(1),
            wall: Self.at(1))
        #expect(Self.said(&state, at: 1) == "ended")
        state.link = .broken
        _ = Self.said(&state, at: 100)
        #expect(state.standing == .ended)
        state.link = .open
        state.hear(try Self.hello("b", at: 101), at: Self.at(101), wall: Self.at(101))
        state.hear(at: Self.at(101))
        #expect(Self.said(&state, at: 101) == "live")
    }

    /// Messages of a broker may come without a greeting.
    @Test func whoGoesOnAfterAGoodbyeIsLive() throws {
        var state = MemberState()
        func hear(_ text: String, at seconds: Double) throws {
            state.hear(try Self.line(text, at: seconds), at: Self.at(seconds), wall: Self.at(seconds))
            state.hear(at: Self.at(seconds))
        }
        try hear(#""type":"bye","run":"a","last_seq":1,"reason":"SIGTERM""#, at: 0)
        #expect(Self.said(&state, at: 0) == "ended")
        try hear(#""seq":2,"type":"progress","source":"s","done":1,"page":1"#, at: 1)
        #expect(Self.said(&state, at: 1) == "live")
    }

    @Test func twoThatSpeakByTurnsAreAConflictForThreeMinutes() throws {
        var member = FleetMember("web1", width: .seconds(10))
        var items: [FleetMember.Item] = []
        func speak(_ run: String, _ number: Int, at seconds: Double) throws {
            member.process(try Self.hello(run, at: seconds), wall: Self.at(seconds), into: &items)
            member.process(
                try Self.line(
                    #""seq":\#(number),"type":"progress","source":"s","done":1,"page":1"#, at: seconds),
                wall: Self.at(seconds), into: &items)
            member.state.hear(at: Self.at(seconds))
        }
        try speak("a", 1, at: 0)
        try speak("b", 1, at: 1)
        #expect(Self.said(&member.state, at: 1) == "live")
        // What was here already says nothing of who speaks.
        try speak("a", 1, at: 2)
        _ = Self.said(&member.state, at: 2)
        #expect(member.state.standing == .live)
        try speak("b", 2, at: 3)
        #expect(Self.said(&member.state, at: 3) == "conflict")
        try speak("a", 2, at: 4)
        _ = Self.said(&member.state, at: 183)
        #expect(member.state.standing == .conflict)
        // One alone is none.
        try speak("a", 3, at: 185)
        _ = Self.said(&member.state, at: 186)
        #expect(member.state.standing == .live)
        try speak("b", 3, at: 187)
        _ = Self.said(&member.state, at: 188)
        #expect(member.state.standing == .conflict)
    }

    /// A stream has lines of an hour ago, and of before a restart of the fleet.
    @Test func whatHasLainSomewhereTellsOfTheClockAsOfThen() throws {
        var member = FleetMember("web1", width: .seconds(10), after: [MemberPosition("web1", LineID("a", 1))])
        var items: [FleetMember.Item] = []
        func hear(_ number: Int, at seconds: Double, heard: Double) throws {
            _ = member.begin(StreamMessage(run: "a", stored: Self.at(heard)), [])
            member.process(
                try Self.line(#""seq":\#(number),"type":"progress","source":"s","done":1,"page":1"#, at: seconds),
                wall: Self.at(3_700), heard: Self.at(heard), into: &items)
        }
        // That one was here already.
        try hear(1, at: 90, heard: 5)
        #expect(member.state.report(at: Self.at(3_700), index: 0, lost: 0)?.skew == nil)
        try hear(2, at: 98, heard: 100)
        member.state.hear(at: Self.at(3_700))
        #expect(member.state.report(at: Self.at(3_760), index: 0, lost: 0)?.skew == -2_000)
    }

    @Test func skewIsTheMostThatLinesOfTheLastMinutesTell() throws {
        var state = MemberState()
        func skew(_ line: Double, heard: Double) throws -> Double? {
            state.hear(
                try Self.line(#""seq":1,"type":"progress","source":"s","done":1,"page":1"#, at: line),
                at: Self.at(heard), wall: Self.at(heard))
            return state.farewell(at: Self.at(heard), lost: 0).skew
        }
        #expect(try skew(-3_600, heard: 0) == -3_600_000)  // a backlog
        #expect(try skew(599.99, heard: 1) == 598_990)
        #expect(try skew(590, heard: 2) == 598_990)
        #expect(try skew(61, heard: 61) == 598_990)
        #expect(try skew(122, heard: 122) == 0)
        // The time of data is its event's.
        state.hear(
            try Self.line(#""seq":1,"type":"x","source":"s","series":"s","value":1"#, at: 500), at: Self.at(123),
            wall: Self.at(123))
        let last = state.farewell(at: Self.at(123), lost: 0)
        #expect(last.skew == 0)
    }

    @Test func aClockThatIsSteppedBackMakesNobodyLiveForLong() throws {
        var state = MemberState()
        state.hear(at: Self.at(3_600))
        #expect(Self.said(&state, at: 3_600) == "live")
        _ = Self.said(&state, at: 0)
        _ = Self.said(&state, at: 31)
        #expect(state.standing == .silent)
    }

    @Test func oneThatNobodyConfiguredIsOverAfterADay() throws {
        func after(_ seconds: Int64) -> LoopInstant { LoopInstant(nanoseconds: seconds * 1_000_000_000) }
        var state = MemberState(joined: after(-1))
        #expect(!state.isOver(at: after(86_399)) && state.isOver(at: after(86_400)))
        state.identify(run: "a", host: .init(name: "box"))
        state.come(at: after(0))
        #expect(!state.isOver(at: after(86_400)))
        #expect(state.isOver(at: after(86_401)))
        state.link = .broken
        #expect(!state.isOver(at: after(86_401)))
        state.link = .none
        _ = state.farewell(at: Self.at(86_401), lost: 0)
        #expect(!state.isOver(at: after(86_402)))
        #expect(Self.said(&state, at: 86_402) == nil)
    }

    @Test func textsOfAHostAreCut() throws {
        let long = String(repeating: "ä", count: 2_000)
        var state = MemberState()
        state.identify(
            run: "a", host: .init(name: long, device: long, os: long, kernel: long, arch: long),
            app: .init(name: long, version: long))
        let said = state.report(at: Self.at(0), index: 0, lost: 0)
        let peer = try #require(said)
        let texts = [peer.host.name, peer.host.device, peer.host.os, peer.host.kernel, peer.host.arch]
        #expect((texts + [peer.app.name ?? "", peer.app.version ?? ""]).allSatisfy { $0.utf8.count == 256 })
    }
}
