internal import Glibc

/// Handles SIGBUS while a journal is read: SQLite maps the index, `FILE-shm`, and when somebody truncates that file,
/// the next access fails.
package enum JournalMapping {
    private static let words: StaticString =
        "catwatch: somebody has cut off the index (-shm) of the journal that is read; start again to go on\n"

    /// Ends the process with one sentence and status 2 instead of a core dump. It cannot continue: the index is the
    /// writer's, and with a private one the writer could overwrite pages that are being read.
    ///
    /// Call it before another handler for SIGBUS is set, which restores the terminal and lets the fault happen again.
    package static func endInWords() {
        _ = words  // initialised here, not in the handler
        var action = sigaction()
        action.sa_flags = SA_SIGINFO
        action.__sigaction_handler.sa_sigaction = { _, info, _ in
            // Other causes end the process as usual.
            guard info?.pointee.si_code == Int32(BUS_ADRERR) else {
                signal(SIGBUS, SIG_DFL)
                raise(SIGBUS)
                return
            }
            _ = write(STDERR_FILENO, JournalMapping.words.utf8Start, JournalMapping.words.utf8CodeUnitCount)
            _exit(2)
        }
        sigaction(SIGBUS, &action, nil)
    }
}
