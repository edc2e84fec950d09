import Feed
import TestSupport
import Testing

@Suite(.limited) struct BandScaleTests {
    private static func band(_ end: Double?, name: String = "b", letter: Character = "B") -> Band {
        Band(name: name, letter: letter, color: .init(red: 1, green: 2, blue: 3), upTo: end)
    }

    @Test func agreesWithALookAtEveryBand() {
        var random = SeededGenerator(seed: 71)
        for _ in 0..<500 {
            var ends = Set<Double>()
            for _ in 0..<random.next() % 12 { ends.insert(Double(random.next() % 40) / 4 - 5) }
            let sorted = ends.sorted()
            let scale = BandScale(sorted.map { Self.band($0) } + [Self.band(nil)], higherIsBetter: true)
            for _ in 0..<50 {
                let value = Double(random.next() % 60) / 4 - 7
                #expect(scale?.index(of: value) == sorted.count { value > $0 }, "seed \(random.seed)")
            }
            #expect(scale?.index(of: .greatestFiniteMagnitude) == sorted.count)
            #expect(scale?.index(of: -.greatestFiniteMagnitude) == 0)
        }
    }

    @Test(
        arguments: [
            [], [1], [nil, nil], [nil, 1, nil], [1, 1, nil], [2, 1, nil], [.nan, nil], [.infinity, nil],
            [-.infinity, nil],
            [1, 2, 3], [0, -0.0, nil],
        ] as [[Double?]])
    func refusesEndsThatMakeNoSense(ends: [Double?]) {
        #expect(BandScale(ends.map { Self.band($0) }, higherIsBetter: false) == nil)
    }

    @Test func takesAsManyAsThereMayBe() {
        let bands = (0..<63).map { Self.band(Double($0)) } + [Self.band(nil)]
        #expect(BandScale(bands, higherIsBetter: false)?.bands == bands)
        #expect(BandScale([Self.band(-1)] + bands, higherIsBetter: false) == nil)
    }

    @Test(
        arguments: [
            ("", "B", false), ("b", "B", true), (String(repeating: "é", count: 32), "B", true),
            (String(repeating: "é", count: 33), "B", false), ("b", "🐈", true),
            ("b", Character("e" + String(repeating: "\u{301}", count: 7)), true),
            ("b", Character("e" + String(repeating: "\u{301}", count: 8)), false),
        ] as [(String, Character, Bool)])
    func boundsNamesAndLetters(name: String, letter: Character, isGood: Bool) {
        let scale = BandScale([Self.band(nil, name: name, letter: letter)], higherIsBetter: true)
        #expect((scale != nil) == isGood)
    }

    @Test(
        arguments: [
            ("#000000", "#000000"), ("#FFffFF", "#ffffff"), ("#0a0B0c", "#0a0b0c"), ("#12345", nil), ("#1234567", nil),
            ("123456", nil), ("#12345g", nil), ("#+12345", nil), ("", nil), ("#", nil), ("#12345é", nil), ("red", nil),
        ] as [(String, String?)])
    func readsColours(hex: String, expected: String?) {
        #expect(Band.Color(hex: hex)?.hex == expected)
    }

    /// Tests/Vectors/bands/scale.json: values and the places of their bands.
    @Test func bandsAreThoseOfTheVector() throws {
        for vector in try VectorFiles.elements("scales", of: "scale.json", in: "bands") {
            let bands = (vector["ends"]?.elements ?? []).map { end in
                Band(name: "n", letter: "l", color: Band.Color(red: 0, green: 0, blue: 0), upTo: end.number)
            }
            let scale = try #require(BandScale(bands, higherIsBetter: false))
            for parts in (vector["values"]?.elements ?? []).map(\.elements) {
                #expect(scale.index(of: parts[0].number ?? .nan) == Int(parts[1].number ?? -1), "\(parts[0].text)")
            }
        }
    }
}
