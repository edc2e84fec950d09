import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct SeriesTableTests {
    private struct Name: Hashable {
        var source: Int
        var key: [UInt8]?
    }

    private func bytes(_ text: String) -> Bytes { Bytes(Array(text.utf8)) }

    private func find(_ source: Int, _ key: Bytes?, in table: SeriesTable) -> Int? {
        let source = SourceID(index: source)
        guard let key else { return table.find(source: source, keyBytes: nil) }
        return key.withUnsafeBytes { table.find(source: source, keyBytes: $0) }
    }

    @Test(arguments: [0, 1, 7, 100, 3_000], [UInt64(1), 2])
    func agreesWithADictionary(limit: Int, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = SeriesTable(limit: limit, seed: (random.next(), random.next()))
        var twin: [Name: Int] = [:]
        var refused = 0
        for _ in 0..<LongRun.rounds(short: 8_000, long: 400_000) {
            let name = Name(source: Int(random.next() % 5), key: key(&random))
            // A slice out of something longer, as keys come out of a document.
            let slice = name.key.map { ([1, 2, 3] + $0 + [4])[3..<3 + $0.count] }
            var expected = twin[name]
            #expect(find(name.source, slice, in: table) == expected, "seed \(seed)")
            if expected == nil, twin.count < limit, (name.key?.count ?? 0) <= SeriesTable.longestKey {
                expected = twin.count
                twin[name] = expected
            }
            if expected == nil { refused += 1 }
            let found = table.index(source: SourceID(index: name.source), key: slice)
            #expect(found == expected, "seed \(seed), \(name)")
            if found != expected { return }
        }
        #expect(table.count == twin.count && table.refused == refused, "seed \(seed)")
        for (name, index) in twin {
            #expect(table.key(of: index).map(Array.init) == name.key, "seed \(seed)")
        }
    }

    private func key(_ random: inout SeededGenerator) -> [UInt8]? {
        switch random.next() % 16 {
        case 0: return nil
        case 1:
            return (0..<Int(random.next() % 1_026)).map { _ in 7 }
        case 2...8:
            return Array("city-\(random.next() % 1_500)".utf8)
        default:
            return (0..<Int(random.next() % 40)).map { _ in UInt8(random.next() % 2) }
        }
    }

    /// Numbers of what was removed are given again, and nobody else's change.
    @Test(arguments: [7, 300, 3_000], [UInt64(3), 4])
    func agreesWithADictionaryWhenSourcesGo(limit: Int, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = SeriesTable(limit: limit, seed: (random.next(), random.next()))
        var twin: [Name: Int] = [:]
        var most = 0
        for round in 0..<LongRun.rounds(short: 6_000, long: 200_000) {
            let name = Name(source: Int(random.next() % 5), key: key(&random))
            let found = table.index(source: SourceID(index: name.source), key: name.key.map { $0[...] })
            if let known = twin[name] {
                #expect(found == known, "seed \(seed), round \(round)")
            } else if let found {
                #expect(found < limit && !twin.values.contains(found), "seed \(seed), round \(round)")
                #expect(table.key(of: found).map(Array.init) == name.key)
                twin[name] = found
            } else {
                #expect(twin.count == limit || (name.key?.count ?? 0) > SeriesTable.longestKey, "seed \(seed)")
            }
            most = max(most, twin.count)
            guard random.next() % 700 == 0 else { continue }
            let gone = Int(random.next() % 5)
            table.remove { $0.index == gone }
            twin = twin.filter { $0.key.source != gone }
            #expect(table.count == twin.count)
            for (name, index) in twin {
                let found = find(name.source, name.key.map { $0[...] }, in: table)
                #expect(found == index, "seed \(seed), round \(round)")
                #expect(table.key(of: index).map(Array.init) == name.key)
            }
        }
        #expect(twin.values.allSatisfy { $0 < most }, "seed \(seed): numbers are not dense")
    }

    @Test func distinguishesNoKeyFromAnEmptyOne() {
        var table = SeriesTable()
        #expect(table.index(source: SourceID(index: 3), key: nil) == 0)
        #expect(table.index(source: SourceID(index: 3), key: []) == 1)
        #expect(table.index(source: SourceID(index: 3), key: nil) == 0)
        #expect(table.key(of: 0) == nil && table.key(of: 1) == [])
    }

    @Test func refusesKeysThatAreTooLong() {
        var table = SeriesTable()
        let longest = Bytes(repeating: 0x61, count: SeriesTable.longestKey)
        #expect(table.index(source: SourceID(index: 0), key: longest) == 0)
        #expect(table.index(source: SourceID(index: 0), key: longest + [0x61]) == nil)
        #expect(table.refused == 1 && table.count == 1)
    }

    @Test func stopsAtItsLimitAndCountsEveryRefusedLookup() {
        var table = SeriesTable()
        for number in 0..<10_000 {
            #expect(table.index(source: SourceID(index: 0), key: bytes("\(number)")) == number)
        }
        #expect(table.index(source: SourceID(index: 0), key: bytes("one more")) == nil)
        #expect(table.index(source: SourceID(index: 1_000_000), key: nil) == nil)
        #expect(table.refused == 2 && table.count == 10_000)
        #expect(table.index(source: SourceID(index: 0), key: bytes("77")) == 77)
        #expect(table.refused == 2)
    }

    @Test func findsEveryOneOfManyKeysThatDifferInOneBit() {
        for length in [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64] {
            var table = SeriesTable()
            for bit in 0..<length * 8 {
                var key = [UInt8](repeating: 0, count: length)
                key[bit / 8] = 1 << (bit % 8)
                #expect(table.index(source: SourceID(index: 0), key: key[...]) == bit)
            }
        }
    }
}
