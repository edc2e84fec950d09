import Feed
import Glibc
import TestSupport
import Testing

/// Compared with `float()` of Python, which makes the numbers, too: Tests/python/number_oracle.py.
@Suite(.limited) struct JSONNumberOracleTests {
    private static let python = getenv("CATWATCH_PYTHON").map { String(cString: $0) } ?? "/usr/bin/python3"

    @Test(.enabled(if: access(python, X_OK) == 0, "no Python to ask"))
    func readsNumbersAsPythonDoes() throws {
        let seed = 90
        let count = LongRun.rounds(short: 5_000, long: 10_000_000)
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
        let command = "'\(Self.python)' '\(root)/python/number_oracle.py' \(seed) \(count)"
        let pipe = try #require(popen(command, "r"))
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var lines = 0
        while case let length = getline(&line, &capacity, pipe), length > 0, let line {
            let text = UnsafeRawBufferPointer(start: line, count: length - 1).bindMemory(to: UInt8.self)
            let space = try #require(text.firstIndex(of: UInt8(ascii: " ")))
            let bits = try #require(UInt64(String(decoding: text[(space + 1)...], as: UTF8.self), radix: 16))
            let expected = Double(bitPattern: bits)
            let number = JSONNumber.double(UnsafeBufferPointer(rebasing: text[..<space]))
            if number?.bitPattern != (expected.isFinite ? bits : nil) {
                let said = String(decoding: text[..<space], as: UTF8.self)
                Issue.record(
                    "seed \(seed), line \(lines): \(said) was \(number.map { "\($0)" } ?? "nil"), not \(expected)")
            }
            lines += 1
        }
        #expect(pclose(pipe) == 0)
        #expect(lines == count)
    }
}
