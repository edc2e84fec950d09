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
        guard let key else { return table.find(source, .data, key: nil) }
        return key.withUnsafeBytes { table.find(source, .data, key: $0) }
    }

    /// The index of a series, which is added if it is new.
    private func index(_ source: Int, _ key: Bytes?, in table: inout SeriesTable) -> Int? {
        if let index = find(source, key, in: table) { return index }
        let (source, ring) = (SourceID(index: source), WindowRing(width: .seconds(1)))
        guard let key else { return table.add(source, .data, key: nil, ring: ring) }
        return key.withUnsafeBytes { table.add(source, .data, key: $0, ring: ring) }
    }

    @Test(arguments: [0, 1, 7, 100, 3_000], [UInt64(1), 2])
    func agreesWithADictionary(limit: Int, seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = SeriesTable(limit: limit, seed: (random.next(), random.next()))
        var twin: [Name: Int] = [:]
        var refused = 0
        for _ in 0..<LongRun.rounds(short: 3_000, long: 400_000) {
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
            let found = index(name.source, slice, in: &table)
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
        for round in 0..<LongRun.rounds(short: 2_500, long: 200_000) {
            let name = Name(source: Int(random.next() % 5), key: key(&random))
            let found = index(name.source, name.key.map { $0[...] }, in: &table)
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
            table.remove(table.indices.filter { table[$0].source == gone })
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

    @Test func eachKindOfASourceHasItsOwnSeries() {
        var table = SeriesTable()
        for (index, kind) in [SeriesKind.memory, .data, .latency].enumerated() {
            #expect(table.find(SourceID(index: 1), kind, key: nil) == nil)
            #expect(table.add(SourceID(index: 1), kind, key: nil, ring: WindowRing(width: .seconds(1))) == index)
            #expect(table.find(SourceID(index: 1), kind, key: nil) == index)
        }
        table.remove(table.indices.filter { table[$0].source == 1 })
        #expect(table.count == 0 && table.find(SourceID(index: 1), .memory, key: nil) == nil)
    }

    /// A key's series with values and the one without are gone together, and there again together.
    @Test func bothSeriesOfAKeyAreGoneOrNone() throws {
        var table = SeriesTable()
        let (source, ring) = (SourceID(index: 0), WindowRing(width: .seconds(1)))
        let added = bytes("a").withUnsafeBytes { key in
            [SeriesKind.data, .text].compactMap { table.add(source, $0, key: key, ring: ring) }
        }
        let (data, text) = (added[0], added[1])
        func areGone() -> [Bool] { [data, text].map { table.isGone($0) } }
        table.mark(data, 5)
        #expect(table.markGone(of: source, before: 5, by: 6) == [] && areGone() == [false, false])
        #expect(table.markGone(of: source, before: 6, by: 7).count == 1 && areGone() == [true, true])
        #expect(table.markGone(of: source, before: 8, by: 9) == [])
        table.recall(text, sequence: 10)
        #expect(areGone() == [false, false])
        // Only one of them is known to an agent that another one tells of it.
        table.mark(text, 0)
        table.mark(data, -11)
        #expect(areGone() == [true, true])
    }

    @Test func textsThatAreRemovedAreOfNobodysShare() {
        var table = SeriesTable()
        for owner in [-1, 3, 3, 4] as [Int32] {
            let key = bytes("\(table.count)")
            key.withUnsafeBytes {
                _ = table.add(
                    SourceID(index: 0), .text, key: $0, owner: owner, ring: WindowRing(width: .seconds(1)))
            }
        }
        #expect([-1, 3, 4].map { table.texts(of: $0) } == [1, 2, 1] && table.mostTexts(preferring: -1) == 3)
        table.remove([1, 2])
        #expect([-1, 3, 4].map { table.texts(of: $0) } == [1, 0, 1] && table.mostTexts(preferring: 4) == 4)
    }

    @Test func knowsWhichKeysNeedNoEscapes() {
        var table = SeriesTable()
        for (key, isPlain) in [
            ("", true), ("a b/~", true), ("a\"", false), ("\\", false), ("\u{1F}", false), ("ü", false),
        ] {
            let found = index(0, bytes(key), in: &table)
            #expect(found.map { table[$0].isPlain } == isPlain, "\(key)")
        }
    }

    @Test func distinguishesNoKeyFromAnEmptyOne() {
        var table = SeriesTable()
        #expect(index(3, nil, in: &table) == 0)
        #expect(index(3, [], in: &table) == 1)
        #expect(index(3, nil, in: &table) == 0)
        #expect(table.key(of: 0) == nil && table.key(of: 1) == [])
    }

    @Test func refusesKeysThatAreTooLong() {
        var table = SeriesTable()
        let longest = Bytes(repeating: 0x61, count: SeriesTable.longestKey)
        #expect(index(0, longest, in: &table) == 0)
        #expect(index(0, longest + [0x61], in: &table) == nil)
        #expect(table.refused == 1 && table.count == 1)
    }

    @Test func stopsAtItsLimitAndCountsEveryRefusedLookup() {
        var table = SeriesTable()
        for number in 0..<10_000 {
            #expect(index(0, bytes("\(number)"), in: &table) == number)
        }
        #expect(index(0, bytes("one more"), in: &table) == nil)
        #expect(index(1_000_000, nil, in: &table) == nil)
        #expect(table.refused == 2 && table.count == 10_000)
        #expect(index(0, bytes("77"), in: &table) == 77)
        #expect(table.refused == 2)
    }

    @Test func findsEveryOneOfManyKeysThatDifferInOneBit() {
        for length in [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64] {
            var table = SeriesTable()
            for bit in 0..<length * 8 {
                var key = [UInt8](repeating: 0, count: length)
                key[bit / 8] = 1 << (bit % 8)
                #expect(index(0, key[...], in: &table) == bit)
            }
        }
    }
}
