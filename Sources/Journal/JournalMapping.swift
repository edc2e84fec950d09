internal import Glibc

/// What becomes of a program that reads a journal whose index, `FILE-shm`, somebody cuts off: SQLite has it mapped, and the next
/// look at it is a SIGBUS.
package enum JournalMapping {
    private static let words: StaticString =
        "catwatch: somebody has cut off the index (-shm) of the journal that is read; start again to go on\n"

    /// Ends the process with one sentence and status 2 instead of a core dump. It cannot go on: the index is the writer's, and a
    /// private one would not keep that writer from overwriting what is read.
    ///
    /// To be called before anybody else handles SIGBUS, who gives back a terminal and lets the fault come again.
    package static func endInWords() {
        _ = words  // not for the first time in the handler
        var action = sigaction()
        action.sa_flags = SA_SIGINFO
        action.__sigaction_handler.sa_sigaction = { _, info, _ in
            // Anything else ends the process as ever.
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
