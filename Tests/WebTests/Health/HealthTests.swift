import Feed
import Reactor
import TestSupport
import Testing

@testable import HTTPServer
@testable import Web

@Suite(.limited) struct HealthTests {
    /// Status and body of an answer.
    private func ask(_ handler: HealthHandler) -> (status: Int, body: String) {
        let response = handler.response(
            to: HTTPRequest(method: "GET", target: "/", fields: [], body: []), below: "")
        guard case .bytes(let bytes) = response.body else { return (response.status, "?") }
        return (response.status, String(decoding: bytes, as: UTF8.self))
    }

    /// The same by somebody who was not there before.
    private func ready(_ stage: MetricsStage) -> (status: Int, body: String) { ask(.ready(stage.context)) }

    private func reason(_ source: String, _ isReady: Bool, _ reason: String) -> String {
        #"{"source":"\#(source)","ready":\#(isReady),"reason":"\#(reason)"}"#
    }

    // MARK: /healthz

    @Test func isAliveWhilePollsComeToSomething() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let handler = HealthHandler.alive(stage.context)
            #expect(ask(handler) == (200, "{\"alive\":true}\n"))
            await stage.polls.expect("fact", by: loop.clock.now.advanced(by: .seconds(5)))
            try await loop.sleep(for: .seconds(5))
            #expect(ask(handler).status == 200)
            try await loop.sleep(for: .milliseconds(1))
            // It is looked at once a second at the most.
            #expect(ask(handler).status == 200 && ask(.alive(stage.context)).status == 503)
            try await loop.sleep(for: .seconds(1))
            #expect(ask(handler) == (503, "{\"alive\":false,\"reason\":\"a poll hangs\"}\n"))
            await stage.polls.expect("fact", by: loop.clock.now.advanced(by: .seconds(5)))
            try await loop.sleep(for: .seconds(1))
            #expect(ask(handler).status == 200 && handler.isOpen && HealthHandler.ready(stage.context).isOpen)
        }
    }

    // MARK: /readyz

    @Test func ofAFleetConnectionsCountAndNotWhoIsSilent() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let (one, two) = (await stage.store.member("web1"), await stage.store.member("web2"))
            func agents(_ isReady: Bool, _ open: Int, of all: Int) -> String {
                #"{"ready":\#(isReady),"agents":{"ready":\#(isReady),"reason":"\#(open) of \#(all) connected"},"sources":[],"more_sources":0}"#
                    + "\n"
            }
            await stage.store.setLink(.opening, of: one)
            await stage.store.setLink(.opening, of: two)
            #expect(ready(stage) == (503, agents(false, 0, of: 2)))
            await stage.store.setLink(.open, of: one)
            await stage.store.setLink(.broken, of: two)
            #expect(ready(stage) == (200, agents(true, 1, of: 2)))
            await stage.store.say(.error(Failure(.dns, "no")), of: two)
            try await loop.sleep(for: .seconds(3_600))
            #expect(ready(stage) == (200, agents(true, 1, of: 2)))
            await stage.store.setLink(.broken, of: one)
            #expect(ready(stage).status == 503)
            // A broker is one connection, however many come by it.
            await stage.store.setBroker("nats", isConnected: true)
            #expect(ready(stage) == (200, agents(true, 1, of: 3)))
            await stage.store.setBroker("nats", isConnected: nil)
            #expect(ready(stage) == (503, agents(false, 0, of: 2)))
        }
    }

    @Test func isReadyOnceEverySourceHasSaidSomethingAndWhileItIsInTime() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop) { $0.interval = .seconds(1) }
            _ = await stage.store.agentSource
            let fact = await stage.register("fact", .every(.seconds(4)))
            let dogs = await stage.register("dogs", .every(.milliseconds(100)))
            #expect(
                ready(stage) == (
                    503,
                    #"{"ready":false,"sources":["# + reason("fact", false, "nothing has come yet") + ","
                        + reason("dogs", false, "nothing has come yet") + "],\"more_sources\":0}\n"
                ))
            await stage.publish(1, from: dogs)
            #expect(ready(stage).body.contains(reason("dogs", true, "in time")) && ready(stage).status == 503)
            await stage.publish(1, from: fact)
            #expect(ready(stage).status == 200)
            // Two and a half windows, or two and a half periods.
            try await loop.sleep(for: .milliseconds(2_500))
            #expect(ready(stage).status == 200)
            try await loop.sleep(for: .milliseconds(1))
            #expect(
                ready(stage) == (
                    503,
                    #"{"ready":false,"sources":["# + reason("dogs", false, "nothing for 2.5 s, expected every 1 s")
                        + "," + reason("fact", true, "in time") + "],\"more_sources\":0}\n"
                ))
            await stage.publish(1, from: dogs)
            #expect(ready(stage).status == 200)
            try await loop.sleep(for: .milliseconds(7_500))
            await stage.publish(1, from: dogs)
            #expect(ready(stage).body.contains(reason("fact", false, "nothing for 10 s, expected every 4 s")))
        }
    }

    @Test func aSourceThatFailsIsReadyForAsLongAsItWouldBeSilent() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            let fact = await stage.register("fact", .every(.seconds(20)))
            let failure = Failure(.tls, "https://user:secret@host/?key=secret", endpoint: "GET https://h/x?key=secret")
            await stage.publish(.error(failure), from: fact)
            #expect(ready(stage).body.contains(reason("fact", false, "fails: tls")))
            await stage.publish(.recovered(Recovery(down: .seconds(1), attempts: 1)), from: fact)
            #expect(ready(stage).status == 200)
            try await loop.sleep(for: .seconds(20))
            await stage.publish(.error(failure), from: fact)
            try await loop.sleep(for: .seconds(30))
            #expect(ready(stage).status == 200)
            try await loop.sleep(for: .milliseconds(1))
            let late = ready(stage)
            #expect(late.status == 503 && late.body.contains(reason("fact", false, "fails: tls")))
            #expect(!late.body.contains("secret") && !late.body.contains("http"))
        }
    }

    @Test func namesAHundredSourcesThoseFirstThatAreNotReady() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop)
            for index in 0..<400 {
                let source = await stage.register("\(index)" + String(repeating: "\u{1}", count: 300))
                if index != 277 { await stage.publish(1, from: source) }
            }
            let handler = HealthHandler.ready(stage.context)
            let answer = ask(handler)
            #expect(answer.status == 503 && answer.body.hasPrefix(#"{"ready":false,"sources":[{"source":"277\u0001"#))
            #expect(answer.body.hasSuffix("],\"more_sources\":300}\n") && answer.body.utf8.count < 100_000)
            // Who asks again is told the same, without a look at all of them.
            for _ in 0..<100 { #expect(ask(handler).status == 503) }
            #expect(JSONTree(Array(answer.body.utf8.dropLast())).keys == ["ready", "sources", "more_sources"])
        }
    }

    // MARK: Attached

    @Test func anAttachedFeedHasToComeAsWell() async throws {
        try await withLoop(virtual: true) { loop in
            let stage = MetricsStage(on: loop, isRelay: true)
            #expect(
                ready(stage) == (
                    503,
                    #"{"ready":false,"agent":{"ready":false,"reason":"not connected"},"sources":[],"more_sources":0}"#
                        + "\n"
                ))
            let time = "\"time\":\"2026-03-01T12:00:00.000000Z\""
            await stage.store.setConnected(true)
            // Whose feed it is has not been said.
            #expect(ready(stage).body.contains(#""agent":{"ready":false,"reason":"not connected"}"#))
            try await stage.relay(
                #"{"type":"hello",\#(time),"format":1,"run":"r9","filtered":false,"interval_s":5,"history_s":60,"#
                    + #""first_seq":1,"next_seq":1,"host":{},"app":{}}"#,
                #"{"type":"stats",\#(time),"as_of":0,"endpoints":[],"sources":[{"source":"aqi","state":"starting","#
                    + #""since":"2026-03-01T12:00:00.000000Z","every_s":10}]}"#)
            #expect(ready(stage).body.contains(reason("aqi", false, "nothing has come yet")))
            // The event's own time, an hour ago, is none of this.
            try await stage.relay(
                #"{"seq":1,"time":"2026-03-01T11:00:00.000000Z","type":"aqi","source":"aqi","series":"aqi","value":1}"#)
            #expect(
                ready(stage) == (
                    200,
                    #"{"ready":true,"agent":{"ready":true,"reason":"connected"},"sources":["#
                        + reason("aqi", true, "in time") + "],\"more_sources\":0}\n"
                ))
            try await loop.sleep(for: .seconds(10))
            #expect(ready(stage).status == 200)
            try await loop.sleep(for: .milliseconds(1))
            #expect(ready(stage).body.contains(#""agent":{"ready":false,"reason":"nothing for 10 s"}"#))
            try await stage.relay(
                #"{"seq":2,"time":"2026-03-01T12:00:10.000000Z","type":"recovered","source":"other","down_s":1,"attempts":1}"#
            )
            #expect(ready(stage).status == 200)
            await stage.store.setConnected(false)
            #expect(ready(stage).body.contains("not connected"))
        }
    }
}
