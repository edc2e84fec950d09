package import Reactor

/// Which sources there are, and how they are doing.
extension FeedState {
    struct Source: Sendable {
        let name: String
        /// `"type":"…","source":"…","series":"…`, without the closing quote.
        var prefix: [UInt8]
        var status: SourceStatus
        /// What its values mean, and how lines say so.
        var bands: Bands?
        /// Whether it is gone until it is registered again.
        var isRetired = false
    }

    struct Bands: Sendable {
        let scale: BandScale
        /// The names of the bands as JSON, quotes included.
        let labels: [Bytes]

        init(_ scale: BandScale) {
            self.scale = scale
            labels = scale.bands.map { band in
                LineWriter.bytes(atMost: 2 + LineWriter.mostEscaped(band.name.utf8.count)) { $0.string(band.name) }[...]
            }
        }
    }

    /// An endpoint counts for each source that asks it.
    struct EndpointKey: Hashable {
        let source: Int
        let endpoint: String
    }

    /// What lines reserve for names depends on this; real ones are far shorter.
    private static let longestName = 1_024
    /// The longest unit that is passed on, in bytes of UTF-8.
    static let longestUnit = 32

    /// How the sources are doing that are not retired, in the order they were first registered.
    package var statuses: [SourceStatus] { sources.lazy.filter { !$0.isRetired }.map(\.status) }

    /// Adds a source; one of a name that is known is that source, with its series and their history.
    ///
    /// Its name and type are cut at 1,024 bytes, its unit at 32. With another type all its lines have that from now on, with
    /// other bands its windows from the next line on. It is `starting` again.
    package mutating func register(_ description: SourceDescription, at time: Timestamp) -> SourceID {
        let name = LineEncoder.cut(description.name, at: Self.longestName)
        let type = LineEncoder.cut(description.type, at: Self.longestName)
        let source = Source(
            name: name, prefix: Self.prefix(type: type, source: name, series: name),
            status: SourceStatus(
                source: name, state: .starting, since: time, type: type,
                unit: description.unit.map { LineEncoder.cut($0, at: Self.longestUnit) }, bands: description.bands,
                takesN: description.takesN),
            bands: description.bands.map { Bands($0) })
        guard let index = sourceIndices[name] else {
            sourceIndices[name] = sources.count
            sources.append(source)
            return SourceID(index: sources.count - 1)
        }
        let isRenamed = sources[index].status.type != type
        sources[index] = source
        if isRenamed { renewPrefixes() }
        return SourceID(index: index)
    }

    /// The source of this name that was registered.
    func source(named name: String) -> SourceID? {
        sourceIndices[LineEncoder.cut(name, at: Self.longestName)].map { SourceID(index: $0) }
    }

    /// Takes a source out of the list until it is registered again; its windows still close.
    package mutating func retire(_ source: SourceID) { sources[source.index].isRetired = true }

    mutating func setState(_ state: SourceStatus.State, of source: SourceID, _ wall: Timestamp) {
        guard sources[source.index].status.state != state else { return }
        sources[source.index].status.state = state
        sources[source.index].status.since = wall
    }

    /// Counts something at an endpoint.
    mutating func updateEndpoint(
        _ endpoint: String, of source: SourceID, _ change: (inout LatencyHistogram) -> Void
    ) {
        let key = EndpointKey(source: source.index, endpoint: endpoint)
        if let index = endpointIndices[key] {
            change(&endpoints[index].histogram)
        } else if endpoints.count < limits.endpoints {
            endpointIndices[key] = endpoints.count
            var histogram = LatencyHistogram()
            change(&histogram)
            endpoints.append(
                EndpointStatistics(endpoint: endpoint, source: sources[source.index].name, histogram: histogram))
        } else {
            counts.refusedEndpoints += 1
        }
    }

    static func prefix(type: String, source: String, series: String) -> [UInt8] {
        let most = 64 + LineWriter.mostEscaped(type.utf8.count + source.utf8.count + series.utf8.count)
        let names = LineWriter.bytes(atMost: most) { writer in
            writer.raw("\"type\":")
            writer.string(type)
            writer.string("source", source)
            writer.string("series", series)
        }
        return Array(names.dropLast())
    }
}
