/// The last sequence number received in each of an agent's latest runs, by which repeated lines are recognised.
package struct RunMarks: Sendable, Equatable {
    // Bound: known runs of an agent of a fleet | 8 | oldest forgotten
    /// The number of runs remembered.
    package static let most = 8

    /// The run with the newest line is last.
    package private(set) var places: [LineID] = []

    package init(_ places: [LineID] = []) { self.places = places.suffix(Self.most) }

    /// The sequence number of the last line received of a run; nil for an unknown run.
    package subscript(run: String) -> Int? { places.last { $0.run == run }?.sequence }

    /// Records a line, which may start a run, or may be a repeated one.
    package mutating func advance(to place: LineID) {
        guard let index = places.lastIndex(where: { $0.run == place.run }) else {
            if places.count == Self.most { places.removeFirst() }
            return places.append(place)
        }
        places[index].sequence = max(places[index].sequence, place.sequence)
        if index != places.count - 1 { places.append(places.remove(at: index)) }
    }

    /// Records that lines up to this one are missing. That is said later than their run was heard, so the order stays.
    package mutating func raise(to place: LineID) {
        guard let index = places.lastIndex(where: { $0.run == place.run }) else { return advance(to: place) }
        places[index].sequence = max(places[index].sequence, place.sequence)
    }
}
