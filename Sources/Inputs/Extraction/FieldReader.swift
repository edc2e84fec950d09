internal import Feed
internal import Reactor

/// Reads what an `Extraction` asks for out of single items: made once, used for many.
struct FieldReader {
    /// What an item offers. Ranges are into the item; of a string it is what lies between its quotes.
    struct Fields {
        var key: Range<Int>?
        var value: Double?
        var text: Range<Int>?
        var time: Timestamp?
        /// What was asked for and is not as it should be.
        var faults = Faults()
    }

    struct Faults: Equatable {
        var key: Fault?
        /// Also for null, which is no value.
        var value: Fault?
        var text: Fault?
        var time: Fault?

        /// Whether everything that was asked for is there.
        var isEmpty: Bool { key == nil && value == nil && text == nil && time == nil }
    }

    /// Why something is not as it was asked for.
    enum Fault: Error, Equatable {
        case missing
        case wrong(JSONKind)
        /// A number that a double, or a date, cannot be.
        case outOfRange
        /// A string that is not what it should be.
        case unreadable

        /// One sentence: `"/aqi" is a string and not a number`.
        ///
        /// - Parameters:
        ///   - place: where it was looked for.
        ///   - expected: what should be there, with its article.
        func message(_ place: JSONPointer, _ expected: String) -> String {
            switch self {
            case .missing: "there is nothing at \(place.place)"
            case .wrong(let kind): "\(place.place) is \(kind) and not \(expected)"
            case .outOfRange: "\(place.place) is a number out of range"
            case .unreadable: "\(place.place) is a string that is not \(expected)"
            }
        }
    }

    private let selection: JSONSelection
    private let isLenient: Bool
    // The pointers' places in the selection; nil for what is not asked for, or not by a pointer.
    private let key: Int?
    private let value: Int?
    private let text: Int?
    private let time: Int?
    private let wantsFirstNumber: Bool
    private let wantsFirstString: Bool

    init(_ extraction: Extraction) {
        var pointers: [JSONPointer] = []
        func place(_ pointer: JSONPointer?) -> Int? {
            guard let pointer else { return nil }
            pointers.append(pointer)
            return pointers.count - 1
        }
        if case .at(let pointer) = extraction.key { key = place(pointer) } else { key = nil }
        value = place(extraction.value.pointer)
        text = place(extraction.text.pointer)
        time = place(extraction.time)
        wantsFirstNumber = extraction.value == .first
        wantsFirstString = extraction.text == .first
        isLenient = extraction.number == .lenient
        var firsts: JSONSelection.Firsts = []
        if wantsFirstNumber { firsts.insert(.number) }
        if wantsFirstString { firsts.insert(.string) }
        selection = JSONSelection(pointers, firsts: firsts, isLenient: isLenient)
    }

    /// What a valid, minified item offers.
    func read(_ item: UnsafeBufferPointer<UInt8>) -> Fields {
        var fields = Fields()
        let found = selection.find(in: item)
        if let key {
            if let range = found[key] {
                switch JSONKind(firstByte: item[range.lowerBound]) {
                case .string: fields.key = range.lowerBound + 1..<range.upperBound - 1
                case .number: fields.key = range
                case let kind: fields.faults.key = .wrong(kind)
                }
            } else {
                fields.faults.key = .missing
            }
        }
        if wantsFirstNumber {
            fields.value = found.firstNumber
        } else if let value {
            switch found[value].map({ Self.number(.init(rebasing: item[$0]), isLenient: isLenient) }) {
            case .success(let number): fields.value = number
            case .failure(let fault): fields.faults.value = fault
            case nil: fields.faults.value = .missing
            }
        }
        if wantsFirstString {
            fields.text = found.firstString
        } else if let text {
            if let range = found[text] {
                let kind = JSONKind(firstByte: item[range.lowerBound])
                if kind == .string {
                    fields.text = range.lowerBound + 1..<range.upperBound - 1
                } else {
                    fields.faults.text = .wrong(kind)
                }
            } else {
                fields.faults.text = .missing
            }
        }
        if let time {
            switch found[time].map({ Self.time(.init(rebasing: item[$0]), isLenient: isLenient) }) {
            case .success(let time): fields.time = time
            case .failure(let fault): fields.faults.time = fault
            case nil: fields.faults.time = .missing
            }
        }
        return fields
    }

    /// The number that a value is.
    static func number(_ token: UnsafeBufferPointer<UInt8>, isLenient: Bool) -> Result<Double, Fault> {
        switch JSONKind(firstByte: token.first) {
        case .number: JSONNumber.double(token).map { .success($0) } ?? .failure(.outOfRange)
        case .string where isLenient: JSONNumber.lenient(body(token)).map { .success($0) } ?? .failure(.unreadable)
        case let kind: .failure(.wrong(kind))
        }
    }

    /// The time that a value says; see `Extraction.time`. Where strings count as numbers they do here, too.
    static func time(_ token: UnsafeBufferPointer<UInt8>, isLenient: Bool) -> Result<Timestamp, Fault> {
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

    /// What lies between a string's quotes.
    private static func body(_ token: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: token.dropFirst().dropLast())
    }

    private static func time(text body: UnsafeBufferPointer<UInt8>) -> Timestamp? {
        guard body.contains(UInt8(ascii: "\\")) else { return RFC3339.parse(body) }
        return RFC3339.parse(JSONText.unescape(Bytes(body)))
    }

    /// Seconds since the Unix epoch, or milliseconds from 10^11 on, which as seconds would be the year 5138; nil outside
    /// of the years 0000 to 9999, which are all that a line can say.
    static func time(epoch number: Double) -> Timestamp? {
        let seconds = number >= 1e11 ? number / 1_000 : number
        guard -62_167_219_200 <= seconds, seconds < 253_402_300_800 else { return nil }
        // Whole seconds and the rest apart, so that microseconds stay what they were written as.
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
