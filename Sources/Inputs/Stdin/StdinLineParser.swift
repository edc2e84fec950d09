package import Feed
package import Reactor

/// Reads one line of standard input after the other into a batch.
///
/// A line that is one event, and has what it was asked for, is validated and minified into the batch's own memory and
/// looked at once more as far as the last thing that was asked for; nothing is allocated. Every other line goes the way
/// that all documents go, which also finds the words for what is wrong.
package final class StdinLineParser {
    /// What became of a line.
    package enum Verdict: Equatable {
        /// Its events are in the batch.
        case read
        /// There is nothing in it.
        case blank
        case notJSON(JSONFault)
        /// Something was not as asked for: of the only event, or of some items, of which the others are in the batch.
        case faulty(Failure)
    }

    private let extraction: Extraction
    private let fields: FieldReader
    private let documents = JSONReader(maximumCapacity: 64 << 10)

    package init(_ extraction: Extraction) {
        self.extraction = extraction
        fields = FieldReader(extraction)
    }

    /// Reads a line without its newline; what has something wrong with it adds no event, or some of its items.
    package func read(
        _ line: UnsafeBufferPointer<UInt8>, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) -> Verdict {
        guard extraction.items == nil else { return readGenerally(line, from: source, at: now, into: &batch) }
        let count: Int
        do throws(JSONFault) {
            count = try batch.minify(line)
        } catch {
            return error.reason == .empty ? .blank : .notJSON(error)
        }
        let found = batch.withMinified(count) { fields.read($0) }
        guard found.faults.isEmpty else { return readGenerally(line, from: source, at: now, into: &batch) }
        batch.addMinified(
            count, time: found.time ?? now, source: source, key: found.key, value: found.value, text: found.text)
        return .read
    }

    /// The same by way of a document, as the other inputs do it.
    package func readGenerally(
        _ line: UnsafeBufferPointer<UInt8>, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) -> Verdict {
        do throws(JSONFault) {
            try JSONMinifier.validate(line)
        } catch {
            return error.reason == .empty ? .blank : .notJSON(error)
        }
        do throws(Failure) {
            let outcome = try extraction.read(documents.read(line), from: source, at: now, into: &batch)
            return outcome.problem.map { .faulty($0) } ?? .read
        } catch {
            return .faulty(error)
        }
    }
}
