internal import Feed
internal import Glibc
internal import Outputs
internal import Reactor

/// A progress bar for reading a journal: one line on a terminal, redrawn in place and erased at the end.
final class JournalProgress {
    private let style: ProgressBar.Style
    private let columns: Int
    private let output: Int32
    private let pause: Duration
    private var drawn = 0
    private var due: ContinuousClock.Instant

    /// - Parameter pause: the time between drawings, and before the first: short work shows no bar.
    init(style: ProgressBar.Style, columns: Int, to output: Int32 = STDERR_FILENO, pause: Duration = .milliseconds(200))
    {
        self.style = style
        self.columns = columns
        self.output = output
        self.pause = pause
        due = ContinuousClock.now + pause
    }

    /// - Parameter total: nil when it is unknown.
    func show(_ done: Int, of total: Int?) {
        guard ContinuousClock.now >= due else { return }
        due = ContinuousClock.now + pause
        let progress = Progress(done: done, total: total, page: 0)
        // The last column stays empty: some terminals wrap when it is written.
        let text = ProgressBar(source: "journal", progress: progress, style: style).text(columns: columns - 1)
        let width = ProgressBar.columns(of: text)
        write("\r" + text + String(repeating: " ", count: max(0, drawn - width)))
        drawn = max(drawn, width)
    }

    /// Erases the line.
    func end() {
        guard drawn > 0 else { return }
        write("\r" + String(repeating: " ", count: drawn) + "\r")
        drawn = 0
    }

    private func write(_ text: String) { try? Descriptor.write(text, to: output) }
}
