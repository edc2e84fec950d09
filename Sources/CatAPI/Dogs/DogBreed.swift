/// A breed of dogs, with the fields of the dog API.
package struct DogBreed: Sendable, Hashable {
    package let name: String
    /// Empty when unknown, as in the real API.
    package let bredFor: String
    package let group: String
    /// `12 - 15 years`
    package let lifeSpan: String
    package let temperament: String
    package let origin: String
    /// Kilograms.
    package let weight: ClosedRange<Int>
    /// Centimetres at the shoulder.
    package let height: ClosedRange<Int>

    init(
        _ name: String, _ bredFor: String, _ group: String, _ lifeSpan: ClosedRange<Int>, _ temperament: String,
        _ origin: String, kg weight: ClosedRange<Int>, cm height: ClosedRange<Int>
    ) {
        self.name = name
        self.bredFor = bredFor
        self.group = group
        self.lifeSpan = "\(lifeSpan.lowerBound) - \(lifeSpan.upperBound) years"
        self.temperament = temperament
        self.origin = origin
        self.weight = weight
        self.height = height
    }

    /// The name in lower case, with hyphens for other characters, for a URL.
    var slug: String {
        let letters = name.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
        return String(letters)
    }

    /// - Parameter number: the breed's position in the list, from 1.
    func write(number: Int, to json: inout PHPStyleJSON) {
        json.raw(#"{"weight":{"imperial":"#)
        json.string(Self.text(weight, times: 2.204_62))
        json.raw(#","metric":"#)
        json.string(Self.text(weight, times: 1))
        json.raw(#"},"height":{"imperial":"#)
        json.string(Self.text(height, times: 1 / 2.54))
        json.raw(#","metric":"#)
        json.string(Self.text(height, times: 1))
        json.raw(#"},"id":"#)
        json.integer(number)
        json.raw(#","name":"#)
        json.string(name)
        if !bredFor.isEmpty {  // the real API leaves out what it does not know
            json.raw(#","bred_for":"#)
            json.string(bredFor)
        }
        json.raw(#","breed_group":"#)
        json.string(group)
        json.raw(#","life_span":"#)
        json.string(lifeSpan)
        if !temperament.isEmpty {
            json.raw(#","temperament":"#)
            json.string(temperament)
        }
        json.raw(#","origin":"#)
        json.string(origin)
        json.raw(#","reference_image_id":"#)
        json.string("\(slug)-1")
        json.raw("}")
    }

    private static func text(_ range: ClosedRange<Int>, times factor: Double) -> String {
        "\(Int((Double(range.lowerBound) * factor).rounded())) - \(Int((Double(range.upperBound) * factor).rounded()))"
    }
}
