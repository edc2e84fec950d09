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
    /// Passes rows of these places to `take`, piece by piece: each is a read transaction of its own.
    ///
    /// - Parameters:
    ///   - isReversed: whether the newest come first.
    ///   - take: returns false to end the piece.
    ///   - piece: gets the place of the last row of each piece; returns false to end.
    func pieces(
        in places: ClosedRange<JournalPlace>, isReversed: Bool = false, _ take: (Row) throws(JournalFault) -> Bool,
        piece: (JournalPlace) throws -> Bool
    ) throws {
        var rest = places
        while let last = try rows(in: rest, isReversed: isReversed, take), try piece(last) {
            guard last != (isReversed ? places.lowerBound : places.upperBound) else { return }
            rest = isReversed ? places.lowerBound...last.previous : last.next...places.upperBound
        }
    }
}
