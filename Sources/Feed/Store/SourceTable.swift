internal import Reactor

/// Which sources there are, and how they are doing.
struct SourceTable: Sendable {
    private struct Source: Sendable {
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
            labels = scale.bands.map { Bytes(LineWriter.quoted($0.name)) }
        }
    }

    private var sources: [Source] = []
    private var indices: [String: Int] = [:]

    /// What lines reserve for names depends on this; real ones are far shorter.
    private static let longestName = 1_024
    /// The longest unit that is passed on, in bytes of UTF-8.
    static let longestUnit = 32

    /// How the sources are doing that are not retired, in the order they were first registered.
    var statuses: [SourceStatus] { sources.lazy.filter { !$0.isRetired }.map(\.status) }

    @inline(__always) func state(of source: SourceID) -> SourceStatus.State { sources[source.index].status.state }
    @inline(__always) func name(of index: Int) -> String { sources[index].name }
    /// `"type":"…","source":"…","series":"…`, without the closing quote.
    @inline(__always) func prefix(of index: Int) -> [UInt8] { sources[index].prefix }
    func bands(of index: Int) -> Bands? { sources[index].bands }

    /// Adds a source, or gives the one of this name another description; says whether its type is another one now.
    mutating func register(_ description: SourceDescription, at time: Timestamp) -> (SourceID, isRenamed: Bool) {
        let name = LineEncoder.cut(description.name, at: Self.longestName)
        let type = LineEncoder.cut(description.type, at: Self.longestName)
        let source = Source(
            name: name, prefix: Self.prefix(type: type, source: name, series: name),
            status: SourceStatus(
                source: name, state: .starting, since: time, type: type,
                unit: description.unit.map { LineEncoder.cut($0, at: Self.longestUnit) }, bands: description.bands,
                takesN: description.takesN, rhythm: description.rhythm),
            bands: description.bands.map { Bands($0) })
        guard let index = indices[name] else {
            indices[name] = sources.count
            sources.append(source)
            return (SourceID(index: sources.count - 1), false)
        }
        let isRenamed = sources[index].status.type != type
        sources[index] = source
        return (SourceID(index: index), isRenamed)
    }

    /// The source of this name that was registered.
    func source(named name: String) -> SourceID? {
        indices[LineEncoder.cut(name, at: Self.longestName)].map { SourceID(index: $0) }
    }

    mutating func retire(_ source: SourceID) { sources[source.index].isRetired = true }

    mutating func setState(_ state: SourceStatus.State, of source: SourceID, _ wall: Timestamp) {
        guard sources[source.index].status.state != state else { return }
        sources[source.index].status.state = state
        sources[source.index].status.since = wall
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
