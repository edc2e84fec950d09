internal import Feed
internal import Glibc
package import Journal
package import Reactor

/// The lines of a journal as a stream, run after run: each run's `hello`, its lines between its `stats`, and its `bye` if
/// its end is known. A worker reads them page by page. The stream ends with the newest line at the time of opening, or
/// little later.
package final class JournalStream: ReadOnlyStream {
    private let loop: EventLoop
    private let worker: any Worker
    private let pages: Pages
    /// The page after this one, which is read while this one is worked on; nil until it is there.
    private var ahead: Pages.Piece?
    private var isReading = false
    private let arrived: Wakeup
    private var bytes: [UInt8] = []
    private var taken = 0
    private var isAtEnd = false

    /// Why the stream ended before all lines were read, for a person.
    package private(set) var fault: String?
    /// Whether no line has the requested time or a later one.
    package private(set) var isEmpty = false
    /// Whether the journal has newer lines than those in the stream.
    package private(set) var hasGrown = false

    /// - Parameters:
    ///   - history: used only on the worker from now on.
    ///   - from: lines are left out that neither have this time or a later one nor are needed for the state at this time.
    package init(_ history: any LineHistory, from: Timestamp?, on loop: EventLoop, worker: any Worker) {
        self.loop = loop
        self.worker = worker
        pages = Pages(history, from: from)
        arrived = Wakeup(loop: loop)
    }

    /// Whether a regular file starts like an SQLite file. Blocks as long as the disk does.
    package static func isJournal(_ path: String) -> Bool {
        var status = stat()
        // Reading from a FIFO would consume its bytes.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let file = try? Descriptor.open(path, flags: O_RDONLY | O_NONBLOCK)
        else { return false }
        let magic = Array("SQLite format 3\0".utf8)
        var head = [UInt8](repeating: 0, count: magic.count)
        return Glibc.read(file.number, &head, head.count) == head.count && head == magic
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        guard taken < bytes.count else { return isAtEnd ? 0 : nil }
        let count = min(bytes.count - taken, buffer.count)
        buffer.copyBytes(from: bytes[taken..<taken + count])
        taken += count
        return count
    }

    /// Waits for the next page.
    package func waitUntilReadable() async throws(CancellationError) {
        if !isReading, ahead == nil { readAhead() }
        while ahead == nil { try await arrived.wait() }
        switch ahead.take() {
        case .bytes(let bytes, let hasMore):
            (self.bytes, taken) = (bytes, 0)
            // Whether the journal has grown is for later to see.
            if hasMore { readAhead() }
        case .end(let hadAny, let hasGrown): (isAtEnd, isEmpty, self.hasGrown) = (true, !hadAny, hasGrown)
        case .fault(let reason): (isAtEnd, fault) = (true, reason)
        case nil: break
        }
    }

    private func readAhead() {
        isReading = true
        let me = LoopBound(self)
        worker.perform(for: loop) { [pages] in
            pages.next()
        } then: {
            me.value.arrive($0)
        }
    }

    private func arrive(_ piece: Pages.Piece) {
        (ahead, isReading) = (piece, false)
        arrived.signal()
    }

    package func close() {}
}

/// The part of the stream that runs on the worker.
private final class Pages: @unchecked Sendable {  // on one thread at a time, as the stream waits for each page
    enum Piece: Sendable {
        /// Whether there are lines behind these.
        case bytes([UInt8], hasMore: Bool)
        case end(hadAny: Bool, hasGrown: Bool)
        case fault(String)
    }

    // Bound: lines read ahead in a replayed journal | two pages of 128 KiB, one line and its `stats` | rest stays in the
    //   journal
    private static let size = 128 << 10

    private let history: any LineHistory
    private let from: Timestamp?
    private var hasBegun = false
    /// The state that the requested lines begin with, until it is read.
    private var state: [UInt8] = []
    private var rowID: RowID?
    private var last: RowID?
    /// The run of the last page.
    private var run: JournalRun?
    private var stats: [UInt8] = []
    /// The `bye` of the run that was read last; empty when the run has none, or nothing of it was read.
    private var farewell: [UInt8] = []
    private var hadAny = false

    init(_ history: any LineHistory, from: Timestamp?) {
        self.history = history
        self.from = from
    }

    func next() -> Piece {
        var query = JournalQuery()
        query.includesStats = true
        do throws(JournalFault) {
            if !hasBegun {
                hasBegun = true
                try begin()
            }
            if !state.isEmpty {
                defer { state = [] }
                return .bytes(state, hasMore: true)
            }
            guard let last, rowID.map({ $0 < last }) != false,
                let page = try history.page(query, behind: rowID, bytes: Self.size)
            else {
                let newest = hadAny ? try newest() : rowID
                // If the run has more lines by now, we did not read its end.
                if !farewell.isEmpty, let run,
                    try history.rowID(of: .max, in: run.name) == rowID.map({ $0.addingSaturated(1) })
                {
                    defer { farewell = [] }
                    return .bytes(farewell, hasMore: false)
                }
                return .end(hadAny: hadAny, hasGrown: newest != rowID)
            }
            hadAny = true
            rowID = page.last
            var bytes: [UInt8] = []
            let stats = JournalPage.stats(of: page.greeting)
            if page.run.first != run?.first {
                bytes += farewell + page.greeting
            } else if stats != self.stats {
                bytes += stats
            }
            (run, self.stats) = (page.run, stats)
            farewell = page.run.ended.map { Self.bye(of: page, reason: $0) } ?? []
            return .bytes(bytes + page.lines, hasMore: page.last < last)
        } catch {
            return .fault(error.reason)
        }
    }

    /// Returns the `bye` of a page's run, with the time of its last line.
    private static func bye(of page: JournalPage, reason: String) -> [UInt8] {
        let lines = page.lines.dropLast()
        let last = lines[(lines.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0)...]
        let time = (try? LineDecoder.decode(last))?.time ?? Timestamp(microseconds: 0)
        return ControlLine.bye(
            time: time, run: page.run.name, lastSequence: page.sequences.upperBound, reason: LineEncoder.cut(reason))
    }

    /// Finds the first and the last line to read.
    private func begin() throws(JournalFault) {
        last = try newest()
        guard let from else { return }
        guard let first = try history.page(JournalQuery(from: from), behind: nil, bytes: 1) else {
            last = nil
            return
        }
        let state = try history.state(before: first.last)
        rowID = state?.through
        self.state = state?.lines ?? []
    }

    private func newest() throws(JournalFault) -> RowID? {
        try history.page(JournalQuery(isReversed: true), behind: nil, bytes: 1)?.last
    }
}
