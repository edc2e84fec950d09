internal import Feed
internal import Glibc
internal import Journal
internal import Reactor

/// Runs a command that reads a journal, and turns its errors into an exit status.
enum JournalReading {
    /// Returns the exit status: the body's own; 0 when nobody reads the output; 2 when the journal cannot be read or
    /// output cannot be written, with one sentence as the reason.
    static func status(of journal: String, _ body: () throws -> Int32, complain: (String) -> Void) -> Int32 {
        JournalMapping.endInWords()
        let reason: String
        do {
            return try body()
        } catch let error as SystemError {
            if error.code == EPIPE { return 0 }
            reason = "stdout: \(error.reason)"
        } catch let error as JournalFault {
            reason = "\(Sanitizer.visible(journal, limit: 500)): \(Sanitizer.visible(error.reason))"
        } catch let error as SQLiteFault {
            reason = "\(Sanitizer.visible(journal, limit: 500)): \(Sanitizer.visible(error.reason))"
        } catch {
            reason = "\(error)"
        }
        complain("catwatch: \(reason)\n")
        return 2
    }
}
