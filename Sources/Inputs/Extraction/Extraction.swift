package import Feed

/// Where in a source's documents its events are.
package struct Extraction: Sendable, Equatable {
    /// Where something is in an item.
    package enum Place: Sendable, Equatable {
        /// The first one there is, in the document's order. For numbers the first document with one fixes the place.
        case first
        case at(JSONPointer)
        /// Not wanted.
        case nowhere
    }

    /// What names an item's series within the source.
    package enum Key: Sendable, Equatable {
        /// The string or number there.
        case at(JSONPointer)
        /// An element's position, from 1, or a member's name.
        case position
    }

    /// What counts as a number.
    package enum NumberRule: String, Sendable, CaseIterable {
        /// JSON's numbers.
        case strict
        /// Strings that hold one, too.
        case lenient
    }

    /// The array or object whose elements or members are an event each; nil when the document is one event.
    package var items: JSONPointer?
    /// Nil for the source's own series, or for the members' names when the items are an object's.
    package var key: Key?
    package var value: Place
    package var text: Place
    /// RFC 3339, or seconds since the Unix epoch (milliseconds from 10^11 on); nil for the time of arrival.
    package var time: JSONPointer?
    package var number: NumberRule

    package init(
        items: JSONPointer? = nil, key: Key? = nil, value: Place = .first, text: Place = .first,
        time: JSONPointer? = nil, number: NumberRule = .strict
    ) {
        self.items = items
        self.key = key
        self.value = value
        self.text = text
        self.time = time
        self.number = number
    }
}
