internal import Reactor

extension Datum {
    /// What a data line of another agent's says, whose series is its source's.
    ///
    /// - Parameter flaws: of the line.
    init(_ said: Line.Data, of source: String, _ flaws: JSONFlaws) {
        var own = flaws.intersection(.surrogate)
        if said.altered { own.insert(.surrogate) }
        var data: Bytes?
        if let bytes = said.data {
            // It was valid as a part of its line, which allows for white space.
            data = (try? JSONMinifier.minify(bytes))?[...]
            if !flaws.isEmpty { own.formUnion(Self.flaws(of: bytes)) }
        }
        self.init(
            key: FleetMember.key(of: said.series, in: source).map { Bytes($0.utf8) }, value: said.value,
            text: said.text.map { Bytes($0.utf8) }, data: data, flaws: own)
    }

    private static func flaws(of data: Bytes) -> JSONFlaws {
        data.withUnsafeBufferPointer { bytes in
            // The line is a level itself.
            var scanner = JSONScanner(bytes, levelLimit: LineEncoder.mostLevels - 1)
            guard (try? scanner.begin()) != nil, (try? scanner.value()) != nil else { return [] }
            return scanner.flaws
        }
    }
}
