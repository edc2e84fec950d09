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
        /// Its events are `readItems`'.
        case items
        /// It is so long that it is `read(long:)`'s.
        case long
        /// There is nothing in it.
        case blank
        case notJSON(JSONFault)
        /// Something was not as asked for: of the only event, or of some items, of which the others are in the batch.
        case faulty(Failure)
        /// Some of its events have no value, and there may be another problem.
        case withoutValue(Extractor.MissingValues, Failure?)
    }

    private var extractor: Extractor
    private let found = JSONSelection.Found()
    /// Of the line that was read last, when not all of its items are in a batch yet.
    private var items: ItemReading?
    /// Whether a failure has named the key that may be meant.
    private var hasSuggested = false

    package init(_ extraction: Extraction) { extractor = Extractor(extraction, of: .lines) }

    /// Reads a line without its newline.
    package func read(
        _ line: UnsafeBufferPointer<UInt8>, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) -> Verdict {
        guard line.count <= Extractor.longestOnLoop else { return .long }
        let extractor = extractor
        let count: Int
        do throws(JSONFault) {
            guard extractor.extraction.items == nil else {
                let document = try extractor.read(Bytes(line), mayHaveMark: false)
                return take(document, from: source, at: now, into: &batch)
            }
            count = try batch.minify(line, extractor.fields, found)
        } catch {
            return Self.verdict(error)
        }
        let fields = batch.withMinified(count) { extractor.fields(of: $0, found) }
        var missing: Extractor.Fault?
        if !fields.faults.isEmpty {
            do throws(Failure) {
                missing = try batch.withMinified(count) { (data) throws(Failure) in
                    try extractor.check(fields.faults, in: data, found, suggests: !hasSuggested)
                }
            } catch {
                hasSuggested = true
                return .faulty(error)
            }
        }
        batch.addMinified(
            count, time: fields.time ?? now, source: source, key: fields.key, value: fields.value, text: fields.text,
            flaws: found.flaws)
        if let pointer = fields.valuePointer {
            batch.setValuePointer(pointer.text)
            self.extractor = extractor.fixingValue(at: pointer)
        }
        return missing.map { .withoutValue(Extractor.MissingValues(count: 1, fault: $0), nil) } ?? .read
    }

    /// See `Extractor`.
    package func failure(of missing: Extractor.MissingValues) -> Failure { extractor.failure(of: missing) }

    /// Reads a line that is long.
    ///
    /// - Parameter worker: where that is done; nil for the loop.
    package func read(
        long line: Bytes, from source: SourceID, at now: Timestamp, into batch: inout EventBatch, on loop: EventLoop,
        or worker: (any Worker)?
    ) async -> Verdict {
        do throws(JSONFault) {
            // Also when the task is cancelled meanwhile: nobody else gets this line any more.
            let document =
                if let document = try await extractor.read(line, mayHaveMark: false, on: loop, or: worker) {
                    document
                } else {
                    try extractor.read(line, mayHaveMark: false)
                }
            return take(document, from: source, at: now, into: &batch)
        } catch {
            return Self.verdict(error)
        }
    }

    private func take(
        _ document: Extractor.Document, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) -> Verdict {
        do throws(Failure) {
            items = try extractor.begin(document, from: source, at: now)
            if items != nil { return .items }
            return take(try extractor.add(document, from: source, at: now, to: &batch))
        } catch {
            return .faulty(error)
        }
    }

    private func take(_ outcome: Extractor.Outcome) -> Verdict {
        if let pointer = outcome.valuePointer { extractor = extractor.fixingValue(at: pointer) }
        if let missing = outcome.missing { return .withoutValue(missing, outcome.problem) }
        return outcome.problem.map { .faulty($0) } ?? .read
    }

    private static func verdict(_ fault: JSONFault) -> Verdict { fault.reason == .empty ? .blank : .notJSON(fault) }

    // MARK: Items

    /// Whether there are items that are not in a batch yet.
    package var hasItems: Bool { items != nil }

    /// What is to be said of a line whose items will not all be read; nil when there is none.
    package var cutShort: Failure? { items?.cutShort }

    /// Reads further items, until the batch is full or the slice of work is over.
    ///
    /// - Returns: what became of the line, when these were the last ones.
    package func readItems(into batch: inout EventBatch, during slice: inout TimeSlice) -> Verdict? {
        guard items?.read(into: &batch, during: &slice) == false else { return nil }
        defer { items = nil }
        return items.map { take($0.outcome) }
    }
}
