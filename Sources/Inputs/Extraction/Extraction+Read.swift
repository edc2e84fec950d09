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
        guard var reading = try begin(document, from: source, at: now) else {
            batch.add(try event(of: document, from: source, at: now))
            return Outcome(events: 1)
        }
        _ = reading.read(atMost: .max, into: &batch)
        return reading.outcome
    }

    /// The same a slice at a time, for documents with so many items that the loop would wait too long for all of them.
    ///
    /// - Returns: nil when the document is one event.
    /// - Throws: `.pointer` when there is nothing to read where the items should be.
    package func begin(
        _ document: JSONDocument, from source: SourceID, at now: Timestamp
    ) throws(Failure) -> ItemReading? {
        guard let items else { return nil }
        return try ItemReading(self, of: document, at: items, from: source, now: now)
    }

    /// The only event of a document.
    private func event(
        of document: JSONDocument, from source: SourceID, at now: Timestamp
    ) throws(Failure) -> Event {
        var datum = Datum(data: document.minified)
        if case .at(let pointer) = key { datum.key = try document.name(at: pointer) }
        switch value {
        case .first: datum.value = document.firstNumber(isLenient: number == .lenient)
        case .at(let pointer): datum.value = try number(in: document, at: pointer)
        case .nowhere: break
        }
        switch text {
        case .first: datum.text = document.firstString
        case .at(let pointer): datum.text = try document.string(at: pointer)
        case .nowhere: break
        }
        var event = Event(time: now, source: source, body: .data(datum))
        if let time { event.time = try document.time(at: time, isLenient: number == .lenient) }
        return event
    }

    private func number(in document: JSONDocument, at pointer: JSONPointer) throws(Failure) -> Double {
        guard number == .lenient else { return try document.number(at: pointer) }
        let found = try document.value(at: pointer)
        guard found.kind == .string else { return try document.number(at: pointer) }
        return try found.withUnsafeBytes { (token) throws(Failure) in
            try FieldReader.number(token, isLenient: true).orThrow(pointer, Self.numberName)
        }
    }

    /// What should be where a value is looked for, for messages.
    static let numberName = "a number"
    /// What should be where a time is looked for, for messages.
    static let timeName = "a time (RFC 3339, or seconds since 1970)"
}

extension JSONDocument {
    /// The string or number where `pointer` leads, as text.
    fileprivate func name(at pointer: JSONPointer) throws(Failure) -> Bytes {
        let found = try value(at: pointer)
        switch found.kind {
        case .number: return found.minified
        case .string: return try string(at: pointer)
        case let kind: throw Failure(.pointer, "\(pointer.place) is \(kind) and neither a string nor a number")
        }
    }

    /// The time where `pointer` leads; see `Extraction.time`.
    fileprivate func time(at pointer: JSONPointer, isLenient: Bool) throws(Failure) -> Timestamp {
        try value(at: pointer).withUnsafeBytes { (token) throws(Failure) in
            try FieldReader.time(token, isLenient: isLenient).orThrow(pointer, Extraction.timeName)
        }
    }
}

extension Result where Failure == FieldReader.Fault {
    fileprivate func orThrow(_ place: JSONPointer, _ expected: String) throws(Feed.Failure) -> Success {
        switch self {
        case .success(let success): return success
        case .failure(let fault): throw Feed.Failure(.pointer, fault.message(place, expected))
        }
    }
}
