package import Reactor

/// What a `stats` line says of one source: whether it works, since when, and how its values are to be read.
package struct SourceStatus: Sendable, Equatable {
    package enum State: Sendable { case starting, ok, failing }

    package var source: String
    package var state: State
    package var since: Timestamp
    /// The `type` of its data lines; nil where nobody has said, as an older agent that is passed on.
    package var type: String?
    package var unit: String?
    package var bands: BandScale?

    package init(
        source: String, state: State, since: Timestamp, type: String? = nil, unit: String? = nil,
        bands: BandScale? = nil
    ) {
        self.source = source
        self.state = state
        self.since = since
        self.type = type
        self.unit = unit
        self.bands = bands
    }
}

extension SourceStatus {
    /// The bytes that `write` may write, and a comma.
    var mostEncoded: Int {
        var most = LineEncoder.most(source.utf8.count, type?.utf8.count ?? 0, unit?.utf8.count ?? 0)
        for band in bands?.bands ?? [] {
            most += 96 + LineWriter.mostEscaped(band.name.utf8.count + band.letter.utf8.count)
        }
        return most
    }

    /// One element of the line's `sources`.
    func write(to writer: inout LineWriter) {
        writer.raw("{\"source\":")
        writer.string(source)
        writer.raw(",\"state\":\"")
        switch state {
        case .starting: writer.raw("starting")
        case .ok: writer.raw("ok")
        case .failing: writer.raw("failing")
        }
        writer.raw("\",\"since\":")
        ControlLine.write(since, &writer)
        if let type {
            writer.raw(",\"type\":")
            writer.string(type)
        }
        if let unit {
            writer.raw(",\"unit\":")
            writer.string(unit)
        }
        if let bands {
            writer.raw(",\"bands\":[")
            for (index, band) in bands.bands.enumerated() {
                if index > 0 { writer.byte(UInt8(ascii: ",")) }
                band.write(to: &writer)
            }
            writer.raw("],\"higher_is_better\":")
            writer.bool(bands.higherIsBetter)
        }
        writer.byte(UInt8(ascii: "}"))
    }
}

extension Band {
    /// At most 96 bytes besides the name and the letter.
    fileprivate func write(to writer: inout LineWriter) {
        writer.raw("{\"name\":")
        writer.string(name)
        writer.raw(",\"letter\":")
        writer.string(String(letter))
        writer.raw(",\"color\":")
        writer.string(color.hex)
        if let upTo {
            writer.raw(",\"up_to\":")
            writer.number(upTo)
        }
        writer.byte(UInt8(ascii: "}"))
    }
}
