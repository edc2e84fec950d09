import Reactor
import TestSupport
import Testing

@testable import Feed
@testable import Terminal

@Suite(.limited) struct StandingTests {
    /// Tests/Vectors/standing: lines, and where each series stands.
    @Test(arguments: VectorFiles.names(of: "standing"))
    func seriesStandAsInTheVectors(_ name: String) throws {
        for life in try VectorFiles.elements("lives", of: name, in: "standing") {
            var board = Board()
            for line in VectorFiles.lines(life["lines"]) { board.apply(try LineDecoder.decode(Bytes(line))) }
            let width = Int64(try #require(life["width_us"]?.number))
            let now = life["now_us"]?.number.map { Timestamp(microseconds: Int64($0)) }
            let strip = life["strip"]?.number.map { Int($0) }
            let state = VectorJSON.array(
                board.series.indices.map { board.vectorStanding($0, width: width, at: now, strip: strip) })
            let about = life["about"]?.string ?? ""
            let difference = state.difference(from: try #require(life["series"]))
            #expect(difference == nil, "\(about)")
        }
    }
}

extension Board {
    fileprivate func vectorStanding(_ index: Int, width: Int64, at time: Timestamp?, strip count: Int?) -> VectorJSON {
        let series = series[index]
        let source = describedSource(series.source)
        let scale = series.kind == .data ? source?.bands : nil
        let all = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)
        let windows = windows(of: index, width: .microseconds(width), over: all)
        let standing = Standing(series, scale, windows, width: width)
        let quantity = series.newest.map { Quantity($0.value, series.kind, unit: source?.unit) }
        let now = time ?? clock ?? Timestamp(microseconds: 0)
        var members: [String: VectorJSON] = [
            "prefix": .string(series.nameParts.prefix), "rest": .string(series.nameParts.rest),
            "value": .optional(standing.word ?? quantity?.whole), "band": .optional(standing.band),
            "name": .string(standing.name), "letter": .optional(standing.letter),
            "from": .optional(standing.former.flatMap { scale?.bands[$0].letter }.map { String($0) }),
            "arrow": .optional(standing.direction?.rawValue), "course": .optional(standing.course?.rawValue),
            "change": .string(quantity.map { standing.changeText($0, series.kind, unit: source?.unit) } ?? ""),
            "held": .string(standing.held(at: now)), "gone": .string(standing.gone(at: now, offset: 0)),
        ]
        if let count {
            let last = Window.index(of: now, width: width)
            let slots = Sparkline(windows, width: width, last: last, count: count).slots
            members["strip"] = standing.word == nil ? .null : .array(slots.map { $0.vector(scale) })
        }
        return .object(members)
    }
}

extension Sparkline.Slot {
    fileprivate func vector(_ scale: BandScale?) -> VectorJSON {
        switch self {
        case .before: .null
        case .missing: .string("·")
        case .level(_, let value): scale.map { .int($0.index(of: value)) } ?? .bool(value != 0)
        }
    }
}
