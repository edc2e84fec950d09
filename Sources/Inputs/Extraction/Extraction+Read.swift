package import Feed
package import Reactor

extension Extraction {
    /// What reading a document came to.
    package struct Outcome: Sendable, Equatable {
        /// How many events were added.
        package var events = 0
        /// What was wrong with some of the items, in one sentence about all of them; nil when nothing was.
        package var problem: Failure?
    }

    /// Adds a document's events to `batch`.
    ///
    /// A document that is one event must have what is asked for. Of many items, one without its key is left out; one
    /// whose value or time is missing or of the wrong kind still is an event, without value or at the time of arrival; both
    /// are reported. A value of null is no value, and a text that is missing no text: that is nothing to report.
    ///
    /// - Parameter now: the time of arrival.
    /// - Throws: `.pointer` when there is nothing to read where the items, or the only value, should be.
    package func read(
        _ document: JSONDocument, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) throws(Failure) -> Outcome {
        guard let items else {
            batch.add(Event(time: now, source: source, body: .data(try datum(of: document))))
            return Outcome(events: 1)
        }
        _ = items
        return Outcome()
    }

    /// The only event of a document.
    private func datum(of document: JSONDocument) throws(Failure) -> Datum {
        let value: Double? =
            switch value {
            case .first: document.firstNumber
            case .at(let pointer): try document.number(at: pointer)
            case .nowhere: nil
            }
        let text: Bytes? =
            switch text {
            case .first: document.firstString
            case .at(let pointer): try document.string(at: pointer)
            case .nowhere: nil
            }
        return Datum(value: value, text: text, data: document.minified)
    }
}
