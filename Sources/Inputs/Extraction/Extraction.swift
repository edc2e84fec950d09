package import Feed

/// Where a source's documents have their events, and where events have their fields.
package struct Extraction: Sendable, Equatable {
    /// Where a field is in an item.
    package enum Place: Sendable, Equatable {
        /// The first one there is, in the document's order. For numbers the first document with one fixes the place.
        case first
        case at(JSONPointer)
        /// The field is not read.
        case nowhere
    }

    /// The name of an item's series within the source.
    package enum Key: Sendable, Equatable {
        /// The string or number there.
        case at(JSONPointer)
        /// An element's position, from 1, or a member's name.
        case position
    }

    /// Which values count as numbers.
    package enum NumberRule: String, Sendable, CaseIterable {
        /// JSON's numbers.
        case strict
        /// Also strings that contain a number.
        case lenient
    }

    /// The array or object whose elements or members are one event each; nil when the document is one event.
    package var items: JSONPointer?
    /// Nil for the source's own series or, when the items are members of an object, for their names.
    package var key: Key?
    /// The items to take; nil for all. Only items that have keys can be chosen.
    package var only: ItemChoice?
    package var value: Place
    /// The words that strings at `value` may be, from good to bad; a word's value is its index. With a pointer only.
    package var states: [String]
    package var text: Place
    /// RFC 3339, or seconds since the Unix epoch (milliseconds from 10^11 on); nil for the time of arrival.
    package var time: JSONPointer?
    package var number: NumberRule

    package init(
        items: JSONPointer? = nil, key: Key? = nil, value: Place = .first, states: [String] = [], text: Place = .first,
        time: JSONPointer? = nil, number: NumberRule = .strict
    ) {
        self.items = items
        self.key = key
        self.value = value
        self.states = states
        self.text = text
        self.time = time
        self.number = number
    }
}
