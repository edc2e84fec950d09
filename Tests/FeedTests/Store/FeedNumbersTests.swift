import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct FeedNumbersTests {
    private let wall = Timestamp(seconds: 1_700_000_000)
    private let now = LoopInstant(nanoseconds: 0)

    private func event(_ source: SourceID, key: String? = nil, _ body: Event.Body? = nil) -> Event {
        Event(
            time: wall, source: source, body: body ?? .data(Datum(key: key.map { Bytes($0.utf8) }, value: 1)))
    }

    private func latency(_ source: SourceID, _ path: Int) -> Event {
        event(source, .latency(LatencySample(endpoint: "GET http://h/\(path)", status: 200, ms: 1)))
    }

    @Test func tellsWhatThereIsInTheOrderInWhichItCame() {
        var state = FeedState()
        let ids = (0..<3).map { state.register(SourceDescription(name: "s\($0)"), at: wall) }
        for id in ids { state.publish(EventBatch([event(id), latency(id, 1)]), at: Moment(wall: wall, now: now)) }
        state.publish(EventBatch([latency(ids[0], 2), event(ids[0], key: "a")]), at: Moment(wall: wall, now: now))
        #expect(state.sourceNumbers(at: now.timestamp).map(\.name) == ["s0", "s1", "s2"])
        let endpoints = state.endpoints.map { "\($0.source) \($0.endpoint)" }
        #expect(endpoints == ["s0 GET http://h/1", "s1 GET http://h/1", "s2 GET http://h/1", "s0 GET http://h/2"])
        func series(at time: Timestamp) -> [String] {
            state.seriesNumbers(at: time).map { one in
                "\(one.kind) \(one.name)\(one.key.map { "/" + String(decoding: $0, as: UTF8.self) } ?? "")"
            }
        }
        #expect(series(at: wall) == (0..<3).flatMap { ["data s\($0)", "latency s\($0)"] } + ["data s0/a"])
        #expect(series(at: wall + .seconds(121)).isEmpty)
    }

    /// Their places are given to others.
    @Test func whatGoesAndComesAgainIsToldOnce() {
        var limits = FeedState.Limits()
        limits.released = 0
        var state = FeedState(limits: limits)
        let ids = (0..<3).map { state.register(SourceDescription(name: "s\($0)"), at: wall) }
        for id in ids { state.publish(EventBatch([event(id), latency(id, 1)]), at: Moment(wall: wall, now: now)) }
        state.release(ids[0], at: Moment(wall: wall, now: now))
        let again = state.register(SourceDescription(name: "s0"), at: wall)
        state.publish(EventBatch([event(again), latency(again, 1)]), at: Moment(wall: wall, now: now))
        #expect(state.endpoints.map(\.source) == ["s1", "s2", "s0"])
        #expect(state.sourceNumbers(at: now.timestamp).map(\.name).sorted() == ["s0", "s1", "s2"])
        #expect(state.seriesNumbers(at: wall).map(\.name).sorted() == ["s0", "s0", "s1", "s1", "s2", "s2"])
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
        #expect(
            state.sourceNumbers(at: later.timestamp).map(\.timeliness)
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
        let numbers = state.sourceNumbers(at: now.timestamp)
        #expect(
            numbers[own.index].errors.entries.map(\.code) == ["config"] && numbers[source.index].errors.entries.isEmpty)
    }
}
