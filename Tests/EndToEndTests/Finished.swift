import TestSupport
import Testing

/// What a program left when it had ended.
struct Finished: Sendable {
    let ending: ChildProcess.Ending
    let output: [UInt8]
    let errors: String

    init(of program: ChildProcess) async throws {
        ending = try await program.waitForEnd()
        output = await program.outputBytes
        errors = await program.errorText
    }

    /// The lines of the output; fails the test when one is torn.
    func lines(sourceLocation: SourceLocation = #_sourceLocation) throws -> [FeedLine] {
        try FeedLine.lines(output).map { try #require($0, "torn output", sourceLocation: sourceLocation) }
    }

    var outputText: String { String(decoding: output, as: UTF8.self) }
    var errorLines: [Substring] { errors.split(separator: "\n") }
}
