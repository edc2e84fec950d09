import CatAPI
import Feed
import Inputs
import Reactor
import TestSupport
import Testing

/// The whole way over a real socket: the stand-in's listing, libcurl, and the store.
@Suite(.limited) struct BreedsTests {
    private static func read(_ bench: CurlBench, _ adjust: (inout PagesSource) -> Void) async throws -> [Line] {
        let wall = SystemWallClock()
        let store = EventStore(on: bench.loop, wall: wall, identity: SimulatedFeed.identity)
        let extraction = Extraction(
            items: try JSONPointer("/data"), key: .at(try JSONPointer("/breed")), value: .nowhere, text: .nowhere)
        var source = PagesSource(
            SourceDescription(name: "breeds", type: "breed"), request: bench.request("/breeds"),
            paging: .next(try JSONPointer("/next_page_url")), extraction: extraction)
        source.total = try JSONPointer("/total")
        adjust(&source)
        let (reader, _) = await store.open(nil)
        try await PagesInput(
            source, store: store, polls: PollRequests(on: bench.loop), transport: bench.transport, on: bench.loop,
            wall: wall
        ).run()
        await store.finish("test")
        var splitter = LineSplitter()
        while case .lines(let span) = try await store.next(for: reader) {
            splitter.push(span.withUnsafeBytes { Array($0) }[...])
        }
        var lines: [Line] = []
        while case .line(let text) = splitter.next() { lines.append(try LineDecoder.decode(text)) }
        return lines
    }

    private static func names(_ lines: [Line]) -> [String] {
        lines.compactMap { if case .data(let datum) = $0.body { datum.series } else { nil } }
    }

    @Test(arguments: [(30, 4), (98, 1), (1, 98), (97, 2)])
    func allBreedsComeInOrderInAsFewRequestsAsCanBe(batch: Int, requests: Int) async throws {
        try await CurlBench.run { bench in
            let lines = try await Self.read(bench) { $0.batch = batch }
            #expect(await bench.server.requestCount == requests)
            let whole = try JSONDocument(try await bench.get("/breeds?limit=1000").body[...])
            let place = try JSONPointer("/breed")
            let breeds = try whole.value(at: try JSONPointer("/data")).members.map {
                "breeds/" + String(decoding: try $0.value.string(at: place), as: UTF8.self)
            }
            #expect(breeds.count == 98 && Self.names(lines) == breeds)
            let progress = lines.compactMap { if case .progress(let progress) = $0.body { progress } else { nil } }
            #expect(progress.count == requests && progress.last == Progress(done: 98, total: 98, page: requests))
            #expect(lines.count { if case .latency = $0.body { true } else { false } } == requests)
        }
    }

    @Test func countingComesToTheSame() async throws {
        try await CurlBench.run { bench in
            let lines = try await Self.read(bench) {
                $0.paging = .counted(parameter: "page", first: 1)
                $0.batch = 30
            }
            #expect(Self.names(lines).count == 98 && Set(Self.names(lines)).count == 98)
            #expect(await bench.server.requestCount == 5)
        }
    }
}
