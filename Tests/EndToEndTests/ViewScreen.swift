import Glibc
import Reactor
import TestSupport
import Testing

/// A program in a pseudo-terminal, and its screen as a terminal emulator that is not ours has it: pyte, by way of
/// terminal_driver.py.
///
/// The terminal is read while something is asked of it, and stalls in between.
final class ViewScreen {
    /// How the program ended, and whether the terminal was left as it had been.
    struct Left {
        /// The exit status, negative for a signal.
        let status: Int?
        /// What of the terminal is not as it was.
        let changed: [String]
        /// What was written after the screen was given back.
        let after: String
    }

    /// The program's process.
    private(set) var id: Int32 = 0
    private let stage: Stage
    private let driver: ChildProcess
    private var answers = 0

    /// A crash in a terminal would have the toolchain's backtracer wait for a key.
    static let environment = [
        "TERM": "xterm-256color", "LANG": "C.UTF-8", "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
    ]

    /// Starts a program; catwatch unless another one is named.
    init(
        _ stage: Stage, _ arguments: [String], columns: Int = 80, rows: Int = 24, environment: [String: String] = [:],
        program: String = Installation.program
    ) async throws {
        self.stage = stage
        let python = try #require(Installation.python, "CATWATCH_PYTHON is not set")
        var launch = Launch(python, ["\(Installation.root)/Tests/python/terminal_driver.py"])
        launch.environment = ["PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"]
        launch.input = .pipe
        driver = try await stage.start(launch)
        let words = ([program] + arguments).map(Self.quoted).joined(separator: ",")
        let variables = Self.environment.merging(environment) { $1 }.filter { !$0.value.isEmpty }
            .map { "\(Self.quoted($0.key)):\(Self.quoted($0.value))" }.joined(separator: ",")
        let answer = try await ask(
            #""do":"start","argv":[\#(words)],"env":{\#(variables)},"columns":\#(columns),"rows":\#(rows)"#)
        id = Int32(try #require(answer.number("pid")))
    }

    // MARK: What it shows

    /// Waits until the screen has a regular expression, which may span rows; returns its rows at that moment.
    @discardableResult
    func wait(for pattern: String) async throws -> [String] {
        let answer = try await ask(#""do":"wait","text":\#(Self.quoted(pattern))"#)
        return try rows(answer, "waited in vain for '\(pattern)'")
    }

    /// Waits until the screen has it no more.
    @discardableResult
    func waitUntilGone(_ pattern: String) async throws -> [String] {
        let answer = try await ask(#""do":"wait","text":\#(Self.quoted(pattern)),"gone":true"#)
        return try rows(answer, "waited in vain for the end of '\(pattern)'")
    }

    /// What it shows now.
    func rows() async throws -> [String] { try rows(await ask(#""do":"screen""#), "no frame came to its end") }

    private func rows(_ answer: FeedLine, _ complaint: String) throws -> [String] {
        let text = answer.string("rows") ?? ""
        guard answer.raw("ok") == "true" else { throw ChildProcess.Failed("\(complaint):\n\(text)\n") }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Waits until the screen has something, as said by its rows.
    func wait<Found>(until what: String, _ find: ([String]) throws -> Found?) async throws -> Found {
        var last: [String] = []
        for _ in 0..<400 {
            last = try await rows()
            if let found = try find(last) { return found }
            try await stage.loop.sleep(for: .milliseconds(50))
        }
        throw ChildProcess.Failed("waited in vain until \(what):\n\(last.joined(separator: "\n"))\n")
    }

    /// Waits until both show the same, and returns that.
    func waitToShow(the other: ViewScreen) async throws -> [String] {
        var (mine, theirs): ([String], [String]) = ([], [])
        for _ in 0..<200 {
            (mine, theirs) = (try await rows(), try await other.rows())
            if mine == theirs { return mine }
            // A clock's digit lies between the two looks.
            try await stage.loop.sleep(for: .milliseconds(50))
        }
        throw ChildProcess.Failed("they differ:\n\(mine.joined(separator: "\n"))\n\(theirs.joined(separator: "\n"))")
    }

    /// How often the bytes that came since the start have a regular expression of bytes.
    func count(_ pattern: String) async throws -> Int {
        Int(try #require(await ask(#""do":"raw","pattern":\#(Self.quoted(pattern))"#).number("count")))
    }

    /// Waits until the bytes that came have it.
    func find(_ pattern: String) async throws {
        _ = try rows(await ask(#""do":"find","pattern":\#(Self.quoted(pattern))"#), "'\(pattern)' never came")
    }

    // MARK: What is done to it

    /// Types; nothing is waited for.
    func type(_ text: String) async throws { _ = try await ask(#""do":"type","text":\#(Self.quoted(text))"#) }

    /// Types, and waits until the screen has a regular expression.
    @discardableResult
    func type(_ text: String, for pattern: String) async throws -> [String] {
        try await type(text)
        return try await wait(for: pattern)
    }

    func resize(columns: Int, rows: Int) async throws {
        _ = try await ask(#""do":"resize","columns":\#(columns),"rows":\#(rows)"#)
    }

    /// Reads nothing until the terminal takes nothing more.
    func fill() async throws { _ = try rows(await ask(#""do":"fill""#), "the terminal took everything") }

    func signal(_ number: Int32) throws {
        guard kill(id, number) == 0 else { throw ChildProcess.Failed("no process \(id) for signal \(number)") }
    }

    /// Whether the terminal's modes are those that it was started with.
    func hasFirstModes() async throws -> Bool { try await ask(#""do":"modes""#).raw("ok") == "true" }

    /// Closes the terminal; returns the exit status, and how many looks of 5 ms or more it took to come.
    func hangUp() async throws -> (status: Int?, looks: Int) {
        let answer = try await ask(#""do":"hang-up""#)
        return (answer.number("status").map { Int($0) }, Int(try #require(answer.number("looks"))))
    }

    /// Waits for the program's exit.
    func end() async throws -> Left {
        let answer = try await ask(#""do":"end""#)
        let changed = ["modes", "screen", "cursor", "wrapping", "pasting"].filter { answer.raw($0) != "true" }
        return Left(
            status: answer.number("status").map { Int($0) }, changed: changed, after: answer.string("after") ?? "")
    }

    private func ask(_ members: String) async throws -> FeedLine {
        try await driver.write(Array("{\(members)}\n".utf8))
        answers += 1
        let number = answers
        return try await driver.wait(for: "answer \(number)") { driver in
            let lines = driver.outputBytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            // What follows the last newline is not whole.
            guard lines.count > number else { return nil as FeedLine? }
            guard let line = FeedLine(lines[number - 1]) else { throw ChildProcess.Failed("torn answer \(number)") }
            return line
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
