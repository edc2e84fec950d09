package import Feed
package import Reactor

/// Parses the lines of standard input, one after the other, into a batch.
///
/// A line that is one event is validated, minified into the batch's memory and searched in one pass, without
/// allocation.
package final class StdinLineParser {
    /// The result of parsing a line.
    package enum Verdict: Equatable {
        /// Its events are in the batch.
        case read
        /// `readItems` returns its events.
        case items
        /// It is so long that it needs `read(long:)`.
        case long
        /// The line is blank.
        case blank
        case notJSON(JSONFault)
        /// A field is not as requested: in the only event, or in some items; the other items are in the batch.
        case faulty(Failure)
        /// Some events have no value, and there may be another problem.
        case withoutValue(Extractor.MissingValues, Failure?)
    }

    private var extractor: Extractor
    private let found = JSONSelection.Found()
    /// The items of the last line that are not in a batch yet.
    private var items: ItemReading?
    /// Whether a failure has suggested a similar key.
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
                return extract(document, from: source, at: now, into: &batch)
            }
            count = try batch.minify(line, extractor.fields, found)
        } catch {
            return Self.verdict(error)
        }
        // Returned by the closure, they would be copied by their type's metadata.
        var fields = Extractor.Fields()
        batch.withMinified(count) { extractor.read(&fields, of: $0, found) }
        var (missing, problem): (Extractor.Fault?, Failure?)
        if !fields.faults.isEmpty {
            do throws(Failure) {
                (missing, problem) = try batch.withMinified(count) { (data) throws(Failure) in
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
        if let word = fields.word { batch.setWord(word) }
        if let pointer = fields.valuePointer {
            batch.setValuePointer(pointer.text)
            self.extractor = extractor.fixingValue(at: pointer)
        }
        if let problem { return .faulty(problem) }
        return missing.map { .withoutValue(Extractor.MissingValues(count: 1, fault: $0), nil) } ?? .read
    }

    /// See `Extractor`.
    package func failure(of missing: Extractor.MissingValues) -> Failure { extractor.failure(of: missing) }

    /// Reads a long line.
    ///
    /// - Parameter worker: does the reading; nil for the loop.
    package func read(
        long line: Bytes, from source: SourceID, at now: Timestamp, into batch: inout EventBatch, on loop: EventLoop,
        or worker: (any Worker)?
    ) async -> Verdict {
        do throws(JSONFault) {
            // Also when the task is cancelled meanwhile: no other input gets this line.
            let document =
                if let document = try await extractor.read(line, mayHaveMark: false, on: loop, or: worker) {
                    document
                } else {
                    try extractor.read(line, mayHaveMark: false)
                }
            return extract(document, from: source, at: now, into: &batch)
        } catch {
            return Self.verdict(error)
        }
    }

    private func extract(
        _ document: Extractor.Document, from source: SourceID, at now: Timestamp, into batch: inout EventBatch
    ) -> Verdict {
        do throws(Failure) {
            items = try extractor.begin(document, from: source, at: now)
            if items != nil { return .items }
            return handle(try extractor.add(document, from: source, at: now, to: &batch))
        } catch {
            return .faulty(error)
        }
    }

    private func handle(_ outcome: Extractor.Outcome) -> Verdict {
        if let pointer = outcome.valuePointer { extractor = extractor.fixingValue(at: pointer) }
        if let missing = outcome.missing { return .withoutValue(missing, outcome.problem) }
        return outcome.problem.map { .faulty($0) } ?? .read
    }

    private static func verdict(_ fault: JSONFault) -> Verdict { fault.reason == .empty ? .blank : .notJSON(fault) }

    // MARK: Items

    /// Whether there are items that are not in a batch yet.
    package var hasItems: Bool { items != nil }

    /// The failure for a line whose items will not all be read; nil when there is none.
    package var cutShort: Failure? { items?.cutShort }

    /// Adds further items to the batch, until it is full or the slice of work is over.
    ///
    /// - Returns: the result for the line, after its last item.
    package func readItems(into batch: inout EventBatch, during slice: inout TimeSlice) -> Verdict? {
        guard items?.read(into: &batch, during: &slice) == false else { return nil }
        defer { items = nil }
        return items.map { handle($0.outcome) }
    }
}
