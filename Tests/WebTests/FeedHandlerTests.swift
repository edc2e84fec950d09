import Feed
import Outputs
import Reactor
import TestSupport
import Testing
import Web

/// The feed by HTTP, over real sockets.
@Suite(.limited) struct FeedHandlerTests {
    private static func numbers(_ lines: [String]) -> [Int] {
        lines.compactMap { line in
            line.hasPrefix("{\"seq\":") ? Int(line.dropFirst(7).prefix { $0 != "," }) : nil
        }
    }

    @Test func theTwoFormsAreTheSameLines() async throws {
        try await WebStage.run { stage in
            await stage.publish(300)
            let last = "\"seq\":300,"
            let events = try await stage.stream("/events", until: last)
            let lines = try await stage.stream("/feed", until: last)
            #expect(events.fields["content-type"] == "text/event-stream")
            #expect(lines.fields["content-type"] == "application/x-ndjson")
            for answer in [events, lines] {
                #expect(answer.fields["cache-control"] == "no-store" && answer.fields["x-accel-buffering"] == "no")
                #expect(answer.fields["content-length"] == nil && answer.fields["transfer-encoding"] == nil)
                #expect(answer.fields["connection"] == "close")
            }
            let plain = String(decoding: lines.body, as: UTF8.self).split(separator: "\n").map(String.init)
            let stream = EventStream(events.body)
            #expect(Self.numbers(plain) == Array(1...300))
            #expect(Array(stream.lines.dropFirst(2).prefix(290)) == Array(plain.dropFirst(2).prefix(290)))
            #expect(stream.events[3].id == "r1-2" && stream.retry == 2_000)
            #expect(stream.lines[0].contains(#""type":"hello""#) && stream.lines[1].contains(#""type":"stats""#))
        }
    }

    @Test(
        arguments: [
            ("", "r1-7", 8), ("?since=2&run=r1", "r1-7", 8), ("?replay=false", "r1-7", 8),
            ("?since=2", "other-7", 1), ("?since=2", "nonsense", 3), ("?since=2", "r1-x", 3), ("?since=2", "", 3),
            ("?since=9&run=other", "", 1), ("?since=99", "r1-0", 1), ("?types=fact", "r1-5", 6),
        ])
    func theLastIDWinsOverTheQuery(query: String, id: String, first: Int) async throws {
        try await WebStage.run { stage in
            await stage.publish(10)
            let fields = id.isEmpty ? [] : ["Last-Event-ID: \(id)"]
            let answer = try await stage.stream("/events\(query)", fields, until: "\"seq\":10,")
            #expect(Self.numbers(EventStream(answer.body + Array("\n\n".utf8)).lines).first == first)
            // It is an event stream's alone.
            guard id == "r1-7", query.isEmpty else { return }
            let plain = try await stage.stream("/feed", fields, until: "\"seq\":10,")
            #expect(plain.outcome.text.contains("{\"seq\":1,"))
        }
    }

    @Test func columnsOfNoJournalAreNotThere() async throws {
        try await WebStage.run { stage in
            let query = "from=2026-11-22T08:30:00Z&until=2026-11-22T08:40:00Z&sources=s&series=s&width=60"
            for path in ["/events", "/feed"] {
                let answer = try await stage.ask("GET", "\(path)?\(query)")
                #expect(answer.status == 404)
                let text = "there is no journal (--journal) with columns of a series\n"
                #expect(String(decoding: answer.body, as: UTF8.self) == text)
            }
        }
    }

