internal import CatAPI
internal import Feed
internal import Inputs
internal import Reactor

/// The list of breeds in pages, through libcurl from the stand-in API: the number of requests, and any missing breeds.
enum BreedsPages: Scenario {
    static let name = "breeds-pages"
    static let summary = "all 98 breeds in batches of 30: requests, events, and the time of a run"

    private static let breeds = 98

    static func measure(_ setting: Setting) throws -> [Figure] {
        var requests = Figure(name: "requests", unit: "", runs: [], statistic: .most, limit: .atMost(4))
        var events = Figure(name: "breeds in order", unit: "", runs: [], statistic: .least, limit: .atLeast(98))
        var time = Figure(name: "a run", unit: "ms", runs: [])
        for _ in 0..<setting.runs {
            let run = try run()
            requests.runs.append(Double(run.requests))
            events.runs.append(Double(run.inOrder))
            time.runs.append(run.time.milliseconds)
        }
        return [requests, events, time]
    }

    private static func run() throws -> (requests: Int, inOrder: Int, time: Duration) {
        let loop = try EventLoop()
        return try loop.run {
            let server = try CatAPIServer(loop: loop, seed: 1)
            do {
                let result = try await run(server, on: loop)
                await server.stop()
                return result
            } catch {
                await server.stop()
                throw error
            }
        }
    }

    private static func run(
        _ server: CatAPIServer, on loop: EventLoop
    ) async throws -> (requests: Int, inOrder: Int, time: Duration) {
        let wall = SystemWallClock()
        let identity = AgentIdentity(run: "bench", version: "0", started: wall.now)
        let store = EventStore(on: loop, wall: wall, identity: identity)
        let extraction = Extraction(
            items: try JSONPointer("/data"), key: .at(try JSONPointer("/breed")), value: .nowhere, text: .nowhere)
        var request = HTTPRequest(url: "\(server.origin)/breeds")
        request.usesProxy = false
        var source = PagesSource(
            SourceDescription(name: "breeds", type: "breed"), request: request,
            paging: .next(try JSONPointer("/next_page_url")), extraction: extraction)
        source.batch = 30
        source.total = try JSONPointer("/total")
        let (reader, _) = await store.open(nil)
        let input = PagesInput(
            source, store: store, polls: PollRequests(on: loop), transport: try CurlTransport(on: loop), on: loop,
            wall: wall
        )
        let start = loop.clock.now
        try await input.run()
        let time = start.duration(to: loop.clock.now)
        await store.finish("count")
        let names = try await names(from: reader, of: store)
        let whole = try await wholeList(server, on: loop)
        guard whole.count == breeds else { throw BenchError("the stand-in has \(whole.count) breeds") }
        return (await server.requestCount - 1, zip(names, whole).prefix { $0 == $1 }.count, time)
    }

    /// The keys of all data events, in order.
    private static func names(from reader: ReaderID, of store: EventStore) async throws -> [String] {
        var splitter = LineSplitter()
        while case .lines(let span) = try await store.next(for: reader) {
            splitter.push(span.withUnsafeBytes { Array($0) }[...])
        }
        var names: [String] = []
        while case .line(let text) = splitter.next() {
            guard case .data(let datum) = try LineDecoder.decode(text).body else { continue }
            names.append(String(datum.series.dropFirst("breeds/".count)))
        }
        return names
    }

    /// The names in the order of a single page.
    private static func wholeList(_ server: CatAPIServer, on loop: EventLoop) async throws -> [String] {
        var request = HTTPRequest(url: "\(server.origin)/breeds?limit=1000")
        request.usesProxy = false
        let answer = try await CurlTransport(on: loop).get(request)
        let document = try JSONDocument(answer.body[...])
        let pointer = try JSONPointer("/breed")
        return try document.value(at: try JSONPointer("/data")).members.map {
            String(decoding: try $0.value.string(at: pointer), as: UTF8.self)
        }
    }
}
