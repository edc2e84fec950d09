import Glibc
import TestSupport
import Testing

/// examples/fleet, run as its README says.
@Suite(.limited) struct FleetDemoTests {
    /// Tests/run.sh installs what it needs, so with it nothing is left out.
    private static func has(_ path: String) -> Bool {
        access(path, X_OK) == 0 || Installation.variable("CATWATCH_BINARY") != nil
    }

    /// Three servers, of which one is killed, five agents, and the fleet that reads them: the script says itself what is wrong.
    @Test(.enabled(if: has("/usr/sbin/nats-server")))
    func noLineIsMissingWhenAServerIsKilled() async throws {
        try await Stage.run { stage in
            var launch = Launch("\(Installation.root)/examples/fleet/demo.sh", ["--check"])
            launch.environment = [
                "CATWATCH_BINARY": Installation.program, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "PYTHONDONTWRITEBYTECODE": "1",
            ]
            let run = try await Finished(of: stage.start(launch, deadline: .seconds(200)))
            #expect(run.ending == .exited(0), "\(run.outputText)\n\(run.errors)")
            #expect(run.outputText.contains(" lines of 5 agents; "))
            print(run.outputText)
        }
    }

    @Test(.enabled(if: has("/usr/sbin/nats-server") && has("/usr/bin/systemd-analyze")))
    func systemdTakesTheServersPart() async throws {
        try await Stage.run { stage in
            let program = try await stage.bash(
                """
                units=$(mktemp -d)
                trap 'rm -rf "$units"' EXIT
                mkdir "$units/nats-server.service.d"
                cp /lib/systemd/system/nats-server.service "$units/"
                cp '\(Installation.root)/examples/fleet/systemd/nats-server.conf' "$units/nats-server.service.d/"
                systemd-analyze verify "$units/nats-server.service"
                """)
            let run = try await Finished(of: program)
            #expect(run.ending == .exited(0) && run.errors == "", "\(run.errors)")
        }
    }
}
