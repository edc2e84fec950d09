import Feed
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct LineLogTests {
    private func at(_ seconds: Double) -> LoopInstant { LoopInstant(nanoseconds: Int64(seconds * 1_000_000_000)) }

    /// Appends bytes as one line; `spare` more are reserved than needed.
    private func append(_ bytes: [UInt8], to log: inout LineLog, spare: Int = 0, at now: LoopInstant) -> Int {
        var number = 0
        log.append(atMost: bytes.count + spare, at: now) { sequence, writer in
            number = sequence
            var writer = writer
            writer.raw(bytes[...])
            return writer
        }
        return number
    }

    private func bytes(_ span: LineSpan) -> [UInt8] { span.withUnsafeBytes { [UInt8]($0) } }

    /// A line may be as long as the whole log: what somebody who must get everything has not seen is not let go for one.
    @Test(arguments: [true, false])
    func oneLongLineDoesNotPushOutWhatIsHeld(isHeld: Bool) {
        var log = LineLog(capacity: 1 << 20)
        let short = [UInt8](repeating: 0x61, count: 1_000)
        let long = [UInt8](repeating: 0x62, count: 1 << 20)
        if isHeld { log.heldFrom = 1 }
        for _ in 0..<500 { _ = append(short, to: &log, at: at(0)) }
        _ = append(long, to: &log, at: at(0))
        for _ in 0..<300 { _ = append(short, to: &log, at: at(0)) }
        #expect(log.firstSequence == (isHeld ? 1 : 502))
        // But no more than one, and no more short ones than before.
        for _ in 0..<1_000 { _ = append(short, to: &log, at: at(0)) }
        #expect(log.firstSequence > 501 && log.memory <= 1 << 20)
        log.heldFrom = log.firstSequence
        for _ in 0..<3 { _ = append(long, to: &log, at: at(0)) }
        #expect(log.memory < (1 << 20) + 1_300_000)
        log.heldFrom = .max
        _ = append(short, to: &log, at: at(0))
        #expect(log.memory <= 1 << 20)
    }

    /// A line that is let go of makes no room for those behind it by having been long.
    @Test func aLongLineThatIsGoneMakesNoRoom() {
        var log = LineLog(capacity: 1 << 16)
        log.heldFrom = 1
        _ = append([UInt8](repeating: 0x62, count: 100_000), to: &log, at: at(0))
        // As many as fill the log without the long one.
        for _ in 0..<56 { _ = append([UInt8](repeating: 0x61, count: 1_000), to: &log, at: at(0)) }
        log.heldFrom = 2
        #expect(log.firstSequence == 1 && log.memory > 160_000)
        _ = append([UInt8](repeating: 0x61, count: 1_000), to: &log, at: at(0))
        #expect(log.firstSequence > 2 && log.memory <= 1 << 16)
    }

    @Test func isEmptyAtFirst() {
        let log = LineLog()
        #expect(log.firstSequence == 1 && log.nextSequence == 1 && log.memory == 0 && log.memoryBehind(1) == 0)
        guard case .nothing = log.read(from: 1) else {
            Issue.record("there are lines in an empty log")
            return
        }
    }

    @Test func handsOutWhatWasAppendedAndMoreWhenItComes() {
        var log = LineLog()
        #expect(append([1, 2, 3], to: &log, at: at(0)) == 1)
        #expect(append([4], to: &log, spare: 100, at: at(0)) == 2)
        guard case .lines(let first) = log.read(from: 1) else {
            Issue.record("no lines")
            return
        }
        #expect(bytes(first) == [1, 2, 3, 4] && first.sequences == 1...2 && first.count == 4)
        #expect(append([5, 6], to: &log, at: at(0)) == 3)
        #expect(bytes(first) == [1, 2, 3, 4], "a span does not grow")
        guard case .lines(let rest) = log.read(from: 2) else {
            Issue.record("no lines")
            return
        }
        #expect(bytes(rest) == [4, 5, 6] && rest.sequences == 2...3)
    }

    @Test func keepsLinesOfItsHistoryAndTheirNumbersAfterwards() {
        var log = LineLog(history: .seconds(10))
        _ = append([1], to: &log, at: at(0))
        log.expire(at: at(10))
        #expect(log.firstSequence == 1, "as old as the history is not older")
        log.expire(at: at(10.001))
        #expect(log.firstSequence == 2 && log.nextSequence == 2 && log.memory == 0)
        guard case .gap(1...1, isHole: false) = log.read(from: 1), case .nothing = log.read(from: 2) else {
            Issue.record("the line is not gone")
            return
        }
        #expect(append([2], to: &log, at: at(11)) == 2)
        guard case .lines(let span) = log.read(from: 2) else {
            Issue.record("no lines")
            return
        }
        #expect(bytes(span) == [2])
    }

    @Test func keepsOldLinesThatAreHeld() {
        var log = LineLog(capacity: 1 << 16, history: .seconds(10))
        for number in 0..<20 { _ = append([UInt8](repeating: 7, count: 2_000), to: &log, at: at(Double(number))) }
        log.heldFrom = 6
        log.expire(at: at(1_000))
        #expect(2...6 ~= log.firstSequence, "lets go of whole pieces before the held line")
        log.heldFrom = .max
        log.expire(at: at(1_000))
        #expect(log.firstSequence == 21)
        // Holding is no reason to take more memory.
        log.heldFrom = 21
        for _ in 0..<100 { _ = append([UInt8](repeating: 7, count: 2_000), to: &log, at: at(1_000)) }
        #expect(log.firstSequence > 21 && log.memory <= log.capacity)
    }

    @Test func takesLinesOfNoBytesAndLinesLargerThanItself() {
        var log = LineLog(capacity: 1 << 16)
        for _ in 0..<5_000 { _ = append([], to: &log, at: at(0)) }
        #expect(log.memory <= log.capacity)
        let large = [UInt8](repeating: 9, count: 200_000)
        #expect(append(large, to: &log, at: at(0)) == 5_001)
        #expect(log.firstSequence == 5_001)
        guard case .lines(let span) = log.read(from: 5_001) else {
            Issue.record("no lines")
            return
        }
        #expect(bytes(span) == large)
        _ = append([1], to: &log, at: at(0))
        #expect(log.firstSequence == 5_002 && log.memory <= log.capacity)
    }

    @Test func measuresWhatIsBehindByMemory() {
        var log = LineLog(capacity: 1 << 16, history: .seconds(10))
        // Lines that reserve much and need little: memory runs out long before bytes do.
        for _ in 0..<6 { _ = append([1], to: &log, spare: 8_191, at: at(0)) }
        #expect(log.memoryBehind(1) == log.memory && log.memory > log.capacity / 2)
        #expect(log.memoryBehind(0) == log.memory && log.memoryBehind(.min) == log.memory)
        #expect(log.memoryBehind(7) == 0 && log.memoryBehind(.max) == 0)
        let all = (1...6).map { log.memoryBehind($0) }
        #expect(all == all.sorted(by: >) && all[5] == all[0] / 6)
    }

    @Test func findsTheLineThatLiesSoManyBytesBack() {
        // In several pieces of the log.
        let lengths = [3, 1, 2, 5_000, 4_000, 1, 5]
        var log = LineLog(capacity: 1 << 16)
        for length in lengths { _ = append([UInt8](repeating: 7, count: length), to: &log, at: at(0)) }
        for sequence in 1...lengths.count + 1 {
            // Whose each byte is.
            let owners = (1..<sequence).flatMap { [Int](repeating: $0, count: lengths[$0 - 1]) }
            for back in 1...owners.count + 1 {
                let (found, isWhole) = log.line(back, before: sequence)
                let expected = back <= owners.count ? owners[owners.count - back] : 1
                guard found == expected, isWhole == (back <= owners.count) else {
                    Issue.record("\(back) bytes before \(sequence) lies \(found), not \(expected)")
                    return
                }
            }
        }
    }

    // MARK: The twin

    /// A span that a reader keeps, and what was in it when it got it.
    private struct Kept {
        let span: LineSpan
        let bytes: [UInt8]
    }

    private struct Line {
        let bytes: [UInt8]
        let time: LoopInstant
    }

    @Test(
        arguments: [(seed: 31, ageing: false), (32, true), (33, true), (34, false)] as [(seed: UInt64, ageing: Bool)])
    func agreesWithAnArrayOfAllLines(seed: UInt64, ageing: Bool) {
        var random = SeededGenerator(seed: seed)
        let capacity = 1 << (16 + Int(random.next() % 4))
        let history = ageing ? 30.0 : 1e6
        var log = LineLog(capacity: capacity, history: .seconds(history))
        var lines: [Line] = []  // line number n is at n - 1
        var kept: [Kept] = []
        var now = 0.0
        var gaps = 0
        var expired = 0
        var first = 1
        func fail(_ text: String) { Issue.record("\(text), seed \(seed), after \(lines.count) lines") }

        for _ in 0..<LongRun.rounds(short: 1_500, long: 40_000) {
            now += Double(random.next() % 1_000) / 5_000
            if random.next() % 200 == 0 { now += Double(random.next() % 60) }
            let length = 1 + Int(random.next() % [200, 200, 200, 2_000, 70_000][Int(random.next() % 5)])
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: random.next()), count: length)
            let number = append(bytes, to: &log, spare: Int(random.next() % 300), at: at(now))
            lines.append(Line(bytes: bytes, time: at(now)))
            if number != lines.count || log.nextSequence != number + 1 { fail("number \(number)") }
            if random.next() % 50 == 0 {
                log.expire(at: at(now))
                // What is held belongs to a piece whose newest line is young enough.
                if case .lines(let span) = log.read(from: log.firstSequence),
                    lines[span.sequences.upperBound - 1].time.duration(to: at(now)) > .seconds(history)
                {
                    fail("holds lines older than the history")
                }
            }

            // More than its capacity only for a single piece that is larger than that alone.
            if log.memory > capacity, log.memoryBehind(log.nextSequence - 1) < log.memory {
                fail("takes \(log.memory)")
            }
            if log.firstSequence < first { fail("lines came back") }
            // One line more and it would have been too much: nothing goes before it must. 72,000 and 300 bytes with
            // their bookkeeping are the largest piece.
            if !ageing, log.firstSequence > first, log.memory + 2 * 80_000 < capacity { fail("let go too early") }
            if log.firstSequence > first, lines[log.firstSequence - 2].time.duration(to: at(now)) > .seconds(history) {
                expired += 1
            }
            first = log.firstSequence

            let cursor = Int(random.next() % UInt64(lines.count + 2)) + (random.next() % 4 == 0 ? first - 1 : 0)
            switch log.read(from: cursor) {
            case .nothing: if cursor <= lines.count { fail("nothing at \(cursor)") }
            case .gap(let missing, let isHole):
                gaps += 1
                if missing != cursor...(first - 1) || isHole { fail("\(missing) for \(cursor), first is \(first)") }
            case .lines(let span):
                let bytes = self.bytes(span)
                let expected = lines[(span.sequences.lowerBound - 1)..<span.sequences.upperBound].flatMap(\.bytes)
                if span.sequences.lowerBound != cursor || bytes != expected || span.count != bytes.count {
                    fail("other lines from \(cursor)")
                }
                if random.next() % 8 == 0 { kept.append(Kept(span: span, bytes: bytes)) }
            }
            if kept.count > 20 { kept.remove(at: Int(random.next() % 20)) }
        }
        for one in kept where bytes(one.span) != one.bytes { fail("a span changed") }
        #expect(gaps > 0 && kept.count > 5 && first > 1, "seed \(seed)")
        #expect((expired > 0) == ageing, "seed \(seed)")
    }
}
