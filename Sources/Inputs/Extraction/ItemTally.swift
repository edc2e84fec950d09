internal import Feed

/// Summarizes what was wrong with a document's items.
struct ItemTally {
    private var items = 0
    /// The number of faulty items.
    private var faulty = 0
    private(set) var withoutKey = 0
    private var withoutValue = 0
    private var withoutTime = 0
    private var first: (position: Int, faults: Extractor.Faults, unknownWord: String?)?
    /// The items that lack a value and may.
    private(set) var missing: Extractor.MissingValues?

    /// - Parameters:
    ///   - mayOmitValue: see `Extractor`.
    ///   - unknownWord: says which word is none of the states; evaluated for the first faulty item only.
    mutating func add(
        _ faults: Extractor.Faults, at position: Int, mayOmitValue: Bool,
        unknownWord: @autoclosure () -> String? = nil
    ) {
        items += 1
        var faults = faults
        if mayOmitValue {
            if let fault = faults.value, fault != .wrong(.null), faults.key == nil {
                missing = missing ?? Extractor.MissingValues(count: 0, fault: fault, position: position)
                missing?.count += 1
            }
            faults.value = nil
        }
        let isWithoutValue = faults.value != nil && faults.value != .wrong(.null)
        guard faults.key != nil || isWithoutValue || faults.time != nil else { return }
        faulty += 1
        if faults.key != nil {
            withoutKey += 1
        } else {
            if isWithoutValue { withoutValue += 1 }
            if faults.time != nil { withoutTime += 1 }
        }
        if first == nil { first = (position, faults, faults.key == nil ? unknownWord() : nil) }
    }

    /// One sentence about all faults; nil when there were none.
    func problem(for extraction: Extraction) -> Failure? {
        guard let first else { return nil }
        var parts: [String] = []
        if withoutKey > 0 { parts.append("\(withoutKey) left out for want of a key") }
        if withoutValue > 0 { parts.append("\(withoutValue) without value") }
        if withoutTime > 0 { parts.append("\(withoutTime) at the time of arrival") }
        let those = "\(faulty) of \(items) items \(faulty == 1 ? "is" : "are") not as asked for"
        let detail = first.unknownWord ?? Self.detail(first.faults, extraction)
        return Failure(
            .pointer, "\(those) (\(parts.joined(separator: ", "))); first, item \(first.position): \(detail)")
    }

    /// Returns what is wrong with one item.
    private static func detail(_ faults: Extractor.Faults, _ extraction: Extraction) -> String {
        if let fault = faults.key, case .at(let pointer) = extraction.key {
            return fault.message(pointer, "a string or number")
        }
        if let fault = faults.value, fault != .wrong(.null), case .at(let pointer) = extraction.value {
            return fault.message(pointer, Extractor.numberName)
        }
        if let fault = faults.time, let pointer = extraction.time { return fault.message(pointer, Extractor.timeName) }
        return ""
    }
}
