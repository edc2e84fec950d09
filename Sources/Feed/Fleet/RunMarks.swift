/// Up to which number an agent's lines have been taken, in each of its last runs: what comes again is known by that.
package struct RunMarks: Sendable, Equatable {
    /// Of how many runs it is known, besides those that a journal had.
    package static let most = 8

    /// The run that spoke last is the last one.
    package private(set) var places: [LineID] = []
    /// What a journal had stays: a stream that is read again from its beginning has older runs in front of these.
    private let kept: Set<String>

    package init(_ places: [LineID] = []) {
        self.places = places.suffix(Self.most)
        kept = Set(self.places.map(\.run))
    }

    /// The number of the last line of a run that was taken; nil when nothing is known of that run.
    package subscript(run: String) -> Int? { places.last { $0.run == run }?.sequence }

    /// Takes note of a line, which may begin a run, or may have been here already.
    package mutating func advance(to place: LineID) {
        guard let index = places.lastIndex(where: { $0.run == place.run }) else {
            if places.count == kept.count + Self.most, let oldest = places.firstIndex(where: { !kept.contains($0.run) })
            {
                places.remove(at: oldest)
            }
            return places.append(place)
        }
        places[index].sequence = max(places[index].sequence, place.sequence)
        if index != places.count - 1 { places.append(places.remove(at: index)) }
    }
}
