internal import Feed
internal import Inputs
internal import Reactor

/// Many events of a document, all at once and in slices, which must come to the same.
enum ItemsTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let items = choice & 8 == 0 ? JSONPointer.root : (try? JSONPointer("/d")) ?? .root
        let extraction = FuzzExtraction.make(choice, items: items)
        let extractor = Extractor(extraction, of: .lines)
        guard let document = try? extractor.read(input) else { return }
        let now = Timestamp(seconds: 1_800_000_000)
        var whole = EventBatch()
        let outcome = try? extractor.add(document, from: SourceID(index: 0), at: now, to: &whole)
        var slices = EventBatch()
        guard var reading = try? extractor.begin(document, from: SourceID(index: 0), at: now) else {
            precondition(outcome == nil, "items that cannot be begun cannot be read")
            return
        }
        while reading.read(atMost: 1 + choice % 3, into: &slices) {}
        precondition(reading.outcome == outcome, "slices come to something else")
        precondition(FuzzLines.lines(of: whole) == FuzzLines.lines(of: slices), "slices read different events")
    }
}
