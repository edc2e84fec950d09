import Feed
import TestSupport
import Testing

@Suite(.limited) struct JSONMinifierTests {
    /// What the minifier makes of `input`, or where it found the first fault; alone and as its own validation.
    private func minify(_ input: [UInt8]) -> Result<[UInt8], ReferenceJSON.Fault> {
        let validated: JSONFault?
        do throws(JSONFault) {
            try JSONMinifier.validate(input[...])
            validated = nil
        } catch {
            validated = error
        }
        do throws(JSONFault) {
            let output = try JSONMinifier.minify(input[...])
            #expect(validated == nil)
            return .success(output)
        } catch {
            #expect(validated == error)
            return .failure(.init(offset: error.offset))
        }
    }

    private func expectSame(_ input: [UInt8], _ comment: @autoclosure () -> String) {
        switch (minify(input), ReferenceJSON.minify(input)) {
        case (.success(let ours), .success(let theirs)):
            if ours != theirs { Issue.record("\(comment()): \(String(decoding: input, as: UTF8.self))") }
        case (.failure(let ours), .failure(let theirs)):
            if ours.offset != theirs.offset {
                Issue.record("\(comment()): fault at \(ours.offset), should be \(theirs.offset): \(input)")
            }
        case (.success, .failure(let fault)):
            Issue.record("\(comment()): accepted, has a fault at \(fault.offset): \(input)")
        case (.failure(let fault), .success):
            Issue.record("\(comment()): refused at \(fault.offset), is valid: \(input)")
        }
    }

    @Test(arguments: JSONCases.valid)
    func acceptsAndMinifies(_ example: JSONCases.Valid) throws {
        let output = try JSONMinifier.minify(example.input[...])
        #expect(String(decoding: output, as: UTF8.self) == String(decoding: example.minified, as: UTF8.self))
        #expect(try JSONMinifier.minify(output[...]) == output, "minifying twice changes nothing")
        expectSame(example.input, "the twin")
    }

