internal import Feed
internal import Glibc
internal import Journal
internal import Reactor

/// Describes a journal's contents, or its fault, for `catwatch check`.
enum JournalCheck {
    /// Returns a sentence for people. Only reads the file; blocks.
    static func text(of path: String, _ history: any LineHistory) -> String {
        var status = stat()
        guard stat(path, &status) == 0 || errno != ENOENT else { return "\(path): there is none yet" }
        do throws(JournalFault) {
            guard let first = try history.page(JournalQuery(), behind: nil, bytes: 1),
                let last = try history.page(JournalQuery(isReversed: true), behind: nil, bytes: 1)
            else {
                return "\(path): it is empty"
            }
            return "\(path): it has lines \(text(of: first)) to \(text(of: last))"
        } catch {
            return "\(error.text(at: path)); if that is so at the start, it is said, and catwatch watches all the same"
        }
    }

    /// The sequence number, run and time of a page's single line.
    private static func text(of page: JournalPage) -> String {
        let time = page.lines.withUnsafeBufferPointer { try? LineHead.Decoded($0).time }
        return "\(page.sequences.lowerBound) of run \(page.run.name)"
            + (time.map { " of \($0.text)" } ?? "")
    }
}
