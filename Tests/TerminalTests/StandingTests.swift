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
            let state = VectorJSON.array(board.series.indices.map { board.vectorStanding($0, width: width) })
            let about = life["about"]?.string ?? ""
            #expect(state.difference(from: try #require(life["series"])) == nil, "\(about)")
        }
    }
}

extension Board {
    fileprivate func vectorStanding(_ index: Int, width: Int64) -> VectorJSON {
        let series = series[index]
        let source = describedSource(series.source)
        let all = Timestamp(microseconds: .min)..<Timestamp(microseconds: .max)
        let standing = Standing(
            series, series.kind == .data ? source?.bands : nil,
            windows(of: index, width: .microseconds(width), over: all), width: width)
        let quantity = series.newest.map { Quantity($0.value, series.kind, unit: source?.unit) }
        let change = quantity.map { standing.changeText($0, series.kind, unit: source?.unit) }
        return .object([
            "prefix": .string(series.nameParts.prefix), "rest": .string(series.nameParts.rest),
            "value": .optional(quantity?.whole), "band": .optional(standing.band), "name": .string(standing.name),
            "letter": .optional(standing.letter), "course": .optional(standing.course?.rawValue),
            "change": .string(change ?? ""),
        ])
    }
}
