import Reactor
import TestSupport
import Testing

@testable import Feed

/// `alert` and `clock` lines: how they are written and read, and which a reader that comes late gets.
@Suite(.limited) struct AlertLinesTests {
    private static let hostile = "a\"b\\c\n\u{1}\u{7F}\u{202E}\u{1B}[2J</script>é🐈"
    private static let time = Timestamp(microseconds: 1_735_787_045_678_901)

    private static func alert(
        _ state: Alert.State = .firing, about: String = "rooms/kitchen", condition: String = "hot"
    ) -> Alert {
        Alert(
            about: about, condition: condition, state: state, id: "1", at: time, since: time, test: "> 5",
            evidence: Alert.Evidence(run: "r1", from: 1, to: 1))
    }

    private static func event(_ body: Event.Body, of source: SourceID, at time: Timestamp) -> Event {
        Event(time: time, source: source, body: body)
    }

    @Test func areReadAsTheyWereWritten() throws {
        var resolved = Self.alert(.resolved, about: Self.hostile, condition: Self.hostile)
        resolved.text = Self.hostile
        (resolved.severity, resolved.note, resolved.down) = ("critical", Self.hostile, .microseconds(1_234_567))
        resolved.reason = .forgotten
        resolved.limit = Alert.Limit(.outside, -1.25e-300, 1e300)
        resolved.evidence = Alert.Evidence(run: "r1", from: 0, to: .max)
        var number = Self.alert(.reminder)
        number.value = -1.7976931348623157e308
        for alert in [resolved, number] + Alert.State.allCases.map({ Self.alert($0) }) {
            let bytes = try #require(
                GuardedMemory.bytes(atMost: LineEncoder.most("rooms".utf8.count, alert.textBytes)) {
                    var encoder = LineEncoder()
                    $0 = encoder.line(alert, sequence: 9, time: Self.time, source: "rooms", to: $0)
                })
            #expect(try LineSchema().faults(of: bytes) == [])
            let line = try LineDecoder.decode(bytes[...])
            #expect(line == Line(seq: 9, time: Self.time, type: "alert", source: "rooms", body: .alert(alert)))
        }
        for change in [
            ClockChange(step: .seconds(-3_600), slept: .zero), .init(step: .milliseconds(1), slept: .seconds(5)),
        ] {
            let bytes = try #require(
                GuardedMemory.bytes(atMost: LineEncoder.most("catwatch".utf8.count)) {
                    var encoder = LineEncoder()
                    $0 = encoder.line(change, sequence: 9, time: Self.time, source: "catwatch", to: $0)
                })
            #expect(try LineSchema().faults(of: bytes) == [])
            #expect(try LineDecoder.decode(bytes[...]).body == .clock(change))
        }
    }

    @Test func longTextsAreCut() {
        let long = String(repeating: "x", count: 10_000)
        let alert = Self.alert(about: long, condition: long)
        #expect(alert.about.utf8.count == 4_096 && alert.condition.utf8.count == 4_096)
        #expect(alert.key.count < SeriesTable.longestKey)
        #expect(alert.key != Self.alert(about: "y" + long, condition: long).key)
    }

    private static let members =
        #""type":"alert","source":"a","about":"a","condition":"c","id":"1","at":"2026-05-28T20:26:41Z","#
        + #""since":"2026-05-28T20:26:41Z","test":"> 5""#

    private static func decode(_ members: String) throws -> Line.Body {
        try LineDecoder.decode(Array(#"{"seq":1,"time":"2026-05-28T20:26:41Z",\#(members)}"#.utf8)[...]).body
    }

    @Test(arguments: [
        "", #","evidence":1"#, #","evidence":{}"#, #","evidence":{"run":"r","from":-1,"to":1}"#,
        #","evidence":{"run":"r","from":1,"to":1},"value":"x""#,
        #","evidence":{"run":"r","from":1,"to":1},"down_s":-1"#,
        #","evidence":{"run":"r","from":1,"to":1},"down_s":1e300"#,
    ])
    func aWrongAlertIsAFault(end: String) {
        #expect(throws: LineFault.self) { try Self.decode(Self.members + #","state":"firing""# + end) }
    }

    @Test func aStateOfALaterVersionIsUnknown() throws {
        let evidence = #","evidence":{"run":"r","from":1,"to":1}"#
        #expect(try Self.decode(Self.members + #","state":"muted""# + evidence) == .unknown)
        let other = try Self.decode(Self.members + #","state":"resolved","reason":"tired""# + evidence)
        guard case .alert(let alert) = other else {
            Issue.record("\(other)")
            return
        }
        #expect(alert.reason == nil && alert.state == .resolved)
    }

    @Test(arguments: [
        #""step_s":1e300,"slept_s":0"#, #""step_s":-1e12,"slept_s":0"#, #""step_s":0,"slept_s":-1"#, #""step_s":0"#,
        #""slept_s":0"#,
    ])
    func aWrongClockIsAFault(members: String) {
        #expect(throws: LineFault.self) { try Self.decode(#""type":"clock","source":"catwatch",\#(members)"#) }
    }

    // MARK: Kept alerts

    /// A feed of two sources, and how its time passes.
    private struct Stage: ~Copyable {
        var state: FeedState
        let rooms: SourceID
        private var seconds = 0

        init(_ limits: FeedState.Limits = .init()) {
            state = FeedState(limits: limits)
            rooms = state.register(SourceDescription(name: "rooms"), at: AlertLinesTests.time)
        }

        var moment: Moment {
            Moment(
                wall: AlertLinesTests.time + .seconds(seconds),
                now: LoopInstant(nanoseconds: Int64(seconds) * 1_000_000_000))
        }

        mutating func publish(_ bodies: Event.Body..., after pause: Int = 1) {
            seconds += pause
            let events = bodies.map { AlertLinesTests.event($0, of: rooms, at: moment.wall) }
            state.publish(EventBatch(events), at: moment)
        }

        /// What the `kept` lines of a reader that comes now are about.
        func kept() -> [String] {
            var cursor = KeptCursor(after: 0, before: state.log.nextSequence, of: state.log)
            let lines = cursor.next(of: state, "r1", at: (moment.wall, moment.wall), atMost: .init()).lines
            return lines.split(separator: 0x0A).compactMap { bytes in
                guard case .kept(let kept)? = try? LineDecoder.decode(bytes).body else { return nil }
                if case .alert(let alert) = kept.line.body { return "\(alert.condition) of \(alert.about)" }
                if case .data(let data) = kept.line.body { return data.series }
                return kept.line.type
            }
        }
    }

    private static func datum(_ key: String, _ value: Double? = nil) -> Event.Body {
        .data(Datum(key: Array(key.utf8)[...], value: value, text: value == nil ? Array("x".utf8)[...] : nil))
    }

    @Test func whatFiresIsKeptUntilItIsResolved() {
        var stage = Stage()
        stage.publish(.alert(Self.alert(condition: "one")), .alert(Self.alert(condition: "two")))
        stage.publish(.alert(Self.alert(about: "rooms/bath", condition: "one")))
        stage.publish(.alert(Self.alert(.resolved, condition: "two")))
        // The log keeps two minutes.
        stage.publish(Self.datum("kitchen", 1), after: 500)
        #expect(Set(stage.kept()) == ["one of rooms/kitchen", "one of rooms/bath", "rooms/kitchen"])
        stage.publish(.alert(Self.alert(.reminder, condition: "one")))
        stage.publish(.alert(Self.alert(.resolved, about: "rooms/bath", condition: "one")))
        stage.publish(Self.datum("kitchen", 1), after: 500)
        #expect(Set(stage.kept()) == ["one of rooms/kitchen", "rooms/kitchen"])
        stage.publish(.alert(Self.alert(.pending, condition: "two")), .alert(Self.alert(.clearing, condition: "one")))
        #expect(Set(stage.kept()) == ["one of rooms/kitchen", "rooms/kitchen", "two of rooms/kitchen"])
        #expect(stage.state.tables.series.firing.count == 1)
        stage.publish(.alert(Self.alert(.ok, condition: "two")))
        #expect(!stage.kept().contains("two of rooms/kitchen"))
    }

    @Test func aCompleteAnswerDoesNotEndAnAlert() {
        var stage = Stage()
        stage.publish(Self.datum("kitchen", 7), .alert(Self.alert()))
        let first = stage.state.log.nextSequence
        stage.publish(
            Self.datum("bath", 7),
            .answer(CompleteAnswer(Progress(done: 1, total: 1, page: 1), from: first, isReported: true)))
        #expect(
            Set(stage.kept()) == ["hot of rooms/kitchen", "rooms/bath", "progress"]
                || Set(stage.kept()) == ["hot of rooms/kitchen", "rooms/bath"])
        #expect(stage.state.tables.gone.map(\.key) == ["kitchen"])
    }

    /// A feed with an agent, and what comes of it.
    private struct Hub: ~Copyable {
        var stage = Stage()
        let agent: MemberID
        let source: SourceID

        init() throws {
            agent = stage.state.join("web1", at: stage.moment)
            let known = stage.state.register(
                SourceDescription(name: "q"), of: agent, since: AlertLinesTests.time, at: stage.moment)
            source = try #require(known).source
        }

        mutating func publish(_ bodies: [Event.Body], isOwn: Bool = false) {
            var batch = EventBatch()
            for (number, body) in bodies.enumerated() {
                let event = AlertLinesTests.event(body, of: source, at: AlertLinesTests.time)
                if isOwn {
                    batch.add(event)
                } else {
                    batch.add(event, from: LineOrigin(agent, LineID("o", number + 1)))
                }
            }
            stage.state.publish(batch, at: stage.moment)
        }
    }

    @Test func anAgentHasNoPartInTheAlertsOfTheFleet() throws {
        var hub = try Hub()
        hub.publish([.alert(Self.alert(about: "web1.q/x"))], isOwn: true)
        hub.publish([.alert(Self.alert(.resolved, about: "web1.q/x"))])
        #expect(hub.stage.kept() == ["hot of web1.q/x"])
        hub.publish([.alert(Self.alert(about: "web1.q/x"))])
        #expect(hub.stage.kept().count == 2)
        // At most its share.
        hub.publish((0..<3_000).map { .alert(Self.alert(condition: "\($0)")) })
        #expect(hub.stage.state.tables.series.texts(of: Int32(hub.agent.index)) <= hub.stage.state.limits.memberSeries)
        #expect(hub.stage.kept().contains("hot of web1.q/x"))
        // What made room for others does not fire any more, as far as is known.
        let firing = hub.stage.state.tables.series.firing.count
        #expect(firing > 100 && firing <= hub.stage.state.limits.memberSeries + 1)
    }

    @Test func anAttachedCatwatchKeepsThemToo() throws {
        var stage = Stage()
        var relay = FeedState(isRelay: true)
        let hello = ControlLine.hello(
            time: Self.time, identity: AgentIdentity(run: "r1", version: "1", started: Self.time), isFiltered: false,
            interval: .seconds(10), history: .seconds(120), firstSequence: 1, nextSequence: 1)
        _ = relay.applyUnnumbered(try LineDecoder.decode(hello.dropLast()), at: stage.moment)
        stage.publish(.alert(Self.alert(condition: "one")), .alert(Self.alert(condition: "two")))
        stage.publish(.alert(Self.alert(.resolved, condition: "two")))
        for sequence in 1..<stage.state.log.nextSequence {
            let bytes = stage.state.log.line(sequence) ?? []
            relay.relay(RelayedLine(try LineDecoder.decode(bytes[...]), bytes: bytes[...]), at: stage.moment)
        }
        var cursor = KeptCursor(after: 0, before: relay.log.nextSequence, of: relay.log)
        let lines = cursor.next(of: relay, "r1", at: (Self.time, Self.time), atMost: .init()).lines
        #expect(lines.split(separator: 0x0A).count == 1)
        #expect(String(decoding: lines, as: UTF8.self).contains(#""condition":"one""#))
    }

    // MARK: The clock

    private final class Machine: WallClock, @unchecked Sendable {  // used on one loop only
        let loop: EventLoop
        var ahead = Duration.zero
        var slept = Duration.zero

        init(on loop: EventLoop) { self.loop = loop }

        var now: Timestamp {
            AlertLinesTests.time + .nanoseconds(loop.clock.now.nanoseconds) + ahead + slept
        }
    }

    @Test func aStepAndASleepAreToldOnceEach() async throws {
        try await withLoop(virtual: true) { loop in
            let machine = Machine(on: loop)
            let store = EventStore(
                on: loop, wall: machine, identity: AgentIdentity(run: "r1", version: "1", started: machine.now))
            let source = await store.register(SourceDescription(name: "a"))
            func publish() async {
                await store.publish([Self.event(.data(Datum(value: 1)), of: source, at: machine.now)])
            }
            await publish()
            machine.ahead += .milliseconds(400)
            await publish()
            machine.ahead += .milliseconds(200)
            await publish()
            machine.slept = .seconds(30)
            machine.ahead -= .seconds(7_200)
            await publish()
            machine.ahead += .seconds(5)
            await publish()
            await publish()
            let changes = await store.newest(bytes: 1 << 20)?.flatMap { delivery -> [ClockChange] in
                guard case .lines(let span) = delivery else { return [] }
                return span.withUnsafeBytes { Array($0) }.split(separator: 0x0A).compactMap { bytes in
                    guard case .clock(let change)? = try? LineDecoder.decode(bytes).body else { return nil }
                    return change
                }
            }
            #expect(
                changes == [
                    ClockChange(step: .milliseconds(600), slept: .zero),
                    ClockChange(step: .seconds(-7_200), slept: .seconds(30)),
                    ClockChange(step: .seconds(5), slept: .zero),
                ])
        }
    }
}
