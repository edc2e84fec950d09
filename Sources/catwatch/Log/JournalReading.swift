internal import Feed
internal import Glibc
internal import Journal
internal import Reactor

/// Runs a command that reads a journal, and turns its errors into an exit status.
enum JournalReading {
    /// Returns the exit status: the body's own; 0 when nobody reads the output; 2 when the journal cannot be read or
    /// output cannot be written, with one sentence as the reason.
    static func status(of journal: String, complain: (String) -> Void, _ body: () throws -> Int32) -> Int32 {
        JournalMapping.endInWords()
        let reason: String
        do {
            return try body()
        } catch let error as SystemError {
            if error.code == EPIPE { return 0 }
            reason = "stdout: \(error.reason)"
        } catch let error as JournalFault {
            reason = "\(Sanitizer.visible(journal, limit: 500)): \(Sanitizer.visible(error.reason))"
        } catch {
            reason = "\(error)"
        }
        complain("catwatch: \(reason)\n")
        return 2
    }
}

extension JournalRows {
    /// Passes rows with these row ids to `body`, piece by piece: each is a read transaction of its own.
    ///
    /// - Parameters:
    ///   - isReversed, onlyAlerts: see `rows`.
    ///   - body: returns false to end the piece.
    ///   - piece: gets the row id of the last row of each piece; returns false to end.
    func pieces(
        in rowIDs: ClosedRange<RowID>, isReversed: Bool = false, onlyAlerts: Bool = false,
        _ body: (Row) throws(JournalFault) -> Bool, piece: (RowID) throws -> Bool
    ) throws {
        var rest = rowIDs
        while let last = try rows(in: rest, isReversed: isReversed, onlyAlerts: onlyAlerts, body), try piece(last) {
            guard last != (isReversed ? rowIDs.lowerBound : rowIDs.upperBound) else { return }
            rest = isReversed ? rowIDs.lowerBound...last - 1 : last + 1...rowIDs.upperBound
        }
    }
}
