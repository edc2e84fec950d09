internal import Feed
internal import Glibc
internal import Journal
internal import Reactor

/// What becomes of a program that reads a journal for somebody.
enum JournalReading {
    /// The exit status that reading comes to: its own; 0 when nobody reads any more what comes of it; 2 when the journal
    /// cannot be read, or nothing be written, which is said in one sentence.
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
