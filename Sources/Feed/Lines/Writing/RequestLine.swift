package import Reactor

/// The lines that a reader of a socket sends: docs/wire-format.md, Requests.
package enum RequestLine {
    /// Asks to resume after a line of a run.
    ///
    /// - Parameter keepsAll: whether to send all kept lines, and not only those after that line.
    package static func resume(after sequence: Int, of run: String, withAllKept keepsAll: Bool = false) -> [UInt8] {
        line(atMost: run.utf8.count) { writer in
            writer.integer("since", sequence)
            writer.string("run", run)
            if keepsAll { writer.raw(",\"kept\":true") }
        }
    }

    /// Asks to poll a source now.
    package static func poll(_ source: String, _ request: PollRequest) -> [UInt8] {
        line(atMost: source.utf8.count) { writer in
            writer.string("poll", source)
            writer.integer("n", request.n)
        }
    }

    /// Asks for the columns of a series of this source in a span of time.
    ///
    /// - Parameter width: in seconds.
    package static func columns(
        of series: String, source: String, width: Int, from: Timestamp, until: Timestamp
    ) -> [UInt8] {
        line(atMost: series.utf8.count + source.utf8.count) { writer in
            writer.time("from", from)
            writer.time("until", until)
            writer.key("sources")
            writer.raw("[")
            writer.string(source)
            writer.raw("]")
            writer.string("series", series)
            writer.integer("width", width)
        }
    }

    private static func line(atMost texts: Int, _ body: (inout LineWriter) -> Void) -> [UInt8] {
        LineWriter.bytes(atMost: 192 + LineWriter.mostEscaped(texts)) { writer in
            writer.raw("{")
            body(&writer)
            writer.raw("}\n")
        }
    }
}
