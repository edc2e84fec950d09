import Feed
import Glibc
import Journal
import Outputs
import Reactor
import Settings
import TestSupport
import Testing

@testable import catwatch

/// What `catwatch log` prints of a journal.
@Suite(.limited) struct LogCommandTests {
    private typealias Lines = JournalOfLines

    /// What it printed and said, and its exit status.
    private struct Printed {
        var status: Int32 = 0
        var text = ""
        var errors = ""
        var lines: [Substring] { text.split(separator: "\n") }
        /// The numbers of the lines that have one.
        var numbers: [Int] {
            lines.compactMap { try? LineDecoder.decode(Array($0.utf8)[...]).seq }
        }
        var types: [String] { lines.compactMap { try? LineDecoder.decode(Array($0.utf8)[...]).type } }
    }

    private static func log(_ arguments: String..., isTerminal: Bool = false, now: Int64 = 600) throws -> Printed {
        try log(arguments, isTerminal: isTerminal, now: now)
    }

    private static func log(
        _ arguments: [String], isTerminal: Bool = false, now: Int64 = 600, to folder: TemporaryFolder? = nil
    ) throws -> Printed {
        guard case .log(let journal, let options) = try Command.parse(["log"] + arguments) else {
            throw UsageError("no log")
        }
        let folder = try folder ?? TemporaryFolder()
        let output = try Descriptor.open(folder.path("out"), flags: O_WRONLY | O_CREAT)
        var printed = Printed()
        let command = LogCommand(
            journal, options, now: Timestamp(seconds: now), to: output.number, isTerminal: isTerminal
        ) { printed.errors += $0 }
        printed.status = command.run()
        printed.text = String(decoding: try folder.read("out"), as: UTF8.self)
        return printed
    }

    private func journal(of seconds: Range<Int> = 1..<11) throws -> Lines {
        let journal = try Lines()
        try journal.add("one", seconds.map { Lines.event($0) })
        return journal
    }

    // MARK: Lines

    @Test func printsTheLinesAsTheyWereWrittenBehindWhoseTheyAre() throws {
        let journal = try journal()
        try journal.add("two", [Lines.event(20), Lines.event(21)])
        let printed = try Self.log(journal.path)
        #expect(printed.status == 0 && printed.errors == "")
        #expect(printed.types.prefix(3) == ["hello", "stats", "fact"])
        #expect(printed.types.count { $0 == "hello" } == 2)
        #expect(printed.numbers == Array(1...10) + [1, 2])
        #expect(printed.lines.last?.hasPrefix(#"{"seq":2,"time":"1970-01-01T00:00:21.000000Z""#) == true)
    }

