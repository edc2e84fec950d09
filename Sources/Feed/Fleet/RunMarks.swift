/// Up to which number an agent's lines have been taken, in each of its last runs: what comes again is known by that.
package struct RunMarks: Sendable, Equatable {
    /// Of how many runs it is known.
    package static let most = 8

    /// The newest run last.
    package private(set) var places: [FeedPlace] = []

    package init(_ places: [FeedPlace] = []) { self.places = places.suffix(Self.most) }

    /// The number of the last line of a run that was taken; nil when nothing is known of that run.
    package subscript(run: String) -> Int? { places.last { $0.run == run }?.sequence }

    /// Takes note of a line, which may begin a run.
    package mutating func advance(to place: FeedPlace) {
        if let index = places.lastIndex(where: { $0.run == place.run }) {
            places[index].sequence = max(places[index].sequence, place.sequence)
            return
        }
        if places.count == Self.most { places.removeFirst() }
        places.append(place)
    }
}
