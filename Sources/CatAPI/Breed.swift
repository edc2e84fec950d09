/// A breed of cat, as in `/breeds`.
package struct Breed: Sendable, Hashable {
    package let name: String
    package let country: String
    package let origin: String
    package let coat: String
    package let pattern: String

    init(_ name: String, _ country: String, _ origin: String, _ coat: String, _ pattern: String) {
        self.name = name
        self.country = country
        self.origin = origin
        self.coat = coat
        self.pattern = pattern
    }
}
