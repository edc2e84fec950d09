import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct FeedWalkTests {
    private let wall = Timestamp(seconds: 1_700_000_000)
    private let now = LoopInstant(nanoseconds: 0)

    private func sources(_ walk: inout FeedWalk, _ state: borrowing FeedState, at now: LoopInstant) -> [SourceNumbers] {
        var all: [SourceNumbers] = []
        while let source = state.tables.nextSource(&walk, at: now.timestamp) { all.append(source) }
        return all
    }

    private func event(_ source: SourceID, key: String? = nil, _ body: Event.Body? = nil) -> Event {
        Event(
            time: wall, source: source, body: body ?? .data(Datum(key: key.map { Bytes($0.utf8) }, value: 1)))
    }

    private func latency(_ source: SourceID, _ path: Int) -> Event {
        event(source, .latency(LatencySample(endpoint: "GET http://h/\(path)", status: 200, ms: 1)))
    }

    @Test func whatIsAddedMeanwhileIsNotVisitedAndWhatStaysIsVisitedOnce() {
        var state = FeedState()
        let ids = (0..<5).map { state.register(SourceDescription(name: "s\($0)"), at: wall) }
        for id in ids { state.publish(EventBatch([event(id), latency(id, 1)]), at: Moment(wall: wall, now: now)) }
        var walk = state.tables.walk(of: "r")
        #expect(state.tables.nextSource(&walk, at: now.timestamp)?.name == "s0")
        #expect(state.tables.nextSource(&walk, at: now.timestamp)?.name == "s1")
        let new = state.register(SourceDescription(name: "new"), at: wall)
        state.publish(EventBatch([event(new), latency(new, 1), latency(ids[0], 2)]), at: Moment(wall: wall, now: now))
        #expect(sources(&walk, state, at: now).map(\.name) == ["s2", "s3", "s4"])

        walk.restart()
        var endpoints: [String] = []
        while let endpoint = state.tables.nextEndpoint(&walk) {
            endpoints.append("\(endpoint.source) \(endpoint.endpoint)")
        }
        #expect(endpoints == (0..<5).map { "s\($0) GET http://h/1" })
        walk.restart()
        var series: [String] = []
        while let one = state.tables.nextSeries(&walk, at: wall) { series.append("\(one.kind) \(one.name)") }
        #expect(series == (0..<5).flatMap { ["data s\($0)", "latency s\($0)"] })
        var later = state.tables.walk(of: "r")
        #expect(sources(&later, state, at: now).count == 6)
    }

    /// It is born at the very limit of the walk.
    @Test func whatIsAddedFirstOfAllIsNotVisitedEither() {
        var state = FeedState()
        let id = state.register(SourceDescription(name: "s"), at: wall)
        state.publish(EventBatch([event(id, key: "a"), latency(id, 1)]), at: Moment(wall: wall, now: now))
        var walk = state.tables.walk(of: "r")
        state.publish(EventBatch([latency(id, 2)]), at: Moment(wall: wall, now: now))
        var endpoints: [String] = []
        while let endpoint = state.tables.nextEndpoint(&walk) { endpoints.append(endpoint.endpoint) }
        #expect(endpoints == ["GET http://h/1"])
        walk = state.tables.walk(of: "r")
        state.publish(EventBatch([event(id, key: "b")]), at: Moment(wall: wall, now: now))
        var series: [String] = []
        while let one = state.tables.nextSeries(&walk, at: wall) { series.append("\(one.kind) \(one.name)") }
        #expect(series == ["data s", "latency s"])
    }

    /// Their places are given to others, which move up before the walk gets there.
    @Test func whatGoesAndComesAgainIsNotVisitedTwice() {
        var limits = FeedState.Limits()
        limits.released = 0
        var state = FeedState(limits: limits)
        let ids = (0..<3).map { state.register(SourceDescription(name: "s\($0)"), at: wall) }
        for id in ids { state.publish(EventBatch([event(id), latency(id, 1)]), at: Moment(wall: wall, now: now)) }
        var walk = state.tables.walk(of: "r")
        #expect(state.tables.nextEndpoint(&walk)?.source == "s0")
        state.release(ids[0], at: Moment(wall: wall, now: now))
        let again = state.register(SourceDescription(name: "s0"), at: wall)
        state.publish(EventBatch([event(again), latency(again, 1)]), at: Moment(wall: wall, now: now))
        #expect(state.tables.nextEndpoint(&walk)?.source == "s1" && state.tables.nextEndpoint(&walk)?.source == "s2")
        #expect(state.tables.nextEndpoint(&walk) == nil)
        walk.restart()
        #expect(sources(&walk, state, at: now).map(\.name) == ["s1", "s2"])
    }

    @Test func everySourceOfABatchIsHeard() {
        var state = FeedState()
        let ids = (0..<3).map {
            state.register(SourceDescription(name: "s\($0)", rhythm: .every(.seconds(1))), at: wall)
        }
        state.publish(EventBatch(ids.map { event($0) }), at: Moment(wall: wall, now: now))
        let later = now.advanced(by: .seconds(100))
        // All of them are `ok` already, so that nothing else tells.
        state.publish(
            EventBatch([event(ids[0]), event(ids[2]), event(ids[0])]),
            at: Moment(wall: wall + .seconds(100), now: later))
        var walk = state.tables.walk(of: "r")
        #expect(
            sources(&walk, state, at: later).map(\.timeliness)
                == [.inTime, .late(silence: .seconds(100), expected: .seconds(10)), .inTime])
    }

    @Test func theStoresOwnErrorsCountAsTheAgents() {
        var limits = FeedState.Limits()
        limits.series = 1
        var state = FeedState(limits: limits)
        let own = state.register(SourceDescription(name: EventStore.ownName), at: wall)
        let source = state.register(SourceDescription(name: "fact"), at: wall)
        state.publish(
            EventBatch([event(source), event(source, key: "one too many")]), at: Moment(wall: wall, now: now))
        var walk = state.tables.walk(of: "r")
        let numbers = sources(&walk, state, at: now)
        #expect(
            numbers[own.index].errors.entries.map(\.code) == ["config"] && numbers[source.index].errors.entries.isEmpty)
    }
}
