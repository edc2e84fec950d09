package import Feed
package import Reactor

/// Reads events from documents and their items as an `Extraction` says.
///
/// A class, because copying a struct with so many references would retain each of them for every line.
package final class Extractor: Sendable {
    /// The result of reading a document.
    package struct Outcome: Sendable, Equatable {
        /// The number of events added.
        package var events = 0
        /// The number of items with a key, or that need none, whether they were chosen or not.
        package var items = 0
        /// Whether the key of every item is known, so that the document tells which series are gone.
        package var isWhole = true
        /// The patterns that matched items.
        package var matches = ItemChoice.Matches()
        /// One sentence about everything wrong with items; nil when nothing was.
        package var problem: Failure?
        /// The pointer to the first number, for `fixingValue`; nil when the value's pointer is fixed already, or there
        /// is no number.
        package var valuePointer: JSONPointer?
        /// The events of lines without a number at the fixed pointer; nil when there are none.
        package var missing: MissingValues?
    }

    /// Events without a value, because there is nothing at the pointer of the first number.
    package struct MissingValues: Sendable, Equatable {
        package var count: Int
        /// The first event's fault.
        var fault: Fault
        /// The first event's position, from 1, when it is an item.
        var position: Int?
    }

    /// The kind of input.
    package enum Kind: Sendable {
        /// Documents from polls, all of the same form. A missing field is an error, which suggests a similar key.
        case documents
        /// Lines and messages, which may differ in form: without a number at the fixed pointer, a line has no value.
        case lines
    }

    /// The fields found in an event. Ranges are offsets into its data; a string's range excludes the quotes.
    struct Fields {
        var key: Range<Int>?
        var value: Double?
        /// The word that the value stands for, as it stands in the data: a string that is one of the states, or `true` or
        /// `false`.
        var word: Range<Int>?
        /// The pointer to the first number, which is the value; nil when the value's pointer is fixed already, or there
        /// is no number.
        var valuePointer: JSONPointer?
        var text: Range<Int>?
        var time: Timestamp?
        /// The faults of requested fields.
        var faults = Faults()
    }

    struct Faults: Equatable {
        var key: Fault?
        /// Also for null, which is no value.
        var value: Fault?
        var text: Fault?
        var time: Fault?

        /// Whether every requested field is there.
        var isEmpty: Bool { key == nil && value == nil && text == nil && time == nil }
    }

    /// Why a field cannot be used.
    package enum Fault: Error, Equatable {
        case missing
        case wrong(JSONKind)
        /// A number outside the range of a double, or of a date.
        case outOfRange
        /// A string that cannot be parsed as requested.
        case unreadable
        /// A word that is none of the states.
        case unknownWord

        /// One sentence: `"/aqi" is a string and not a number`.
        ///
        /// - Parameters:
        ///   - pointer: the pointer to the field.
        ///   - expected: the expected kind of value, with its article.
        func message(_ pointer: JSONPointer, _ expected: String) -> String {
            switch self {
            case .missing: "there is nothing at \(pointer.place)"
            case .wrong(.string) where expected == numberName:
                "\(pointer.place) is a string and not a number; --number lenient takes numbers in strings"
            case .wrong(let kind): "\(pointer.place) is \(kind) and not \(expected)"
            case .outOfRange: "\(pointer.place) is a number out of range"
            case .unreadable: "\(pointer.place) is a string that is not \(expected)"
            case .unknownWord: "\(pointer.place) is none of the states"
            }
        }
    }

    /// The expected kind of a value, for messages.
    static let numberName = "a number"
    /// The expected kind of a time, for messages.
    static let timeName = "a time (RFC 3339, or seconds since 1970)"

    let extraction: Extraction
    /// The selection that is read from an event's data.
    let fields: JSONSelection
    /// The selection that is read from a document: the pointer to its items, or the same as `fields`.
    private let whole: JSONSelection
    // Pointers 0 to 3 of `fields`; nil for a field that is not requested, or not by a pointer.
    private let key: JSONPointer?
    private let value: JSONPointer?
    private let text: JSONPointer?
    private let time: JSONPointer?
    /// Whether each pointer is set: testing a pointer itself costs three reference counts for every line.
    private let asked: (key: Bool, value: Bool, text: Bool, time: Bool)
    private let isLenient: Bool
    /// The words of `Extraction.states`, and whether `true` or `false` is among them.
    private let states: [[UInt8]]
    private let listsBooleans: Bool
    private let kind: Kind
    /// Whether the value's pointer was fixed by the first number and not configured.
    private let followsFirstNumber: Bool

    package convenience init(_ extraction: Extraction, of kind: Kind) {
        self.init(extraction, of: kind, followsFirstNumber: false)
    }

    private init(_ extraction: Extraction, of kind: Kind, followsFirstNumber: Bool) {
        self.extraction = extraction
        self.kind = kind
        self.followsFirstNumber = followsFirstNumber
        if case .at(let pointer) = extraction.key { key = pointer } else { key = nil }
        value = extraction.value.pointer
        text = extraction.text.pointer
        time = extraction.time
        asked = (key != nil, value != nil, text != nil, time != nil)
        isLenient = extraction.number == .lenient
        states = extraction.states.map { Array($0.utf8) }
        listsBooleans = extraction.states.contains { $0 == "true" || $0 == "false" }
        var firsts: JSONSelection.Firsts = isLenient ? .lenient : []
        if extraction.value == .first { firsts.insert(.number) }
        if extraction.text == .first { firsts.insert(.string) }
        fields = JSONSelection([key, value, text, time], firsts: firsts)
        whole = extraction.items.map { JSONSelection([$0]) } ?? fields
    }

    // MARK: The first number

    /// Returns an extractor that reads the value at `pointer`, unless the value's pointer is fixed already.
    func fixingValue(at pointer: JSONPointer) -> Extractor {
        guard extraction.value == .first else { return self }
        var extraction = extraction
        extraction.value = .at(pointer)
        return Extractor(extraction, of: kind, followsFirstNumber: true)
    }

    /// The most numbers of a document that are tried.
    private static let mostCandidates = 8

    /// Finds the first number of an object or array that can be the value in all later ones too: not the key or the
    /// time, not the second value of a duplicate key, and at a pointer short enough for a line.
    @inline(never)
    private func findFirstNumber(in data: UnsafeBufferPointer<UInt8>) -> (pointer: JSONPointer, value: Double)? {
        for pointer in JSONPointer.numbers(in: data, isLenient: isLenient, atMost: Self.mostCandidates)
        where pointer != key && pointer != time && pointer.text.utf8.count <= SourceStatus.longestPointer {
            let fixed = fixingValue(at: pointer)
            let found = JSONSelection.Found()
            guard (try? fixed.fields.read(data, found)) != nil else { return nil }
            if let value = fixed.fields(of: data, found).value { return (pointer, value) }
        }
        return nil
    }

    /// Whether an event may lack a value: a line, when the pointer was fixed by the first number.
    var mayOmitValue: Bool { followsFirstNumber && kind == .lines }

    /// Returns the failure for the first of these events.
    func failure(of missing: MissingValues) -> Failure {
        guard let value else { preconditionFailure("a value that is missing where none was looked for") }
        let item = missing.position.map { "item \($0): " } ?? ""
        return Failure(.pointer, item + missing.fault.message(value, Self.numberName))
    }

    // MARK: Documents

    /// A parsed document and the selected parts of it.
    package struct Document: @unchecked Sendable {  // what was found never changes again
        package let json: JSONDocument
        fileprivate let found: JSONSelection.Found
        /// The fields of a document that is one event, found while it was read, as it may be long.
        fileprivate let fields: Fields?
    }

    /// Validates, minifies and searches a document in one pass.
    ///
    /// - Parameter mayHaveMark: whether a leading byte order mark is skipped, as RFC 8259 section 8.1 lets readers do.
    /// - Throws: the first fault.
    package func read(_ input: Bytes, mayHaveMark: Bool = true) throws(JSONFault) -> Document {
        let found = JSONSelection.Found()
        let start = mayHaveMark && input.starts(with: JSONText.byteOrderMark) ? JSONText.byteOrderMark.count : 0
        do throws(JSONFault) {
            let json = try JSONDocument(input.dropFirst(start), whole, found)
            let fields =
                extraction.items == nil ? json.minified.withUnsafeBufferPointer { self.fields(of: $0, found) } : nil
            return Document(json: json, found: found, fields: fields)
        } catch {
            throw JSONFault(offset: error.offset + start, reason: error.reason)
        }
    }

    // A document read on the loop: 512 KiB, a millisecond or two; a worker reads longer ones.
    static let longestOnLoop = 512 << 10

    /// Does the same, on `worker` if the document is longer than `longestOnLoop`.
    ///
    /// - Returns: nil when the task was cancelled meanwhile.
    func read(
        _ input: Bytes, mayHaveMark: Bool = true, on loop: EventLoop, or worker: (any Worker)?
    ) async throws(JSONFault) -> Document? {
        guard input.count > Self.longestOnLoop, let worker else {
            return try read(input, mayHaveMark: mayHaveMark)
        }
        // The work throws nothing: there is no other failure than a cancellation.
        let result = try? await loop.offload(to: worker) {
            Result { () throws(JSONFault) in try self.read(input, mayHaveMark: mayHaveMark) }
        }
        return try result?.get()
    }

    /// Adds a document's events to `batch`.
    ///
    /// A document that is one event must have every requested field, but its value may be a word that is none of the
    /// states. Of many items, one without its key is left out; one whose value or time is missing or of the wrong kind is
    /// still an event, without value or at the time of arrival; both are reported. A null value counts as no value and a missing text as no text; neither is reported.
    ///
    /// - Parameter now: the time of arrival.
    /// - Throws: `.pointer` when there is nothing usable where the items, or a field of the only event, should be.
    package func add(
        _ document: Document, from source: SourceID, at now: Timestamp, to batch: inout EventBatch
    ) throws(Failure) -> Outcome {
        if var reading = try begin(document, from: source, at: now) {
            while reading.read(atMost: .max, into: &batch) {}
            return reading.outcome
        }
        return try document.json.minified.withUnsafeBufferPointer { (data) throws(Failure) in
            let fields = document.fields ?? self.fields(of: data, document.found)
            let (missing, problem) = try check(fields.faults, in: data, document.found, suggests: kind == .documents)
            batch.add(
                time: fields.time ?? now, source: source, key: fields.key, value: fields.value, text: fields.text,
                data: data, flaws: document.found.flaws)
            if let word = fields.word { batch.setWord(word) }
            if let pointer = fields.valuePointer { batch.setValuePointer(pointer.text) }
            return Outcome(
                events: 1, items: 1, problem: problem, valuePointer: fields.valuePointer,
                missing: missing.map { MissingValues(count: 1, fault: $0) })
        }
    }

    /// Begins to read the items in slices, for documents with so many that they would block the loop.
    ///
    /// - Returns: nil when the document is one event.
    /// - Throws: `.pointer` when there are no items at their pointer.
    package func begin(
        _ document: Document, from source: SourceID, at now: Timestamp
    ) throws(Failure) -> ItemReading? {
        guard let pointer = extraction.items else { return nil }
        let items = try document.json.minified.withUnsafeBufferPointer { (data) throws(Failure) in
            guard let range = document.found[0] else {
                throw document.found.missing(pointer, at: 0, in: data, suggests: kind == .documents)
            }
            guard let items = JSONItems(of: data, at: range.lowerBound) else {
                let kind = JSONKind(firstByte: data[range.lowerBound])
                throw Failure(.pointer, "\(pointer.place) is \(kind) and neither an array nor an object")
            }
            return items
        }
        return ItemReading(self, of: document.json, items, from: source, now: now)
    }

    /// Checks the faults of a document that is one event.
    ///
    /// - Parameter suggests: see `JSONSelection.Found.missing`.
    /// - Returns: why the event has no value, if it may lack one; nil for a null value. And what is to be reported of it
    ///   although it is an event.
    /// - Throws: why the document is no event.
    func check(
        _ faults: Faults, in data: UnsafeBufferPointer<UInt8>, _ found: JSONSelection.Found, suggests: Bool
    ) throws(Failure) -> (missing: Fault?, problem: Failure?) {
        var faults = faults
        var missing: Fault?
        if mayOmitValue {
            missing = faults.value == .wrong(.null) ? nil : faults.value
            faults.value = nil
        }
        let problem = unknownWord(faults, in: data, found).map { Failure(.pointer, $0) }
        if problem != nil { faults.value = nil }
        guard faults.isEmpty else { throw failure(faults, in: data, found, suggests: suggests) }
        return (missing, problem)
    }

    /// Says which word is none of the states; nil when the value has no such fault.
    func unknownWord(
        _ faults: Faults, in data: UnsafeBufferPointer<UInt8>, _ found: JSONSelection.Found
    ) -> String? {
        guard faults.value == .unknownWord, let value, let range = found[1] else { return nil }
        let token = UnsafeBufferPointer(rebasing: data[range])
        let isString = token.first == UInt8(ascii: "\"")
        let word = JSONText.string(isString ? Self.body(token) : token, limit: Self.longestShown)
        let meant = extraction.states.first { $0.lowercased() == word.lowercased() }
        let hint = meant.map { "; did you mean '\(Sanitizer.visible($0))'?" } ?? ""
        return "\(value.place) is '\(Sanitizer.visible(word, limit: 64))', which is none of the states\(hint)"
    }

    /// How much of an unknown word is looked at, in bytes.
    private static let longestShown = 512

    /// Returns the first fault of a document that is no event.
    ///
    /// - Parameter suggests: see `JSONSelection.Found.missing`.
    private func failure(
        _ faults: Faults, in data: UnsafeBufferPointer<UInt8>, _ found: JSONSelection.Found, suggests: Bool
    ) -> Failure {
        func words(_ fault: Fault, _ pointer: JSONPointer, _ index: Int, _ expected: String) -> Failure {
            if fault == .missing { return found.missing(pointer, at: index, in: data, suggests: suggests) }
            return Failure(.pointer, fault.message(pointer, expected))
        }
        if let fault = faults.key, let key {
            guard case .wrong(let kind) = fault else { return words(fault, key, 0, "") }
            return Failure(.pointer, "\(key.place) is \(kind) and neither a string nor a number")
        }
        if let fault = faults.value, let value {
            guard fault == .outOfRange, let range = found[1] else { return words(fault, value, 1, Self.numberName) }
            return value.outOfRange(Bytes(UnsafeBufferPointer(rebasing: data[range])))
        }
        if let fault = faults.text, let text { return words(fault, text, 2, "a string") }
        guard let fault = faults.time, let time else {
            preconditionFailure("a fault in something that was not asked for")
        }
        return words(fault, time, 3, Self.timeName)
    }

    // MARK: Fields

    /// Returns what `body` makes of the value at pointer `index`.
    @inline(__always)
    private func read<Value>(
        _ index: Int, _ data: UnsafeBufferPointer<UInt8>, _ found: JSONSelection.Found, _ fault: inout Fault?,
        _ body: (Range<Int>, UnsafeBufferPointer<UInt8>) -> Result<Value, Fault>
    ) -> Value? {
        guard let range = found[index] else {
            fault = .missing
            return nil
        }
        switch body(range, UnsafeBufferPointer(rebasing: data[range])) {
        case .success(let value): return value
        case .failure(let reason):
            fault = reason
            return nil
        }
    }

    /// Returns an event's fields, given what the selection `fields` found in its data.
    func fields(of data: UnsafeBufferPointer<UInt8>, _ found: JSONSelection.Found) -> Fields {
        var fields = Fields()
        read(&fields, of: data, found)
        return fields
    }

    /// Reads them into `fields`, which are empty.
    func read(_ fields: inout Fields, of data: UnsafeBufferPointer<UInt8>, _ found: JSONSelection.Found) {
        if asked.key {
            fields.key = read(0, data, found, &fields.faults.key) { range, token in
                switch JSONKind(firstByte: token.first) {
                case .string: .success(range.lowerBound + 1..<range.upperBound - 1)
                case .number: .success(range)
                case let kind: .failure(.wrong(kind))
                }
            }
        }
        fields.value =
            !asked.value
            ? found.firstNumber
            : read(1, data, found, &fields.faults.value) { _, token in
                // A string is one of the states first.
                Self.number(token, isLenient: isLenient && states.isEmpty)
            }
        // The first number's place is for numbers.
        if fields.faults.value != nil, !followsFirstNumber { readWord(of: data, found, &fields) }
        if found.firstNumber != nil, [.object, .array].contains(JSONKind(firstByte: data.first)) {
            let first = findFirstNumber(in: data)
            fields.valuePointer = first?.pointer
            fields.value = first?.value
        }
        if mayOmitValue, fields.faults.value == .missing,
            case .success(let number) = Self.number(data, isLenient: isLenient)
        {
            // A bare number is the value of its line, wherever other lines have theirs.
            fields.value = number
            fields.faults.value = nil
        }
        fields.text =
            !asked.text
            ? found.firstString
            : read(2, data, found, &fields.faults.text) { range, token in
                switch JSONKind(firstByte: token.first) {
                case .string: .success(range.lowerBound + 1..<range.upperBound - 1)
                case .true, .false: .success(range)
                case let kind: .failure(.wrong(kind))
                }
            }
        if asked.time {
            fields.time = read(3, data, found, &fields.faults.time) { _, token in Self.time(token, isLenient: isLenient)
            }
        }
    }

    /// Reads a value that is no number: a word that is one of the states, or a boolean, which is 1 or 0 unless the states
    /// name one.
    @inline(never)
    private func readWord(
        of data: UnsafeBufferPointer<UInt8>, _ found: JSONSelection.Found, _ fields: inout Fields
    ) {
        guard let range = found[1] else { return }
        let token = UnsafeBufferPointer(rebasing: data[range])
        let kind = JSONKind(firstByte: token.first)
        var word = range
        switch kind {
        case .true, .false: break
        case .string where !states.isEmpty: word = range.lowerBound + 1..<range.upperBound - 1
        default: return
        }
        if kind != .string, !listsBooleans {
            fields.value = kind == .true ? 1 : 0
        } else if let state = state(UnsafeBufferPointer(rebasing: data[word])) {
            fields.value = Double(state)
        } else if isLenient, kind == .string, let number = JSONNumber.lenient(Self.body(token)) {
            (fields.value, fields.faults.value) = (number, nil)
            return
        } else {
            fields.faults.value = .unknownWord
            return
        }
        (fields.word, fields.faults.value) = (word, nil)
    }

    /// The index of a state, whose text may contain escapes.
    private func state(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard text.contains(UInt8(ascii: "\\")) else { return states.firstIndex { $0.elementsEqual(text) } }
        let text = JSONText.unescape(Bytes(text))
        return states.firstIndex { $0.elementsEqual(text) }
    }

    /// Returns a value as a number.
    private static func number(_ token: UnsafeBufferPointer<UInt8>, isLenient: Bool) -> Result<Double, Fault> {
        switch JSONKind(firstByte: token.first) {
        case .number: JSONNumber.double(token).map { .success($0) } ?? .failure(.outOfRange)
        case .string where isLenient: JSONNumber.lenient(body(token)).map { .success($0) } ?? .failure(.unreadable)
        case let kind: .failure(.wrong(kind))
        }
    }

    /// Returns a value as a time; see `Extraction.time`. Strings with numbers count if `isLenient`.
    private static func time(_ token: UnsafeBufferPointer<UInt8>, isLenient: Bool) -> Result<Timestamp, Fault> {
        switch JSONKind(firstByte: token.first) {
        case .number:
            return JSONNumber.double(token).flatMap(time(epoch:)).map { .success($0) } ?? .failure(.outOfRange)
        case .string:
            let body = body(token)
            if let time = time(text: body) { return .success(time) }
            guard isLenient, let number = JSONNumber.lenient(body) else { return .failure(.unreadable) }
            return time(epoch: number).map { .success($0) } ?? .failure(.outOfRange)
        case let kind: return .failure(.wrong(kind))
        }
    }

    /// Returns the part of a string between its quotes.
    private static func body(_ token: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: token.dropFirst().dropLast())
    }

    private static func time(text body: UnsafeBufferPointer<UInt8>) -> Timestamp? {
        guard body.contains(UInt8(ascii: "\\")) else { return RFC3339.parse(body) }
        return RFC3339.parse(JSONText.unescape(Bytes(body)))
    }

    /// Converts seconds since the Unix epoch, or milliseconds from 10^11 on (as seconds, that would be the year 5138).
    /// Nil outside of the years 0000 to 9999, the range of a line's times.
    private static func time(epoch number: Double) -> Timestamp? {
        let seconds = number >= 1e11 ? number / 1_000 : number
        guard -62_167_219_200 <= seconds, seconds < 253_402_300_800 else { return nil }
        // Whole seconds and the fraction are converted separately, to keep the microseconds exact.
        let whole = seconds.rounded(.down)
        let micros = ((seconds - whole) * 1_000_000).rounded()
        return Timestamp(microseconds: Int64(whole) * 1_000_000 + Int64(micros))
    }
}

extension Extraction.Place {
    fileprivate var pointer: JSONPointer? {
        if case .at(let pointer) = self { pointer } else { nil }
    }
}
