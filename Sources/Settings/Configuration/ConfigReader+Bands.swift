internal import Feed

/// Reads scales of bands.
extension ConfigReader {
    private typealias Key = ConfigScale.Key

    /// The keys of a scale and of a band, for the documentation: name and help text.
    static let scaleKeys: [(name: String, help: String)] = [
        (Key.unit, "What the values are measured in, for sources that name no unit of their own."),
        (Key.higherIsBetter, "Whether a higher band is an improvement; false without it."),
        (Key.bands, "1 to 32 bands, ascending; the last one has no end."),
    ]
    static let bandKeys: [(name: String, help: String)] = [
        (Key.name, "What it is called; unique in the scale."),
        (Key.letter, "One character that stands for it where there is no colour."),
        (Key.color, "`#RRGGBB`."),
        (Key.end, "The highest value in it; every band but the last has one."),
    ]

    /// The most bands of a scale.
    static let mostBands = 32

    mutating func scaleOrName(_ node: ConfigNode, _ path: String) -> ScaleReference? {
        if case .string = node.value { return string(node, path, limit: 64).map(ScaleReference.named) }
        return scale(node, path).map(ScaleReference.own)
    }

    mutating func scale(_ node: ConfigNode, _ path: String) -> ConfigScale? {
        guard case .object = node.value else {
            wrong(node, path, "the name of a scale or a scale")
            return nil
        }
        guard let members = members(node, path, known: Self.scaleKeys.map(\.name)) else { return nil }
        var unit: String?
        var higherIsBetter = false
        var bands: [Band]?
        for (member, path) in members {
            switch member.name {
            case Key.unit: unit = string(member.value, path, limit: 32)
            case Key.higherIsBetter: higherIsBetter = boolean(member.value, path) ?? false
            default: bands = self.bands(member.value, path)
            }
        }
        guard members.contains(where: { $0.member.name == Key.bands }) else {
            issues.add(node.offset, path, "needs bands")
            return nil
        }
        guard let bands else { return nil }
        guard let scale = BandScale(bands, higherIsBetter: higherIsBetter) else {
            issues.add(node.offset, path, "its bands do not cover every number")  // `bands` reports every reason
            return nil
        }
        return ConfigScale(scale: scale, unit: unit)
    }

    /// Returns nil and adds issues when an element is not a band or the bands do not ascend.
    private mutating func bands(_ node: ConfigNode, _ path: String) -> [Band]? {
        guard let elements = elements(node, path, atMost: Self.mostBands) else { return nil }
        let before = issues.count
        if elements.isEmpty { issues.add(node.offset, path, "is empty; a scale has a band at least") }
        var bands: [Band] = []
        var names: Set<String> = []
        var highest = -Double.infinity
        for (index, (element, path)) in elements.enumerated() {
            guard let band = band(element, path) else { continue }
            if !names.insert(band.name).inserted {
                issues.add(element.offset, path, "there is a band \(UsageError.quoted(band.name)) already")
            }
            switch (band.upTo, index == elements.count - 1) {
            case (let end?, false) where end <= highest:
                issues.add(element.offset, Self.path(path, Key.end), "is not above the band before it")
            case (let end?, false): highest = end
            case (nil, false): issues.add(element.offset, path, "needs up_to: only the last band has no end")
            case (_?, true):
                issues.add(element.offset, Self.path(path, Key.end), "the last band has no end; leave it out")
            case (nil, true): break
            }
            bands.append(band)
        }
        return issues.count == before ? bands : nil
    }

    private mutating func band(_ node: ConfigNode, _ path: String) -> Band? {
        guard let members = members(node, path, known: Self.bandKeys.map(\.name)) else { return nil }
        var name: String?
        var letter: Character?
        var color: Band.Color?
        var upTo: Double?
        for (member, path) in members {
            switch member.name {
            case Key.name: name = string(member.value, path, limit: 32)
            case Key.letter: letter = character(member.value, path)
            case Key.color:
                guard let text = string(member.value, path) else { continue }
                color = Band.Color(hex: text)
                if color == nil {
                    issues.add(
                        member.value.offset, path, "\(UsageError.quoted(text)) is no colour; write it like #00b050")
                }
            default:
                guard case .number(let text) = member.value.value else {
                    wrong(member.value, path, "a number")
                    continue
                }
                if let number = Double(text), number.isFinite {
                    upTo = number
                } else {
                    issues.add(member.value.offset, path, "is no number that can be told from others")
                }
            }
        }
        let given = Set(members.map(\.member.name))
        for key in [Key.name, Key.letter, Key.color] where !given.contains(key) {
            issues.add(node.offset, path, "needs \(key)")
        }
        guard let name, let letter, let color, (upTo != nil) == given.contains(Key.end) else { return nil }
        return Band(name: name, letter: letter, color: color, upTo: upTo)
    }

    private mutating func character(_ node: ConfigNode, _ path: String) -> Character? {
        guard let text = string(node, path) else { return nil }
        guard text.unicodeScalars.count == 1, let letter = text.first, let scalar = text.unicodeScalars.first,
            !Sanitizer.isHidden(scalar), !letter.isWhitespace
        else {
            issues.add(node.offset, path, "\(UsageError.quoted(text)) is not one visible character")
            return nil
        }
        return letter
    }
}
