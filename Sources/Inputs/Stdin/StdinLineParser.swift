package import Feed
package import Reactor

/// Reads one line of standard input after the other into a batch.
///
/// A line that is one event is validated, minified into the batch's own memory and searched in one pass; nothing is allocated.
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

    private let extractor: Extractor
    private let found = JSONSelection.Found()

    package init(_ extraction: Extraction) { extractor = Extractor(extraction) }

    /// Reads a line without its newline; what has something wrong with it adds no event, or some of its items.
    package func read(
        _ line: UnsafeBufferPointer<UInt8>, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) -> Verdict {
        guard extractor.extraction.items == nil else { return readItems(line, from: source, at: now, into: &batch) }
        let count: Int
        do throws(JSONFault) {
            count = try batch.minify(line, extractor.fields, found)
        } catch {
            return error.reason == .empty ? .blank : .notJSON(error)
        }
        let fields = batch.withMinified(count) { extractor.fields(of: $0, found) }
        guard fields.faults.isEmpty else {
            return .faulty(batch.withMinified(count) { extractor.failure(fields.faults, in: $0, found) })
        }
        batch.addMinified(
            count, time: fields.time ?? now, source: source, key: fields.key, value: fields.value, text: fields.text)
        return .read
    }

    private func readItems(
        _ line: UnsafeBufferPointer<UInt8>, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) -> Verdict {
        let document: Extractor.Document
        do throws(JSONFault) {
            document = try extractor.read(Bytes(line))
        } catch {
            return error.reason == .empty ? .blank : .notJSON(error)
        }
        do throws(Failure) {
            let outcome = try extractor.add(document, from: source, at: now, to: &batch)
            return outcome.problem.map { .faulty($0) } ?? .read
        } catch {
            return .faulty(error)
        }
    }
}
