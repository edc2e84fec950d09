import Glibc
import TestSupport
import Testing

/// The hard cases of JSON through every output, and every line read by the readers that Debian has.
@Suite(.limited) struct EveryReaderTests {
    /// Tests/run.sh installs them all, so with it nothing is left out.
    private static let hasReaders: Bool = {
        let readers: [String] = ["/usr/bin/jq", "/usr/bin/mlr", "/usr/bin/node", "/usr/sbin/rsyslogd"]
        return Installation.variable("CATWATCH_BINARY") != nil || readers.allSatisfy { access($0, X_OK) == 0 }
    }()

    @Test(.enabled(if: Installation.hasPython && hasReaders))
    func everyReaderTakesEveryLine() async throws {
        try await Stage.run { stage in
            let python = try #require(Installation.python)
            let trial = "\(Installation.root)/Tests/python/every_reader.py"
            let run = try await Finished(
                of: stage.bash("PYTHONDONTWRITEBYTECODE=1 TMPDIR=$folder exec '\(python)' '\(trial)' $catwatch"))
            #expect(run.ending == .exited(0), "\(run.outputText)\n\(run.errors)")
            let taken = run.outputText.split(separator: "\n").map { $0.split(separator: " ") }
            #expect(taken.map(\.first) == ["strict:", "jq:", "Miller:", "Python:", "Node:", "mmjsonparse:"])
            // Over a hundred documents, by two ways in and five out.
            for line in taken { #expect(line.count == 4 && line[1] == line[3] && (Int(line[3]) ?? 0) > 1_000) }
        }
    }
}