    @Test func oneReaderTooManyIsToldToComeBack() async throws {
        var limits = ReaderLimits()
        limits.readers = 1
        try await WebStage.run(readers: limits) { stage in
            let descriptor = try await stage.talk { client in
                let descriptor = try client.connect()
                try client.send("GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                _ = try client.receive(from: descriptor, until: "stats")
                return descriptor
            }
            let answer = try await stage.ask("GET", "/events")
            #expect(answer.status == 503 && answer.fields["retry-after"] == "5")
            #expect(String(decoding: answer.body, as: UTF8.self).contains("1 readers already"))
            #expect(try await stage.ask("GET", "/").status == 200)
            RawClient.leave(descriptor)
            try await stage.wait(for: "the end of the reader") { await stage.server.readerCount == 0 }
            #expect(try await stage.stream("/events", until: "stats").status == 200)
        }
    }

    /// Also when there are streams: nothing waits for a connection that was given away.
    @Test(arguments: [false, true]) func theEndIsTold(isOver: Bool) async throws {
        try await WebStage.run { stage in
            await stage.publish(3)
            async let streams = stage.talk { client in
                try ["/events", "/feed"].map { path in
                    let descriptor = try client.connect()
                    try client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                    return descriptor
                }.map { descriptor in
                    defer { RawClient.leave(descriptor) }
                    return try WireAnswer(client.receive(from: descriptor))
                }
            }
            try await stage.wait(for: "two readers") { await stage.server.readerCount == 2 }
            if isOver { await stage.store.finish("end") }
            await stage.server.stop(within: .seconds(5), isOver: isOver)
            for answer in try await streams {
                let text = String(decoding: answer.body, as: UTF8.self)
                #expect(answer.outcome.ended && !answer.outcome.wasReset && text.contains("{\"seq\":3,"))
                #expect(text.contains(#"{"type":"bye""#) == isOver && text.hasSuffix("}\n") || text.hasSuffix("}\n\n"))
            }
        }
    }

    /// Somebody who takes nothing of more than sockets hold.
    @Test(arguments: [false, true]) func whoIsSlowHasTheTimeUntilTheEnd(isOver: Bool) async throws {
        try await WebStage.run { stage in
            await stage.publish(3_500, text: 2_000)
            let descriptor = try await stage.talk { client in
                let descriptor = try client.connect()
                try client.send("GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                _ = try client.receive(from: descriptor, atMost: 100)
                return descriptor
            }
            if isOver { await stage.store.finish("end") }
            await stage.server.stop(within: isOver ? .seconds(20) : .milliseconds(50), isOver: isOver)
            if !isOver {
                try await stage.wait(for: "the end of the server") { await stage.server.port == 0 }
                #expect(await stage.server.readerCount == 0)
            }
            let answer = try await stage.talk { try $0.receive(from: descriptor) }
            RawClient.leave(descriptor)
            #expect(answer.text.contains(#"{"type":"bye""#) == isOver && answer.ended)
            try await stage.wait(for: "the end of the server") { await stage.server.port == 0 }
            #expect(await stage.server.readerCount == 0)
            #expect(await stage.store.counts.readers == 0)
        }
    }

    /// Whoever leaves is gone at once; each connection is one of the server's and a descriptor of the reader's.
    @Test func streamsComeAndGoWithoutATrace() async throws {
        try await WebStage.run { stage in
            await stage.publish(3)
            _ = try await stage.stream("/events", until: "\"seq\":3,")
            try await stage.wait(for: "the end of the reader") { await stage.server.readerCount == 0 }
            for round in 0..<50 {
                try await stage.talk { client in
                    let descriptor = try client.connect()
                    try client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n", to: descriptor)
                    if round % 3 > 0 { _ = try client.receive(from: descriptor, until: "\"seq\":3,") }
                    RawClient.leave(descriptor)
                }
                await stage.publish()
            }
            try await stage.wait(for: "the end of all readers") { await stage.server.readerCount == 0 }
            #expect(await stage.store.counts.readers == 0)
        }
    }

    /// What somebody says behind his request, or half of him leaving, hurts nobody.
    @Test func whoGoesOnTalkingIsNotListenedTo() async throws {
        try await WebStage.run { stage in
            await stage.publish(3)
            let outcome = try await stage.talk { client in
                let request = "GET /feed HTTP/1.1\r\nHost: localhost\r\n\r\n"
                let descriptor = try client.connect()
                defer { RawClient.leave(descriptor) }
                try client.send(request + request + "{\"types\":[]}\n", to: descriptor)
                let first = try client.receive(from: descriptor, until: "\"seq\":3,")
                try client.send(String(repeating: "x", count: 100_000), to: descriptor)
                return first
            }
            #expect(outcome.text.split(separator: "HTTP/1.1 200").count == 1)
            try await stage.wait(for: "the end of the reader") { await stage.server.readerCount == 0 }
        }
    }
}
