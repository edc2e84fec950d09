import Glibc
import TestSupport
import Testing

/// Twenty agents and a fleet, ended and killed, by Tests/python/fleet_trials.py: it says what each of them is.
@Suite(.limited) struct FleetTrialTests {
    @Test(.enabled(if: Installation.hasPython), arguments: LongRun.isOn ? ["term", "kill"] : ["term"])
    func aFleetHasEachLineOnceWhoeverEnds(trial: String) async throws {
        try await Stage.run { stage in
            let python = try #require(Installation.python)
            var launch = Launch(
                python, ["\(Installation.root)/Tests/python/fleet_trials.py", Installation.program, trial])
            launch.environment = ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
            let run = try await Finished(of: stage.start(launch, deadline: .seconds(240)))
            #expect(run.ending == .exited(0), "\(run.outputText)\n\(run.errors)")
            print(run.outputText)
        }
    }
}