    @Test func aFeedSaysWhereItBeginsAndWhatIsMissing() throws {
        let journal = try journal()
        let newest = try Self.log(journal.path, "--limit", "3")
        #expect(newest.numbers == [8, 9, 10])
        let hello = try LineDecoder.decode(Array(newest.lines[0].utf8)[...])
        guard case .hello(let said) = hello.body else { throw UsageError("no hello") }
        #expect(said.firstSeq == 8 && said.nextSeq == 8 && !said.filtered)

        try journal.alter("DELETE FROM lines WHERE time IN (5000000, 6000000, 7000000)")
        let whole = try Self.log(journal.path)
        #expect(whole.numbers == [1, 2, 3, 4, 8, 9, 10])
        let gap = whole.lines.first { $0.contains(#""type":"gap""#) }
        #expect(gap?.contains(#""from":5,"to":7,"reason":"retention""#) == true)
        // In front of the line behind it.
        #expect(whole.types[6] == "gap")
    }

    @Test func aGapThatIsKeptIsNotToldTwice() throws {
        let journal = try journal(of: 1..<3)
        try journal.store.commit(
            [.gap(3...6, ControlLine.gap(time: Timestamp(seconds: 3), missing: 3...6, reason: "held"))],
            at: Timestamp(seconds: 3))
        try journal.add("one", from: 7, [Lines.event(7)])
        let printed = try Self.log(journal.path)
        #expect(printed.numbers == [1, 2, 7])
        #expect(printed.types.count { $0 == "gap" } == 1)
    }

    @Test func namesAreChosenByEach() throws {
        let journal = try Lines()
        try journal.add(
            "one",
            [
                Lines.event(1, "fact"), Lines.event(2, "dogs"), Lines.latency(3, "dogs", ms: 5),
                Lines.failure(4, "aqi"),
            ])
        #expect(try Self.log(journal.path, "--source", "dogs").numbers == [2, 3])
        #expect(try Self.log(journal.path, "--source", "dogs", "--source=aqi").numbers == [2, 3, 4])
        #expect(try Self.log(journal.path, "--type", "latency", "--type", "error").numbers == [3, 4])
        #expect(try Self.log(journal.path, "--series", "fact").numbers == [1])
        #expect(try Self.log(journal.path, "--source", "dogs", "--type", "fact").numbers == [2])
        // Nothing but what was asked for: it is counted and handed on.
        #expect(try Self.log(journal.path, "--type", "error").lines.count == 1)
    }

    @Test func timesAreFromOneOnAndNotIncludeTheOther() throws {
        let path = try journal()
        let since = "1970-01-01T00:00:03Z"
        let until = "1970-01-01T00:00:06Z"
        #expect(try Self.log(path.path, "--since", since).numbers == Array(3...10))
        #expect(try Self.log(path.path, "--until", until).numbers == Array(1...5))
        #expect(try Self.log(path.path, "--since", since, "--until", until).numbers == [3, 4, 5])
        #expect(try Self.log(path.path, "--since", "-5s", now: 12).numbers == [7, 8, 9, 10])
        #expect(try Self.log(path.path, "--since", "5s", "--limit", "2", now: 12).numbers == [9, 10])
        let late = try Self.log(path.path, "--since", "-1h", now: 100_000)
        #expect(late.status == 1 && late.text == "" && late.errors == "")
        // Holes mean nothing where times choose.
        #expect(try Self.log(path.path, "--since", since).lines[0].contains(#""filtered":true"#))
    }

    @Test(arguments: [0, 1, 3, 10, 11]) func theLimitIsTheNewestOnes(limit: Int) throws {
        let journal = try journal()
        let forwards = try Self.log(journal.path, "--limit", "\(limit)")
        let all = Array(1...10)
        #expect(forwards.numbers == all.suffix(limit))
        #expect(forwards.status == (limit == 0 ? 1 : 0))
        let backwards = try Self.log(journal.path, "--limit", "\(limit)", "--reverse")
        #expect(backwards.numbers == all.suffix(limit).reversed())
    }

    // MARK: Other forms

    @Test func recordsAreThoseOfRFC4180() throws {
        let journal = try Lines()
        try journal.add(
            "one",
            [
                Lines.event(1, text: #"a \"quoted\", word"#), Lines.event(2, text: #"=HYPERLINK(\"http://h\")"#),
                Lines.event(3, value: -5, text: #"two\nlines"#), Lines.latency(4, ms: 1.5), Lines.failure(5),
            ])
        let printed = try Self.log(journal.path, "--format", "csv")
        let time = "1970-01-01T00:00:0"
        #expect(
            printed.text
                == [
                    "run,seq,time,type,source,series,value,text",
                    #"one,1,\#(time)1.000000Z,fact,fact,fact,1,"a ""quoted"", word""#,
                    #"one,2,\#(time)2.000000Z,fact,fact,fact,1,"'=HYPERLINK(""http://h"")""#,
                    "one,3,\(time)3.000000Z,fact,fact,fact,-5,\"two\nlines\"",
                    "one,4,\(time)4.000000Z,latency,fact,,1.5,",
                    "one,5,\(time)5.000000Z,error,fact,,,timeout: no answer",
                ].map { $0 + "\r\n" }.joined())
        let shown = try Self.log(journal.path, "--format=csv", isTerminal: true)
        #expect(shown.text.contains("two␊lines"))
    }

    @Test func cellsAreThoseOfThePage() throws {
        for one in try VectorFiles.elements("cases", of: "cells.json", in: "csv") {
            let text = try #require(one.elements.first?.string)
            let cell = try #require(one.elements.last?.string)
            #expect(Array(LogCSV.text(text).utf8) == Array(cell.utf8), "\(text)")
        }
    }

    @Test func nothingThatATerminalWouldObeyGetsThere() throws {
        let journal = try Lines()
        let evil = "\u{9b}31m\u{202e}evil\u{7f}"
        let failure = Lines.failure(4)
        try journal.add(
            "one",
            [
                Lines.event(1, text: evil), Lines.event(2, evil),
                Lines.event(3).replacing(#""type":"fact"#, with: #""type":"\#(evil)"#),
                failure.replacing("no answer", with: evil), failure.replacing("timeout", with: evil),
            ])
        for form in ["ndjson", "csv", "text"] {
            let printed = try Self.log(journal.path, "--format", form, isTerminal: true)
            #expect(printed.text.contains("evil"))
            for scalar in printed.text.unicodeScalars where scalar != "\n" && scalar != "\r" {
                #expect(!Sanitizer.isHidden(scalar), "\(form): \(scalar.value)")
            }
        }
        #expect(try Self.log(journal.path).text.contains(evil))
        #expect(try !Self.log(journal.path, "--format=text").text.contains(evil))
    }

    // MARK: The table

    @Test func theTableHasARowForEachSource() throws {
        let journal = try Lines()
        let latencies = (1...100).map { Lines.latency($0, "dogs", ms: Double($0)) }
        // A window tells of events that were counted.
        let window = Lines.event(9).replacing("fact\",\"source", with: "window\",\"source")
        try journal.add(
            "one",
            [Lines.event(1), Lines.failure(2), Lines.failure(3, "dogs")] + latencies + [Lines.event(9, "dogs"), window])
        let printed = try Self.log(journal.path, "--summary")
        let rows = printed.lines.map { $0.split(separator: " ").map(String.init) }
        #expect(rows[0] == ["source", "events", "answers", "errors", "min", "mean", "p50", "p95", "p99", "max"])
        #expect(rows[1] == ["fact", "1", "0", "1", "–", "–", "–", "–", "–", "–"])
        #expect(rows[2].prefix(6) == ["dogs", "1", "100", "1", "1.000", "50.500"] && rows[2].last == "100.000")
        for (cell, exact) in zip(rows[2].dropFirst(6), [50.0, 95, 99]) {
            #expect(abs((Double(cell) ?? 0) / exact - 1) <= 0.01, "\(cell)")
        }
        #expect(rows[3].first == "105")
        #expect(Set(printed.lines.prefix(3).map(\.count)).count == 1)
        #expect(try Self.log(journal.path, "--summary", "--source", "fact").lines.count == 3)
        #expect(try Self.log(journal.path, "--summary", "--source", "none").status == 1)
    }

    @Test func tooManySourcesShareARow() throws {
        let journal = try Lines()
        let count = JournalSummary.mostSources + 5
        try journal.add("one", (0..<count).map { Lines.event(1, "s\($0)") } + [Lines.event(2, "s1")])
        let rows = try Self.log(journal.path, "--summary").lines
        #expect(rows.count == JournalSummary.mostSources + 3)
        #expect(rows[2].split(separator: " ").prefix(2) == ["s1", "2"])
        #expect(rows[rows.count - 2].hasPrefix("(all others)") && rows[rows.count - 2].contains(" 5 "))
    }

    // MARK: Files that are none

    @Test func whatIsNoJournalIsSaidInOneSentence() throws {
        let folder = try TemporaryFolder()
        try folder.write("{\"type\":\"hello\"}\n", to: "lines")
        try folder.write("", to: "empty")
        mkfifo(folder.path("fifo"), 0o600)
        try JournalOfLines.makeDatabase(folder.path("other"), "CREATE TABLE t (x)")
        let cases = [
            ("missing", "No such file or directory"), ("lines", "no journal: it is no SQLite database"),
            ("empty", "no journal yet: it is empty"), ("fifo", "no journal: it is no ordinary file"),
            ("other", "no journal, but another program's database"),
        ]
        for (name, reason) in cases {
            for form in [[], ["--summary"], ["--follow"]] {
                let printed = try Self.log([folder.path(name)] + form)
                #expect(printed.status == 2 && printed.text == "")
                #expect(printed.errors == "catwatch: \(folder.path(name)): \(reason)\n")
            }
        }
        #expect(try Self.log(folder.path).errors.hasSuffix("no journal: it is no ordinary file\n"))
    }

    /// Does something as a user who may not write in a folder of root's: what is asked of files is asked for this thread's.
    private static func asSomebodyElse<Value>(_ body: () throws -> Value) rethrows -> Value {
        // The module of Glibc has it not. It is there: setfsuid(2).
        let setUser = unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (UInt32) -> Int32).self)
        _ = setUser(65_534)
        defer { _ = setUser(0) }
        return try body()
    }

    /// Its newest lines are in the log beside it, and not to be left out without a word.
    @Test(.enabled(if: geteuid() == 0)) func aJournalThatWasLeftInTheMiddleIsNotReadByHalves() throws {
        let journal = try journal()
        // As after a crash: the log is there, and what leads through it is not.
        let left = try TemporaryFolder()
        for name in ["journal", "journal-wal"] {
            let bytes = try journal.folder.read(name)
            let file = try Descriptor.open(left.path(name), flags: O_WRONLY | O_CREAT, mode: 0o644)
            try bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in
                try Descriptor.write(bytes, to: file.number)
            }
        }
        chmod(left.path, 0o755)
        let output = try TemporaryFolder()
        chmod(output.path, 0o777)
        let printed = try Self.asSomebodyElse { try Self.log([left.path("journal")], to: output) }
        #expect(printed.status == 2 && printed.numbers == [])
        #expect(printed.errors.contains("its newest lines are in \(left.path("journal"))-wal"))
        #expect(try Self.log(left.path("journal")).numbers == Array(1...10))
    }

    // MARK: Going on

    /// What comes out of a log that goes on.
    private final class Reader {
        private let source: DescriptorStream
        private var text: [UInt8] = []
        private var buffer = [UInt8](repeating: 0, count: 4_096)
        /// The lines that came with the last numbers.
        private var lines: [Line] = []

        init(_ source: DescriptorStream) { self.source = source }

        /// The numbers of the next lines that have one: so many, or up to the end.
        func next(_ count: Int) async throws -> [Int] {
            while true {
                let whole = text.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
                lines = whole.compactMap { try? LineDecoder.decode($0) }
                let numbers = lines.compactMap(\.seq)
                if numbers.count >= count {
                    text.removeFirst((text.lastIndex(of: 0x0A) ?? -1) + 1)
                    return numbers
                }
                guard let got = try buffer.withUnsafeMutableBytes({ try source.read(into: $0) }) else {
                    try await source.waitUntilReadable()
                    continue
                }
                guard got > 0 else { return numbers }
                text += buffer[..<got]
            }
        }

        func close() { source.close() }
    }

    /// Follows a journal for as long as `body` reads what comes; then nobody does, which ends it with 0.
    ///
    /// - Returns: what was said besides.
    private static func follow(
        _ arguments: [String], ends expected: Int32 = 0, _ body: @escaping @Sendable (Reader) async throws -> Void
    ) async throws -> String {
        guard case .log(let journal, let options) = try Command.parse(["log", "--follow"] + arguments) else {
            throw UsageError("no log")
        }
        let worker = try LoopThread(name: "following")
        // One that follows for ever is left behind.
        defer { worker.stop(waits: false) }
        return try await withLoop { loop in
            let pipe = try Descriptor.pipe(nonblocking: true)
            let number = try pipe.write.duplicate().release()
            let reader = Reader(try DescriptorStream(owning: try pipe.read.duplicate(), on: loop))
            close(pipe)
            async let followed = loop.offload(to: worker.loop) { () throws -> (Int32, String) in
                defer { Glibc.close(number) }
                var errors = ""
                let command = LogCommand(journal, options, to: number, isTerminal: false, pause: 2) { errors += $0 }
                return (command.run(), errors)
            }
            do {
                try await body(reader)
                reader.close()
            } catch {
                reader.close()
                _ = try? await followed
                throw error
            }
            let (status, errors) = try await followed
            #expect(status == expected)
            return errors
        }
    }

    private static func close(_ pipe: consuming Pipe) {}

    @Test func whatComesIsPrintedWithTheRunsThatBegin() async throws {
        let journal = try journal(of: 1..<21)
        let errors = try await Self.follow([journal.path]) { reader in
            #expect(try await reader.next(10) == Array(11...20))
            try journal.add("one", from: 21, [Lines.event(21), Lines.event(22)])
            #expect(try await reader.next(2) == [21, 22])
            try journal.add("two", [Lines.event(23)])
            try journal.add("three", [Lines.event(24)])
            #expect(try await reader.next(2) == [1, 1])
        }
        #expect(errors == "")
    }

    @Test func aJournalThatIsReplacedIsReadToItsEndAndEndsTheCommand() async throws {
        let journal = try journal(of: 1..<3)
        let errors = try await Self.follow([journal.path], ends: 1) { reader in
            #expect(try await reader.next(2) == [1, 2])
            try journal.add("one", from: 3, [Lines.event(3)])
            journal.store.close()
            rename(journal.path, journal.path + "-moved")
            #expect(try await reader.next(1) == [3])
            #expect(try await reader.next(1) == [])
        }
        #expect(errors.hasPrefix("catwatch: the journal was moved or replaced, so this ends"))
    }

    @Test func pagesThatMakeNoSenseAreSaidBehindWhatCouldBeRead() throws {
        let journal = try journal(of: 1..<2)
        try journal.add("one", from: 2, (2..<600).map { Lines.event($0, text: String(repeating: "x", count: 400)) })
        journal.store.close()
        try journal.alter("PRAGMA wal_checkpoint(TRUNCATE)")
        let file = try Descriptor.open(journal.path, flags: O_WRONLY)
        let noise = [UInt8](repeating: 0xA5, count: 4_096)
        pwrite(file.number, noise, noise.count, 40 * 4_096)
        let printed = try Self.log(journal.path)
        #expect(printed.status == 2)
        #expect(printed.errors == "catwatch: \(journal.path): database disk image is malformed\n")
    }

    // MARK: Runs of Fibonacci

    @Test func everyComputationIsListed() throws {
        let journal = try Lines()
        func sum(_ second: Int, _ n: Int, _ ms: String) -> String {
            let start = Lines.event(second, "fibonacci").dropLast().replacing("\"value\":1", with: "\"value\":\(ms)")
            return start + #","data":{"n":\#(n),"ms":\#(ms)}}"#
        }
        try journal.add(
            "one",
            [
                sum(1, 90, "0.0125"), Lines.event(2),
                Lines.event(2, "fibonacci").dropLast() + #","data":{"n":3,"f":"2"}}"#,
            ])
        try journal.add("two", [sum(3, 100_000, "1234.5")])
        let folder = try TemporaryFolder()
        let output = try Descriptor.open(folder.path("out"), flags: O_WRONLY | O_CREAT)
        var errors = ""
        #expect(FibonacciCommand.printRuns(of: journal.path, to: output.number) { errors += $0 } == 0)
        #expect(
            try String(decoding: folder.read("out"), as: UTF8.self) == """
                N                 ms
                90             0.013
                100000      1234.500

                """)
        let other = try self.journal()
        #expect(FibonacciCommand.printRuns(of: other.path, to: output.number) { errors += $0 } == 1)
        #expect(errors == "")
        #expect(FibonacciCommand.printRuns(of: "/nowhere/j", to: output.number) { errors += $0 } == 2)
        #expect(errors == "catwatch: /nowhere/j: No such file or directory\n")
    }
}
