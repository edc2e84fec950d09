import Reactor
import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct NumberTextTests {
    @Test(
        arguments: [
            (0, "0"), (106, "106"), (-3, "-3"), (12_345, "12345"), (999_999, "999999"), (1_000_000, "1.00M"),
            (-2_500_000, "-2.50M"),
            (123_456_789, "123.5M"), (1e9, "1.00G"), (7.5e12, "7.50T"), (1e15, "1.00e15"), (3.737e20, "3.74e20"),
            (0.1, "0.1"),
            (1.23456, "1.235"), (12.3456, "12.35"), (123.456, "123.5"), (1_234.56, "1234.6"), (0.001234, "0.00123"),
            (1e-7, "1.00e-7"),
            (-0.0, "0"), (9.9999e17, "1.00e18"), (.infinity, "∞"), (-.infinity, "-∞"), (.nan, "–"), (1e308, "1.00e308"),
        ] as [(Double, String)])
    func valuesAreShort(_ value: Double, _ text: String) { #expect(NumberText.short(value) == text) }

    @Test(arguments: [
        (1.005, 2, "1.00"), (2.5, 0, "3"), (-0.001, 2, "0.00"), (0.05, 1, "0.1"), (1e20, 2, "1.00e20"), (7, 3, "7.000"),
    ])
    func decimalsAreFixed(_ value: Double, _ decimals: Int, _ text: String) {
        #expect(NumberText.fixed(value, decimals) == text)
    }

    @Test(arguments: [(0.314, "0.31"), (9.87, "9.87"), (41, "41.0"), (132.4, "132"), (12_345, "12345")])
    func latenciesAreInMilliseconds(_ value: Double, _ text: String) { #expect(NumberText.milliseconds(value) == text) }

    @Test(
        arguments: [
            (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (14_680_064, "14.0 MiB"), (500e6, "477 MiB"),
            (2e9, "1.9 GiB"), (-2_048, "-2.0 KiB"),
        ] as [(Double, String)])
    func memoryHasBinaryUnits(_ value: Double, _ text: String) {
        let (number, unit) = NumberText.bytes(value)
        #expect(number + " " + unit == text)
    }

    @Test(arguments: [
        (-5, "0s"), (0, "0s"), (3, "3s"), (99, "99s"), (100, "1m"), (5_999, "99m"), (6_000, "1h"), (172_799, "47h"),
        (172_800, "2d"),
    ])
    func agesAreShort(_ seconds: Int, _ text: String) { #expect(NumberText.age(.seconds(seconds)) == text) }

    @Test(arguments: [
        (500, "0.5 s"), (10_000, "10 s"), (90_000, "90 s"), (120_000, "2 m"), (150_000, "150 s"), (3_600_000, "60 m"),
    ])
    func spansAreShort(_ milliseconds: Int, _ text: String) {
        #expect(NumberText.span(.milliseconds(milliseconds)) == text)
    }

    @Test(arguments: [(41, "41 s"), (123, "2 m 03 s"), (18_720, "5 h 12 m"), (273_600, "3 d 4 h")])
    func uptimesHaveTwoUnits(_ seconds: Int, _ text: String) { #expect(NumberText.uptime(.seconds(seconds)) == text) }

    @Test func clocksAreLocal() {
        let time = Timestamp(microseconds: 1_772_366_400_123_456)
        #expect(NumberText.clock(time, offset: 0) == "12:00:00")
        #expect(NumberText.clock(time, offset: 19_800, decimals: 3) == "17:30:00.123")
        #expect(NumberText.clock(time, offset: -46_800) == "23:00:00")
        #expect(NumberText.clock(Timestamp(microseconds: -1), offset: 0, decimals: 1) == "23:59:59.9")
        _ = NumberText.clock(Timestamp(microseconds: .min), offset: .min)
    }
}

@Suite(.limited) struct ValueAxisTests {
    @Test(arguments: [
        ([36.0, 95], "20 40 60 80 100"), ([0, 1], "0.0 0.5 1.0"), ([5, 5], "4.5 5.0 5.5"), ([-3, 4], "-5 0 5"),
        ([], "0.0 0.5 1.0"),
    ])
    func marksAreRound(_ values: [Double], _ labels: String) {
        let count = values == [36, 95] ? 5 : 3
        let axis = ValueAxis(values, isLog: false, count: count)
        #expect(axis.marks.map(axis.label).joined(separator: " ") == labels)
        for value in values { #expect(0...1 ~= axis.place(of: value)) }
    }

    @Test func aLogarithmicAxisHasAFloorForWhatHasNoLogarithm() {
        let axis = ValueAxis([-5, 0, 3, 2_000], isLog: true, count: 8)
        #expect(axis.floor == 0.1)
        #expect(axis.place(of: -5) == 0 && axis.place(of: 0) == 0)
        #expect(axis.place(of: 3) < axis.place(of: 30) && axis.place(of: 30) < axis.place(of: 2_000))
        #expect(axis.marks.map(axis.label) == ["≤0.1", "1", "10", "100", "1000", "10000"])
        #expect(ValueAxis([0, -1], isLog: true, count: 3).floor == 0.1)
        #expect(ValueAxis([3, 2_000], isLog: true, count: 3).floor == nil)
    }

    @Test func aFixedRangeStays() {
        let axis = ValueAxis([1, 1_000], fixed: 10...20, isLog: false, count: 5)
        #expect(axis.low == 10 && axis.high == 20)
        #expect(axis.place(of: 1_000) == 2 && axis.place(of: 1) == -0.9)
    }

    @Test(arguments: [true, false])
    func anyValuesHaveAPlace(_ isLog: Bool) {
        let values = [0, -0.0, 1e308, -1e308, .leastNonzeroMagnitude, 1e-300, 1, -1, 1e15 + 1, 1e15]
        for first in values {
            for second in values {
                let axis = ValueAxis([first, second], isLog: isLog, count: 6)
                #expect(axis.low < axis.high && axis.low.isFinite && axis.high.isFinite, "\(first), \(second)")
                #expect(axis.marks.count <= 64)
                for value in values { #expect(-1...2 ~= axis.place(of: value), "\(first), \(second), \(value)") }
            }
        }
    }
}

@Suite(.limited) struct BrailleCanvasTests {
    @Test func everyDotHasItsBit() {
        var seen: Set<UInt32> = []
        for x in 0..<2 {
            for y in 0..<4 {
                var canvas = BrailleCanvas(columns: 1, rows: 1)
                canvas.set(x, y)
                seen.insert(canvas.glyph(0, 0)?.value ?? 0)
            }
        }
        #expect(seen == Set((0..<8).map { 0x2800 + (1 << $0) }))
    }

    @Test func linesReachBothEndsAndLeaveNoHole() {
        for (x, y) in [(0, 0), (19, 0), (0, 19), (19, 19), (7, 3), (3, 17)] {
            var canvas = BrailleCanvas(columns: 10, rows: 5)
            canvas.line(from: (10, 10), to: (x, y))
            let dots = canvas.dots.reduce(0) { $0 + $1.nonzeroBitCount }
            #expect(dots == max(abs(x - 10), abs(y - 10)) + 1, "\(x), \(y)")
        }
    }

    @Test func whatLiesOutsideIsLeftOut() {
        var canvas = BrailleCanvas(columns: 2, rows: 2)
        canvas.line(from: (-50, -50), to: (50, 50))
        canvas.set(.min, .max)
        #expect(canvas.dots.reduce(0) { $0 + $1.nonzeroBitCount } == 4)
        var empty = BrailleCanvas(columns: 0, rows: -1)
        empty.set(0, 0)
        #expect(empty.dots.isEmpty)
    }
}
