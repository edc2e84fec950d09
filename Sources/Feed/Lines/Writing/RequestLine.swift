/// What a reader of a socket writes, a line each: docs/wire-format.md, Requests.
package enum RequestLine {
    /// Goes on behind a line of a run.
    package static func resume(after sequence: Int, of run: String) -> [UInt8] {
        line(atMost: run.utf8.count) { writer in
            writer.integer("since", sequence)
            writer.string("run", run)
        }
    }

    /// Has a source polled now.
    package static func poll(_ source: String, _ request: PollRequest) -> [UInt8] {
        line(atMost: source.utf8.count) { writer in
            writer.string("poll", source)
            writer.integer("n", request.n)
        }
    }

    private static func line(atMost texts: Int, _ body: (inout LineWriter) -> Void) -> [UInt8] {
        LineWriter.bytes(atMost: 64 + LineWriter.mostEscaped(texts)) { writer in
            writer.raw("{")
            body(&writer)
            writer.raw("}\n")
        }
    }
}
