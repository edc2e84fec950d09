import Feed
import Inputs
import TestSupport

/// A listing in pages, as a source and as the script of its server.
enum SimulatedListing {
    static func source(
        _ url: String = "http://cats.test/breeds", every: Duration? = nil,
        paging: PagesSource.Paging? = nil, _ adjust: (inout PagesSource) -> Void = { _ in }
    ) throws -> PagesSource {
        let extraction = Extraction(
            items: try JSONPointer("/data"), key: .at(try JSONPointer("/name")), value: .nowhere, text: .nowhere)
        var source = PagesSource(
            SourceDescription(name: "breeds", type: "breed"), request: HTTPRequest(url: url),
            paging: try paging ?? .next(try JSONPointer("/next")), extraction: extraction)
        source.every = every
        source.total = try JSONPointer("/total")
        adjust(&source)
        return source
    }

    /// A page of some items: `{"data":[{"name":"1"},…],"total":98,"next":…}`; `next` is JSON.
    static func page(_ items: some Sequence<Int>, total: Int? = nil, next: String? = "null") -> ScriptedTransport.Reply
    {
        let data = items.map { #"{"name":"\#($0)"}"# }.joined(separator: ",")
        var body = #"{"data":[\#(data)]"#
        if let total { body += #","total":\#(total)"# }
        if let next { body += #","next":\#(next)"# }
        return .answer(200, body + "}")
    }

    static func run(
        _ source: PagesSource, for duration: Duration = .seconds(600), seed: UInt64 = 1,
        script: @escaping @Sendable (Int, HTTPRequest) -> ScriptedTransport.Reply
    ) async throws -> SimulatedFeed {
        try await SimulatedFeed.run(for: duration, script: script) { place in
            let input = PagesInput(
                source, store: place.store, polls: place.polls, transport: place.transport, on: place.loop,
                wall: place.wall,
                random: SeededGenerator(seed: seed))
            try await input.run()
        }
    }
}

extension SimulatedFeed {
    /// The keys of the data events, in order.
    var keys: [String] { data.map { String($0.series.split(separator: "/").last ?? "") } }
    var urls: [String] { calls.map(\.url) }
}
