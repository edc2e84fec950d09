internal import Feed
internal import Glibc
internal import Outputs
internal import Reactor

/// How much of a journal is read, as a line on a terminal that is drawn over and taken away in the end.
final class JournalProgress {
    private let style: ProgressBar.Style
    private let columns: Int
    private let output: Int32
    private let pause: Duration
    private var drawn = 0
    private var due: ContinuousClock.Instant

    /// - Parameter pause: from one drawing to the next, and to the first: what is soon done needs none.
    init(style: ProgressBar.Style, columns: Int, to output: Int32 = STDERR_FILENO, pause: Duration = .milliseconds(200))
    {
        self.style = style
        self.columns = columns
        self.output = output
        self.pause = pause
        due = ContinuousClock.now + pause
    }

    /// - Parameter total: nil when nobody knows.
    func show(_ done: Int, of total: Int?) {
        guard ContinuousClock.now >= due else { return }
        due = ContinuousClock.now + pause
        let progress = Progress(done: done, total: total, page: 0)
        // The last column stays empty: some terminals go to the next line when it is written.
        let text = ProgressBar(source: "journal", progress: progress, style: style).text(columns: columns - 1)
        let width = ProgressBar.columns(of: text)
        write("\r" + text + String(repeating: " ", count: max(0, drawn - width)))
        drawn = max(drawn, width)
    }

    /// Takes the line away.
    func end() {
        guard drawn > 0 else { return }
        write("\r" + String(repeating: " ", count: drawn) + "\r")
        drawn = 0
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        try? bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in try Descriptor.write(bytes, to: output) }
    }
}
