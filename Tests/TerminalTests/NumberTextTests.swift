import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct NumberTextTests {
    /// Tests/Vectors/format: arguments, then the text.
    @Test(arguments: VectorFiles.names(of: "format"))
    func textsAreThoseOfTheVectors(_ name: String) throws {
        let functions = try VectorFiles.vector(name, in: "format")["cases"]?.members
        for (function, cases) in try #require(functions) {
            for parts in cases.elements.map(\.elements) {
                let text = try #require(Self.text(function, parts), "\(function)")
                #expect(text == parts.last?.string, "\(function) \(parts.map(\.text))")
            }
        }
    }

    /// What a function of the vectors makes of its arguments; nil for one that is not known.
    private static func text(_ function: String, _ arguments: [VectorJSON]) -> String? {
        let special = ["inf": Double.infinity, "-inf": -.infinity, "nan": .nan]
        let value = arguments[0].number ?? special[arguments[0].string ?? ""] ?? 0
        let duration = Duration.microseconds(Int64(exactly: value) ?? 0)
        func whole(_ place: Int) -> Int { Int(arguments[place].number ?? 0) }
        switch function {
        case "short": return NumberText.short(value)
        case "fixed": return NumberText.fixed(value, whole(1))
        case "milliseconds": return NumberText.milliseconds(value)
        case "bytes":
            let (number, unit) = NumberText.bytes(value)
            return number + " " + unit
        case "quantity":
            let kinds = ["data": SeriesKind.data, "latency": .latency, "memory": .memory]
            return kinds[arguments[1].string ?? ""].map { Quantity(value, $0, unit: arguments[2].string).whole }
        case "ordinal": return NumberText.ordinal(whole(0))
        case "age": return NumberText.age(duration)
        case "span": return NumberText.span(duration)
        case "uptime": return NumberText.uptime(duration)
        case "length": return NumberText.length(duration)
        case "processorTime": return NumberText.processorTime(value)
        case "clock":
            let time = Timestamp(microseconds: Int64(value))
            return NumberText.clock(time, offset: whole(1), decimals: whole(2))
        default: return nil
        }
    }

    @Test func extremeTimesHaveSomeClock() { _ = NumberText.clock(Timestamp(microseconds: .min), offset: .min) }
}

@Suite(.limited) struct ValueAxisTests {
    /// Tests/Vectors/axis: numbers agree to 12 digits, as not every machine's logarithms are the same to the last bit.
    @Test(arguments: VectorFiles.names(of: "axis"))
    func axesAreThoseOfTheVectors(_ name: String) throws {
        for vector in try VectorFiles.elements("cases", of: name, in: "axis") {
            let range = vector["fixed"]?.elements.compactMap(\.number) ?? []
            let axis = ValueAxis(
                vector["values"]?.elements.compactMap(\.number) ?? [], fixed: range.isEmpty ? nil : range[0]...range[1],
                isLog: vector["log"]?.bool == true, count: Int(vector["count"]?.number ?? 0))
            func isNear(_ is: Double?, _ should: VectorJSON?) -> Bool {
                guard let number = should?.number, let value = `is` else { return `is` == nil && should == .null }
                return value == number || abs(value - number) <= 1e-12 * max(abs(value), abs(number), 1)
            }
            let marks = vector["marks"]?.elements ?? []
            #expect(isNear(axis.low, vector["low"]) && isNear(axis.high, vector["high"]), "\(vector.text)")
            #expect(isNear(axis.floor, vector["floor"]), "\(vector.text)")
            #expect(axis.marks.count == marks.count && zip(axis.marks, marks).allSatisfy(isNear), "\(vector.text)")
            #expect(axis.marks.map(axis.label) == vector["labels"]?.elements.compactMap(\.string), "\(vector.text)")
            for place in vector["places"]?.elements.map(\.elements) ?? [] {
                #expect(isNear(axis.position(of: place[0].number ?? .nan), place[1]), "\(place[0].text) \(vector.text)")
            }
        }
    }

    @Test(arguments: [true, false])
    func anyValuesHaveAPlace(_ isLog: Bool) {
        let values = [0, -0.0, 1e308, -1e308, .leastNonzeroMagnitude, 1e-300, 1, -1, 1e15 + 1, 1e15]
        for first in values {
            for second in values {
                let axis = ValueAxis([first, second], isLog: isLog, count: 6)
                #expect(axis.low < axis.high && axis.low.isFinite && axis.high.isFinite, "\(first), \(second)")
                #expect(axis.marks.count <= 64)
                for value in values { #expect(-1...2 ~= axis.position(of: value), "\(first), \(second), \(value)") }
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
