import Reactor
import TestSupport
import Testing

@testable import Feed

/// What a store says of its agents by `peer` lines.
@Suite(.limited) struct MemberReportTests {
    @Test func aChangeIsSaidWithinASecondAndEachStateOnceAMinute() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            try await fleet.store.whileRunning {
                let id = await fleet.store.member("web1")
                await fleet.store.setLink(.opening, of: id)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 connecting"])
                await fleet.store.setLink(.open, of: id)
                _ = await fleet.store.receive([.success(try PeerScript().hello())], from: id)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 live"])
                await fleet.store.setLink(.broken, of: id)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 away"])
                try await loop.sleep(for: .seconds(180))
                #expect(try await fleet.peers().count == 3)
            }
        }
    }

    /// It is seen in the table after a restart, though nothing of it comes any more; not what is gone for longer.
    @Test func oneThatAJournalKnowsFromAStreamIsSilentAndFreedAfterADay() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            try await fleet.store.whileRunning {
                let heard = PeerScript.start - .seconds(86_000)
                await fleet.store.resume([
                    MemberPosition("dead", LineID("r1", 1), stored: heard), MemberPosition("attached", LineID("r1", 1)),
                    MemberPosition("old", LineID("r1", 1), stored: PeerScript.start - .seconds(86_401)),
                ])
                await fleet.store.listUnheard(by: await fleet.store.register(SourceDescription(name: "nats")))
                let id = await fleet.store.member("dead")
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["dead silent"])
                try await loop.sleep(for: .seconds(402))
                #expect(try await fleet.peers().last == "dead forgotten")
                try await loop.sleep(for: .seconds(300))
                #expect(try await fleet.peers().isEmpty)
                // Its place is another's, once the history shows nothing of it.
                #expect(await fleet.store.member("other").index == id.index)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["other connecting"])
            }
        }
    }

    /// A machine that was suspended, or whose clock was wrong when it began, has forgotten nobody.
    @Test func aClockThatLeapsByDaysForgetsNobody() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            try await fleet.store.whileRunning {
                let id = await fleet.store.member("web1")
                var script = PeerScript()
                _ = await fleet.store.receive(try [.success(script.hello()), .success(script.fact())], from: id)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 live"])
                fleet.wall.step(by: .seconds(172_800))
                try await loop.sleep(for: .seconds(2))
                #expect(try await fleet.peers() == ["web1 silent"])
                _ = await fleet.store.receive(try [.success(script.fact())], from: id)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 live"])
            }
        }
    }

    /// A fleet that was away works off what a stream has of days ago.
    @Test func whatABrokerGotDaysAgoIsOfAnAgentThatIsThere() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            try await fleet.store.whileRunning {
                let id = await fleet.store.member("web1")
                var script = PeerScript()
                let message = StreamMessage(run: "r1", stored: PeerScript.start - .seconds(172_800))
                _ = await fleet.store.receive([.success(try script.hello())], from: id, by: message)
                for _ in 0..<5 {
                    _ = await fleet.store.receive([.success(try script.fact())], from: id, by: message)
                    try await loop.sleep(for: .seconds(1))
                }
                #expect(try await fleet.peers() == ["web1 silent"])
            }
        }
    }

    @Test func whatLayInAStreamForAnHourIsNoClockThatIsAnHourSlow() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start + .seconds(3_600))
            let id = await fleet.store.member("web1")
            var script = PeerScript()
            let message = StreamMessage(run: "r1", stored: PeerScript.start + .seconds(2))
            let lines = try [
                script.hello(), script.fact(), script.line(#""type":"progress","source":"fact","done":1,"page":1"#),
            ]
            _ = await fleet.store.receive(lines.map { .success($0) }, from: id, by: message)
            try await fleet.store.whileRunning { try await loop.sleep(for: .seconds(1)) }
            #expect(await fleet.read().lines.contains { $0.contains(#""skew_ms":-2000"#) })
        }
    }

    @Test func aBrokersClockThatIsAheadMakesNoClockOfAnAgentsSlow() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            let id = await fleet.store.member("web1")
            let message = StreamMessage(run: "r1", stored: PeerScript.start + .seconds(60))
            _ = await fleet.store.receive([.success(try PeerScript().hello())], from: id, by: message)
            try await fleet.store.whileRunning { try await loop.sleep(for: .seconds(1)) }
            let peers = await fleet.read().lines.filter { $0.contains(#""type":"peer""#) }
            #expect(peers.count == 1 && peers[0].contains(#""skew_ms":0"#), "\(peers)")
            #expect(peers[0].contains(#""heard":\#(PeerScript.time(PeerScript.start))"#), "\(peers)")
        }
    }

    /// What a journal knew of it when the fleet began is not known any more, as more has come since.
    @Test func oneThatComesBackAfterItsPlaceWasGivenAwayHasLostNothing() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            try await fleet.store.whileRunning {
                await fleet.store.resume([MemberPosition("web1", LineID("r1", 1), stored: PeerScript.start)])
                let id = await fleet.store.member("web1")
                var script = PeerScript(from: 2)
                let old = StreamMessage(run: "r1", stored: PeerScript.start)
                _ = await fleet.store.receive(
                    try [.success(script.fact()), .success(script.fact())], from: id, by: old)
                try await loop.sleep(for: .seconds(40))
                #expect(await fleet.store.forget("web1") == nil)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers().last == "web1 forgotten")
                try await loop.sleep(for: .seconds(1_000))
                #expect(await fleet.store.member("other") == id)
                let again = await fleet.store.member("web1")
                let new = StreamMessage(run: "r1", stored: PeerScript.start + .seconds(1_000))
                _ = await fleet.store.receive(try [.success(script.fact())], from: again, by: new)
                #expect(await fleet.store.member(again).lost == 0)
            }
        }
    }

    @Test func oneThatComesBackBeforeIsItselfAgain() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            try await fleet.store.whileRunning {
                let id = await fleet.store.member("web1")
                var script = PeerScript()
                _ = await fleet.store.receive(try [.success(script.hello()), .success(script.fact())], from: id)
                try await loop.sleep(for: .seconds(40))
                #expect(try await fleet.peers().last == "web1 silent")
                #expect(await fleet.store.forget("web1") == nil)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 forgotten"])
                #expect(await fleet.store.forget("web1")?.cause == .unknown)
                let again = await fleet.store.member("web1")
                #expect(again == id)
                _ = await fleet.store.receive(try [.success(script.hello()), .success(script.fact())], from: again)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 live"])
                #expect(await fleet.store.member(again).lost == 0)
                #expect(await fleet.store.forget("web1")?.reason == "the agent \"web1\" is live")
                await fleet.store.setLink(.broken, of: again)
                #expect(await fleet.store.forget("web1")?.cause == .unfit)
                #expect(await fleet.store.forget("web9")?.cause == .unknown)
            }
        }
    }

    /// A line that comes before it is forgotten keeps it.
    @Test func oneThatComesBackAtOnceIsNotForgotten() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            try await fleet.store.whileRunning {
                let id = await fleet.store.member("web1")
                var script = PeerScript()
                _ = await fleet.store.receive(try [.success(script.hello()), .success(script.fact())], from: id)
                try await loop.sleep(for: .seconds(40))
                #expect(try await fleet.peers().last == "web1 silent")
                #expect(await fleet.store.forget("web1") == nil)
                _ = await fleet.store.receive([.success(try script.fact())], from: id)
                try await loop.sleep(for: .seconds(1))
                #expect(try await fleet.peers() == ["web1 live"])
            }
        }
    }

    @Test func aThousandAreSaidInSlices() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            for number in 0..<1_000 { _ = await fleet.store.member("web\(number)") }
            let before = await fleet.store.nextSequence
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await fleet.store.run() }
                var most = 0
                var last = before
                for _ in 0..<2_000 where last < before + 1_000 {
                    try await loop.sleep(for: .milliseconds(last == before ? 100 : 0))
                    let next = await fleet.store.nextSequence
                    most = max(most, next - last)
                    last = next
                }
                #expect(last == before + 1_000)
                #expect(most <= 64, "\(most) at once")
                group.cancelAll()
            }
        }
    }

    /// What a hostile agent says of its machine is bounded, and a fleet's own lines are none of an agent's.
    @Test func aMemberSaysNothingOfOthers() async throws {
        try await withLoop(virtual: true) { loop in
            let fleet = await FleetStage(on: loop, at: PeerScript.start)
            var script = PeerScript()
            let lines = try [
                script.hello(),
                script.line(
                    #""type":"peer","source":"web2.catwatch","state":"live","since":"2026-03-01T11:00:00Z","lost":0,"agent":"web2""#
                ),
            ]
            _ = await fleet.store.receive(lines.map { .success($0) }, from: await fleet.store.member("web1"))
            #expect(try await fleet.peers().isEmpty)
            #expect(await fleet.store.member(fleet.store.member("web1")).lost == 1)
        }
    }
}

extension FleetStage {
    /// The newest `peer` lines, each as its agent and state.
    fileprivate func peers() async throws -> [String] {
        try await read().lines.compactMap { text in
            let line = try PeerScript.decoded(text)
            guard case .peer(let peer) = line.body else { return nil }
            #expect(line.source == "\(line.agent ?? "?").catwatch")
            return "\(line.agent ?? "?") \(peer.state)"
        }
    }
}
