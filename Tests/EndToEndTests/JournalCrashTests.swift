import TestSupport
import Testing

/// What machines do to a journal, by Tests/python/journal_trials.py: it says what each of them is.
@Suite(.limited) struct JournalCrashTests {
    @Test(.enabled(if: Installation.hasPython), arguments: LongRun.isOn ? ["kill", "faults", "full"] : ["kill"])
    func aJournalKeepsWhatItPromises(trial: String) async throws {
        try await Stage.run { try await $0.passTrial("journal_trials.py", [trial]) }
    }
}
