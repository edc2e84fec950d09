import Reactor
import TestSupport
import Testing

@testable import Feed

/// Runs Tests/Vectors/lines: what is a line and what is none.
@Suite(.limited) struct LineVectorTests {
    @Test(arguments: VectorFiles.names(of: "lines"))
    func linesAreThoseOfTheVectors(_ name: String) throws {
        for vector in try VectorFiles.elements("cases", of: name, in: "lines").map(\.elements) {
            let text = try #require(vector[0].string)
            let line = try? LineDecoder.decode(Bytes(Array(text.utf8)))
            let difference = (line?.vector ?? .null).difference(from: vector[1], at: "line")
            #expect(difference == nil, "\(text.prefix(300))")
        }
    }
}

extension Line {
    fileprivate var vector: VectorJSON {
        var parts: [VectorJSON] = [
            .string(kind), .optional(seq), .int(Int(time.microseconds)), .string(type), .optional(source),
        ]
        if case .data(let data) = body {
            parts += [
                .string(data.series), .optional(data.value), .optional(data.text),
                .optional(data.data.map { String(decoding: $0, as: UTF8.self) }), .bool(data.truncated),
                .bool(data.altered),
            ]
        }
        if case .kept(let kept) = body {
            parts += [.string(kept.run), kept.line.vector]
            parts += kept.windows.map { window in
                .array([
                    .string(window.series), .int(Int(window.start.microseconds)), .int(Int(window.width.microseconds)),
                    .number(window.last), .number(window.min), .number(window.max), .int(window.count),
                    .number(window.mean),
                ])
            }
        }
        return .array(parts)
    }

    private var kind: String {
        switch body {
        case .data: "data"
        case .refusal: "refusal"
        case .unknown: "unknown"
        default: type
        }
    }
}
