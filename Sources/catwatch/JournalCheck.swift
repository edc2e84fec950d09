internal import Feed
internal import Glibc
internal import Journal
internal import Reactor

/// What there is in a journal, or what is wrong with it, for `check`.
enum JournalCheck {
    /// A sentence for a person. Reads the file, and changes nothing in it; blocks.
    static func text(of path: String, _ history: any LineHistory) -> String {
        var status = stat()
        guard stat(path, &status) == 0 || errno != ENOENT else { return "\(path): there is none yet" }
        do throws(JournalFault) {
            var query = JournalQuery()
            let first = try history.page(query, behind: nil, bytes: 1)
            query.isReversed = true
            guard let first, let last = try history.page(query, behind: nil, bytes: 1) else {
                return "\(path): it is empty"
            }
            return "\(path): it has lines \(text(of: first)) to \(text(of: last))"
        } catch {
            return "\(error.text(at: path)); if that is so at the start, it is said, and catwatch watches all the same"
        }
    }

    /// The run and the number of a page's one line, and its time.
    private static func text(of page: JournalPage) -> String {
        let time = page.lines.withUnsafeBufferPointer { try? LineHead.Decoded($0).time }
        let text = time.map { time in
            LineWriter.bytes(atMost: 64) { writer in
                var text = TimestampText()
                text.write(time, to: &writer)
            }
        }
        return "\(page.sequences.lowerBound) of run \(page.run.name)"
            + (text.map { " of \(String(decoding: $0.dropFirst().dropLast(), as: UTF8.self))" } ?? "")
    }
}