    @Test(arguments: JSONCases.invalid)
    func refusesAtTheRightByte(_ example: JSONCases.Invalid) {
        #expect(throws: JSONFault(offset: example.offset, reason: example.reason)) {
            try JSONMinifier.validate(example.input[...])
        }
        expectSame(example.input, "the twin")
    }

    @Test func agreesWithTheTwinOnEveryPrefix() {
        for input in JSONCases.valid.map(\.input) + JSONCases.invalid.map(\.input) where input.count < 400 {
            for end in 0...input.count { expectSame(Array(input[..<end]), "prefix \(end)") }
        }
    }

    @Test func agreesWithTheTwinOnEveryByteAtEveryPlace() {
        let input = Array(#"{"aé":[-0.5e1,"\u00e9𝄞",true]} "#.utf8)
        for index in input.indices {
            for byte in stride(from: UInt8.min, through: .max, by: LongRun.rounds(short: 3, long: 1)) {
                var changed = input
                changed[index] = byte
                expectSame(changed, "byte \(byte) at \(index)")
            }
        }
    }

    @Test func agreesWithTheTwinOnAllUTF8LeadAndSecondBytes() {
        for lead in stride(from: UInt8(0x80), through: 0xFF, by: LongRun.rounds(short: 5, long: 1)) {
            for second in UInt8.min...UInt8.max {
                let inside: [UInt8] = [0x22, lead, second, 0x80, 0x80, 0x22]
                expectSame(inside, "four bytes")
                expectSame(Array(inside.dropLast(2)) + [0x22], "three bytes")
                expectSame(Array(inside.dropLast(3)) + [0x22, 0x20, 0x20, 0x20], "two bytes")
            }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func agreesWithTheTwinOnRandomAndBrokenDocuments(seed: UInt64) throws {
        var generator = JSONGenerator(seed: seed)
        for round in 0..<JSONGenerator.rounds(300, long: 100_000) {
            let document = generator.document()
            #expect(throws: Never.self, "seed \(seed), round \(round)") { try JSONMinifier.validate(document[...]) }
            expectSame(document, "seed \(seed), round \(round)")
            for _ in 0..<4 { expectSame(generator.broken(document), "seed \(seed), round \(round), broken") }
        }
    }

    @Test func whatComesBeforeAFaultCanAlwaysBeContinued() {
        var generator = JSONGenerator(seed: 4)
        for round in 0..<JSONGenerator.rounds(300, long: 50_000) {
            let document = generator.broken(generator.document())
            guard case .failure(let fault) = minify(document) else { continue }
            guard case .failure(let again) = minify(Array(document[..<fault.offset])) else { continue }
            #expect(again.offset == fault.offset, "seed 4, round \(round): \(document)")
        }
    }

    @Test func findsAFaultAtEveryPlaceOfALongString() {
        for length in stride(from: 0, to: 70, by: LongRun.rounds(short: 3, long: 1)) {
            var input: [UInt8] = [0x22] + [UInt8](repeating: 0x61, count: length) + [0x22]
            expectSame(input, "length \(length)")
            for index in 1..<(length + 1) {
                for byte: UInt8 in [0x00, 0x1F, 0x22, 0x5C, 0x80, 0xC3, 0xFF, 0x7F, 0x20] {
                    input[index] = byte
                    expectSame(input, "byte \(byte) at \(index) of \(length)")
                    input[index] = 0x61
                }
            }
        }
    }

    @Test func nestsToItsLimitAndNoDeeper() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            let inner = open == "[" ? "" : "1"
            let most = String(repeating: open, count: 512) + inner + String(repeating: close, count: 512)
            #expect(try JSONMinifier.minify(Array(most.utf8)[...]) == Array(most.utf8))
            let endless = Array(String(repeating: open, count: 100_000).utf8)
            #expect(throws: JSONFault(offset: 512 * open.utf8.count, reason: .tooDeep)) {
                try JSONMinifier.validate(endless[...])
            }
        }
    }

    @Test func closesEveryLevelWithItsOwnBracket() {
        var random = SeededGenerator(seed: 5)
        for depth in [1, 2, 63, 64, 65, 127, 128, 129, 511, 512] {
            let kinds = (0..<depth).map { _ in Bool.random(using: &random) }
            let opened = kinds.map { $0 ? #"{"k":"# : "[" }.joined()
            let closed = kinds.reversed().map { $0 ? "}" : "]" }
            expectSame(Array((opened + "0" + closed.joined()).utf8), "seed 5, depth \(depth)")
            for wrong in Set([0, depth / 2, depth - 1]) {
                var changed = closed
                changed[wrong] = changed[wrong] == "}" ? "]" : "}"
                expectSame(Array((opened + "0" + changed.joined()).utf8), "seed 5, depth \(depth), wrong at \(wrong)")
            }
        }
    }

    @Test(arguments: JSONCases.valid)
    func writesNothingBehindTheInputsLength(_ example: JSONCases.Valid) throws {
        let input = example.input
        var output = [UInt8](repeating: 0xAA, count: input.count + 32)
        let count = try input.withUnsafeBufferPointer { input in
            try output.withUnsafeMutableBufferPointer { try JSONSelection.nothing.read(input, into: $0.baseAddress) }
        }
        #expect(Array(output[..<count]) == example.minified)
        #expect(output[input.count...].allSatisfy { $0 == 0xAA })
    }

    @Test(arguments: [
        ("<!DOCTYPE html>", "not JSON at byte 0: '<' where a value should be, as in HTML"),
        (#"{"a":1x}"#, "not JSON at byte 6: 'x' where ',' or '}' should be"),
        ("[1,2", "not JSON at byte 4: it ends where ',' or ']' should be"),
        ("\"a\u{1B}\"", "not JSON at byte 2: byte 0x1b in a string must be escaped"),
        ("[1] 2", "not JSON at byte 4: '2' after the end of the value"),
        ("", "not JSON at byte 0: there is nothing there"),
    ])
    func saysWhatIsWrongInWords(input: String, message: String) throws {
        let fault = try #require(throws: JSONFault.self) { try JSONMinifier.validate(Array(input.utf8)[...]) }
        #expect(fault.description == message)
    }
}
