import Feed
import Inputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct StdinInputTests {
    @Test func readsDocumentsAndBareNumbers() async throws {
        let run = try await StdinRun.run([.text("{\"a\": 1}\n2\n-3.5e1\n\"x\"\n[4, 5]\n")])
        #expect(run.values == [1, 2, -35, nil, nil])
        #expect(
            run.data.map { String(decoding: $0.data ?? [], as: UTF8.self) } == [
                "{\"a\":1}", "2", "-3.5e1", "\"x\"", "[4,5]",
            ])
        #expect(
            run.errors.map(\.message) == [
                #"2 events have no value, the first of them: line 4: there is nothing at "/a""#
            ])
    }

    /// Of lines without a number where the first one was, the first is told of at once and all others at the end.
    @Test func tellsOfLinesWithoutAValueTwice() async throws {
        let run = try await StdinRun.run(
            [.text("{\"n\":1,\"m\":2}\n{\"m\":3}\n"), .pause(.seconds(5))]
                + (0..<3).flatMap { [.text("{\"m\":\($0)}\n{\"n\":\($0)}\n"), .pause(.seconds(5))] })
        #expect(run.values == [1, nil, nil, 0, nil, 1, nil, 2])
        let reason = #"there is nothing at "/n""#
        #expect(
            run.errors.map(\.message) == [
                "an event has no value: line 2: \(reason)",
                "3 events have no value, the first of them: line 3: \(reason)",
            ])
        #expect(run.errors.map(\.code) == [.pointer, .pointer])
    }

    @Test(
        arguments: [
            ("1\r\n2\r\n", [1, 2]), ("1\n2", [1, 2]), ("1\r\n2\r", [1, 2]), ("\n\n1\n \t\r\n\n2\n\n", [1, 2]), ("", []),
            ("\n", []),
            ("\u{FEFF}1\n2\n", [1, 2]), ("\u{FEFF}", []), ("\u{FEFF}\r\n1", [1]), ("1", [1]),
        ] as [(String, [Double])])
    func takesLinesAsTheyAreEndedElsewhere(text: String, values: [Double]) async throws {
        let run = try await StdinRun.run([.text(text)])
        #expect(run.values == values)
        #expect(run.errors.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 7])
    func readsTheSameInPiecesOfAnySize(capacity: Int) async throws {
        let text = "\u{FEFF}1\r\n{\"a\":\"\u{e9}\\n\",\"b\":2}\n\n[3\n,]\n4\r\n\u{0}\n5"
        let whole = try await StdinRun.run([.text(text)])
        let run = try await StdinRun.run(StdinRun.source(), capacity: capacity, [.text(text)])
        #expect(run.values == [1, 2, 4, 5])
        #expect(run.values == whole.values)
        #expect(run.badLines == 3 && whole.badLines == 3)
    }

    /// What a stream that breaks off leaves behind: the lines before, and the rest when it is a document.
    @Test func readsEveryPrefix() async throws {
        let bytes = Array("1\n\"a\"\r\n[2]\n".utf8)
        for end in 0...bytes.count {
            let run = try await StdinRun.run([.write(Array(bytes[..<end]))])
            // An unfinished string or array is a bad line.
            let expected = [(1, "1"), (5, "\"a\""), (10, "[2]")].filter { $0.0 <= end }.map(\.1)
            #expect(
                run.data.map { String(decoding: $0.data ?? [], as: UTF8.self) } == expected, "the first \(end) bytes")
        }
    }

    @Test func putsValuesIntoSeriesByKey() async throws {
        let extraction = Extraction(
            key: .at(try JSONPointer("/city")), value: .at(try JSONPointer("/aqi/now")), text: .nowhere,
            time: try JSONPointer("/t"))
        let run = try await StdinRun.run(
            StdinRun.source(extraction),
            [
                .text(
                    #"{"city":"Ulm","aqi":{"now":7},"t":1799999999}"# + "\n"
                        + #"{"aqi":{"now":8},"t":"2027-01-15T07:59:59Z","city":"\u00e9"}"#)
            ])
        #expect(run.data.map(\.series) == ["in/Ulm", "in/é"])
        #expect(run.values == [7, 8])
        #expect(run.dataTimes == Array(repeating: Timestamp(seconds: 1_799_999_999), count: 2))
    }

    @Test func makesManyEventsOfALine() async throws {
        let extraction = Extraction(items: .root, key: .position, text: .nowhere)
        let run = try await StdinRun.run(StdinRun.source(extraction), [.text("[1,2]\n{\"a\":3}\n7\n")])
        #expect(run.data.map(\.series) == ["in/1", "in/2", "in/a"])
        #expect(run.errors.map(\.message) == ["line 3: the document is a number and neither an array nor an object"])
    }

    @Test func saysWhatIsWrongWithALineAndGoesOn() async throws {
        for (line, code, words) in [
            ("{", Failure.Code.notJSON, "not JSON at byte 1: it ends where"),
            ("1 2", .notJSON, "after the end of the value"),
            ("\u{0}\u{1}", .notJSON, "byte 0x00 where a value"), ("nan", .notJSON, "where null should be"),
            ("1234567890", .lineTooLong, "it has 10 bytes, and 9 are the most that are read"),
        ] {
            let run = try await StdinRun.run(StdinRun.source(maxLine: 9), [.text("1\n\(line)\n2\n")])
            #expect(run.values == [1, 2])
            #expect(run.errors.map(\.code) == [code])
            let message = try #require(run.errors.first?.message)
            #expect(message.hasPrefix("line 2: ") && message.contains(words), "\(message)")
        }
    }

    @Test func knowsAByteOrderMarkAtTheVeryStartOnly() async throws {
        let run = try await StdinRun.run([.text("1\n\u{FEFF}2\n")])
        #expect(run.values == [1])
        #expect(run.errors.map(\.message) == ["line 2: not JSON at byte 0: it starts with a byte order mark"])
        let items = StdinRun.source(Extraction(items: .root, text: .nowhere))
        let other = try await StdinRun.run(items, [.text("\u{FEFF}[1]\n\u{FEFF}[2]\n[3]")])
        #expect(other.values == [1, 3] && other.errors.map(\.message) == run.errors.map(\.message))
    }

    @Test func takesALineThatIsJustNotTooLong() async throws {
        let run = try await StdinRun.run(StdinRun.source(maxLine: 5), [.text("12345\n123456\n  1  \n")])
        #expect(run.values == [12_345, 1])
        #expect(run.badLines == 1)
    }

    @Test func reportsOnceASecondAndLosesNoCount() async throws {
        var steps: [StdinRun.Step] = []
        for _ in 0..<50 { steps += [.text("x\ny\n1\n"), .pause(.milliseconds(100))] }
        let run = try await StdinRun.run(steps)
        #expect(run.values.count == 50)
        let times = run.errorTimes
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) } || times.count == 1, "\(times)")
        #expect(times.count >= 5 && times.count <= 6)
        #expect(run.badLines == 100)
        #expect(
            run.errors.first?.message
                == "2 bad lines, the first of them line 1: not JSON at byte 0: 'x' where a value should be")
    }

    @Test func reportsWhatIsPendingWhileTheStreamIsSilent() async throws {
        let bad: [StdinRun.Step] = [
            .text("x\n"), .pause(.milliseconds(10)), .text("y\nz\n"), .pause(.milliseconds(59_990)),
        ]
        let run = try await StdinRun.run(bad + bad + [.text("1\n")])
        #expect(run.errors.map(StdinRun.count) == [1, 2, 1, 2])
        #expect(run.errorTimes == [.zero, .seconds(1), .seconds(60), .seconds(61)])
        #expect(run.errors[1].message.hasPrefix("2 bad lines, the first of them line 2: "))
    }

    /// To look for it takes time, and all lines may be wrong.
    @Test func namesTheKeyThatMayBeMeantOnce() async throws {
        let line = StdinRun.Step.text("{\"price\":1}\n")
        let source = StdinRun.source(Extraction(value: .at(try JSONPointer("/prize"))))
        let run = try await StdinRun.run(source, [line, .pause(.seconds(2)), line])
        #expect(run.errors.count == 2)
        #expect(
            run.errors.map { $0.message.hasSuffix("has no key \"prize\"; did you mean \"price\"?") } == [true, false])
    }

    @Test func reportsWhatIsPendingAtTheEnd() async throws {
        let run = try await StdinRun.run([.text("x\n"), .pause(.milliseconds(10)), .text("y\nz\n1\n{")])
        #expect(run.errors.map(StdinRun.count) == [1, 3])
        #expect(run.values == [1])
    }

    @Test(arguments: [71, 72] as [UInt64])
    func takesBinaryForBadLines(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var bytes = (0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        bytes += Array("\n7\n".utf8)
        let run = try await StdinRun.run([.write(bytes)])
        let lines = bytes.split(separator: 0x0A).count { !$0.allSatisfy { [0x20, 0x09, 0x0D].contains($0) } }
        #expect(run.values.last == 7)
        #expect(run.badLines + run.values.count == lines, "seed \(seed)")
    }

    /// A line of 1 GB that is never whole in memory; a small one unless asked for the full size.
    @Test func skipsAnEndlessLine() async throws {
        let piece = [UInt8](repeating: UInt8(ascii: "["), count: 1 << 16)
        let pieces = LongRun.rounds(short: 100, long: 16_384)
        let run = try await StdinRun.run([.text("1\n")] + (0..<pieces).map { _ in .write(piece) } + [.text("\n2\n")])
        #expect(run.values == [1, 2])
        #expect(
            run.errors.map(\.message)
                == ["line 2: it has \(pieces << 16) bytes, and 1048576 are the most that are read"])
    }

    @Test func takesALongLine() async throws {
        let text = "[" + String(repeating: "1,", count: 400_000) + "2]"
        let run = try await StdinRun.run([.text("1\n" + text + "\n" + text + "\n3")])
        // The place of its first number is found on the worker's thread, too.
        #expect(run.values == [1, 1, 1, 3])
        let length = text.utf8.count
        #expect(run.data.map(\.data?.count) == [1, length, length, 1])
    }
}
