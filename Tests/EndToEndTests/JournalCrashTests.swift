import Glibc
import TestSupport
import Testing

/// What machines do to a journal, by Tests/python/journal_trials.py: it says what each of them is.
@Suite(.limited) struct JournalCrashTests {
    @Test(.enabled(if: Installation.hasPython), arguments: ["kill", "moved", "copies", "faults", "full"])
    func aJournalKeepsWhatItPromises(trial: String) async throws {
        try await Stage.run { stage in
            let python = try #require(Installation.python)
            var launch = Launch(
                python,
                ["\(Installation.root)/Tests/python/journal_trials.py", Installation.program, trial]
                    + (LongRun.isOn ? ["--long"] : []))
            launch.environment = ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
            let run = try await Finished(
                of: stage.start(launch, deadline: LongRun.isOn ? .seconds(3_000) : ChildProcess.patience))
            #expect(run.ending == .exited(0), "\(run.outputText)\n\(run.errors)")
            #expect(!run.output.isEmpty)
            print(run.outputText)
        }
    }
}
