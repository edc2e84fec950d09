import Glibc
import TestSupport
import Testing

/// Real servers of NATS, and what happens to them, by Tests/python/nats_trials.py and nats_fleet_trials.py: these say what each of the
/// trials is.
@Suite(.limited) struct NatsTests {
    /// Tests/run.sh installs them, so with it nothing is left out.
    private static let canRun =
        Installation.hasPython
        && (access("/usr/sbin/nats-server", X_OK) == 0 || Installation.variable("CATWATCH_BINARY") != nil)

    /// Of the servers, of who is let in, and of what a stream forgets. They wait for elections of leaders, for minutes.
    private static let trials = [
        "overtaken", "leader", "access", "cut", "stopped", "tls", "setup", "rights", "names", "slow", "lines",
    ]
    /// The same for those who read; by default the short ones.
    private static let fleetTrials =
        ["hostile", "ready"] + (LongRun.isOn ? ["fleet", "restart", "anew", "times", "reader", "asked"] : [])

    @Test(.enabled(if: canRun && LongRun.isOn), arguments: trials)
    func aStreamHasWhatWasWatched(trial: String) async throws { try await run("nats_trials", trial) }

    @Test(.enabled(if: canRun), arguments: fleetTrials)
    func aFleetHasWhatAStreamHad(trial: String) async throws { try await run("nats_fleet_trials", trial) }

    private func run(_ script: String, _ trial: String) async throws {
        try await Stage.run { stage in
            let python = try #require(Installation.python)
            var launch = Launch(
                python,
                ["\(Installation.root)/Tests/python/\(script).py", Installation.program, trial]
                    + (LongRun.isOn ? ["--long"] : []))
            launch.environment = ["PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
            let run = try await Finished(
                of: stage.start(launch, deadline: LongRun.isOn ? .seconds(1_200) : ChildProcess.patience))
            #expect(run.ending == .exited(0), "\(run.outputText)\n\(run.errors)")
            #expect(!run.output.isEmpty)
            print(run.outputText)
        }
    }
}
