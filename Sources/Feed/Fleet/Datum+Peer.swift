internal import Reactor

extension Datum {
    /// Converts a data line of another agent, whose series belongs to its source.
    ///
    /// - Parameter flaws: the line's flaws.
    init(_ said: Line.Data, of source: String, _ flaws: JSONFlaws) {
        var own = flaws.intersection(.surrogate)
        if said.altered { own.insert(.surrogate) }
        var data: Bytes?
        if let bytes = said.data {
            // It was validated as a part of its line, which may contain white space.
            data = (try? JSONMinifier.minify(bytes))?[...]
            if !flaws.isEmpty { own.formUnion(Self.flaws(of: bytes)) }
        }
        self.init(
            key: FleetMember.key(of: said.series, in: source).map { Bytes($0.utf8) }, value: said.value,
            text: said.text.map { Bytes($0.utf8) }, data: data, flaws: own)
    }

    private static func flaws(of data: Bytes) -> JSONFlaws {
        data.withUnsafeBufferPointer { bytes in
            // The line itself is one level.
            var scanner = JSONScanner(bytes, levelLimit: LineEncoder.mostLevels - 1)
            guard (try? scanner.begin()) != nil, (try? scanner.value()) != nil else { return [] }
            return scanner.flaws
        }
    }
}
