package import Feed
package import Reactor

/// Reads a recording once, as fast as that goes, for what is computed from its lines.
package struct RecordingReader {
    /// How a reading ended.
    package struct Result: Sendable {
        /// What was wrong with the lines, a sentence each.
        package var faults: [String] = []
        /// The number of lines that are none of a feed.
        package var badLines = 0
        /// Why it could not be read to its end.
        package var failure: String?
    }

    private let recording: Recording
    private let journal: JournalStream?
    private let stream: any ByteStream
    private let loop: EventLoop
    private let hasFrom: Bool

    /// - Parameters:
    ///   - stream: a stream of lines, or a `JournalStream`.
    ///   - from: as for a `ReplayInput`.
    package init(_ stream: any ByteStream, from: Timestamp?, on loop: EventLoop) {
        (self.stream, self.loop, hasFrom) = (stream, loop, from != nil)
        journal = stream as? JournalStream
        recording = Recording(from: from, hasOlder: journal != nil, on: loop, limits: .init())
    }

    /// Passes each line to `body`, in their order, and closes the stream.
    ///
    /// - Parameters:
    ///   - command: the command that reads a recording from standard input, for an advice.
    ///   - progress: called now and then with the number of bytes read so far.
    package func read(
        command: String, isolation: isolated (any Actor), progress: (_ bytes: Int) -> Void,
        body: (RecordedLine) throws -> Void
    ) async throws -> Result {
        defer { stream.close() }
        var (result, bytes) = (Result(), 0)
        while recording.oddity == nil, result.failure == nil {
            recording.restart()
            while let line = recording.next() {
                try body(line)
            }
            progress(bytes)
            if recording.hasMore {
                try await loop.sleep(for: .zero)
            } else if recording.isAtEnd {
                break
            } else {
                do throws(SystemError) {
                    let count = try recording.fill(from: stream)
                    if let count { (bytes, recording.isAtEnd) = (bytes + count, count == 0) }
                    guard count == nil else { continue }
                } catch {
                    result.failure = error.reason
                    continue
                }
                try await stream.waitUntilReadable()
            }
        }
        if let oddity = recording.oddity { result.failure = oddity.text(command) }
        if let fault = journal?.fault { result.failure = "it cannot be read any further: \(fault)" }
        result.faults = recording.faults(isEmpty: hasFrom && journal?.isEmpty ?? false)
        result.badLines = recording.badLines
        return result
    }
}
