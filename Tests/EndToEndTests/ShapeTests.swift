import Glibc
import TestSupport
import Testing

/// What the running process looks like from outside.
@Suite(.limited) struct ShapeTests {
    @Test func thereIsOneThreadAndNoFoundation() async throws {
        try await Stage.run { stage in
            let url = try await stage.url("/fact")
            let program = try await stage.catwatch(["-u", url, "-u", url, "-e", "10ms"])
            for count in [2, 20, 100] {
                try await stage.waitForRequests(count)
                #expect(try ProcessFile.names(in: "task", of: program.id).count == 1)
            }
            let maps = try ProcessFile.text("maps", of: program.id)
            #expect(maps.contains("/libcurl.so") && maps.contains("/catwatch\n"))
            if Installation.isRelease {
                for unwanted in ["Foundation", "libicu", "libdispatch", "BlocksRuntime", "libswift"] {
                    #expect(!maps.contains(unwanted), "\(unwanted) is loaded")
                }
            }
            try await program.signal(SIGTERM)
            #expect(try await program.waitForEnd() == .exited(0))
        }
    }

    @Test func namesAreResolvedByFewThreads() async throws {
        try await Stage.run { stage in
            let port = try await stage.origin().split(separator: ":").last ?? ""
            let url = "http://localhost:\(port)/fact"
            let program = try await stage.catwatch(["-u", url, "-u", url, "-e", "10ms"])
            for count in [2, 20, 100] {
                try await stage.waitForRequests(count)
                // One resolver for each source at most.
                #expect(try ProcessFile.names(in: "task", of: program.id).count <= 3)
            }
            try await program.signal(SIGTERM)
            #expect(try await program.waitForEnd() == .exited(0))
        }
    }

    @Test func descriptorsDoNotPileUp() async throws {
        try await Stage.run { stage in
            // Every answer costs its connection.
            let program = try await stage.catwatch([
                "-u", stage.url("/fault/truncated/breeds"), "-u", stage.url("/fault/flaky?id=x&fail=9"), "-u",
                stage.url("/fact"), "-e", "10ms",
            ])
            try await stage.waitForRequests(30)
            let before = try ProcessFile.names(in: "fd", of: program.id).count
            try await stage.waitForRequests(300)
            let after = try ProcessFile.names(in: "fd", of: program.id).count
            #expect(after <= before + 3, "\(before), then \(after)")
            try await program.signal(SIGTERM)
            #expect(try await program.waitForEnd() == .exited(0))
        }
    }
}
