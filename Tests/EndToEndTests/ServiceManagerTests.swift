import CLinux
import Glibc
import Reactor
import TestSupport
import Testing

/// What a service manager hears and hands over, with a datagram socket of the test's in its place.
@Suite(.limited) struct ServiceManagerTests {
    @Test func hearsOfTheStartAReloadAndTheEnd() async throws {
        try await Stage.run { stage in
            let manager = try NotifySocket(in: stage.folder)
            let file = "\(stage.folder)/feed.ndjson"
            let agent = try await stage.catwatch(
                ["-u", stage.url("/fact"), "-e", "10ms", "-o", "none", "--output-file", file],
                environment: ["NOTIFY_SOCKET": manager.path])
            try await stage.wait(for: "READY=1") { manager.receive().contains("READY=1\nSTATUS=watching fact") }
            try await stage.wait(for: "lines in the file") { FileContent.bytes(file).count > 1_000 }
            #expect(rename(file, file + ".1") == 0)
            try await agent.signal(SIGHUP)
            try await stage.wait(for: "the reload's end") { manager.receive().last == "READY=1" }
            let reloading = try #require(manager.received.dropLast().last)
            #expect(reloading.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
            try await stage.wait(for: "the new file") { FileContent.bytes(file).count > 1_000 }
            try await agent.signal(SIGTERM)
            #expect(try await agent.waitForEnd() == .exited(0))
            #expect(manager.receive().last == "STOPPING=1")
            #expect(manager.received.count == 4)
            // Nothing was lost or written twice on the way from one file to the other.
            let lines = FeedLine.lines(FileContent.bytes(file + ".1") + FileContent.bytes(file))
            let numbers = lines.compactMap { $0?.seq }.filter { $0 > 0 }
            #expect(numbers == Array(1...numbers.count))
            #expect(lines.allSatisfy { $0 != nil })
        }
    }

    @Test func hearsThatItLivesWhilePollsFail() async throws {
        try await Stage.run { stage in
            let manager = try NotifySocket(in: stage.folder)
            let port = try await stage.closedPort()
            let agent = try await stage.catwatch(
                ["-u", "http://127.0.0.1:\(port)/fact", "-e", "20ms", "-o", "none", "-q"],
                environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "40000"])
            try await stage.wait(for: "five signs of life") {
                manager.receive().count { $0 == "WATCHDOG=1" } >= 5
            }
            await agent.end()
        }
    }

    @Test func ignoresAWatchdogThatIsAnotherProcesss() async throws {
        try await Stage.run { stage in
            let manager = try NotifySocket(in: stage.folder)
            let run = try await stage.finish(
                ["-u", stage.url("/fact"), "-e", "10ms", "-n", "30", "-o", "none", "-q"],
                environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"])
            #expect(run.ending == .exited(0))
            #expect(manager.receive() == ["READY=1\nSTATUS=watching fact", "STOPPING=1"])
        }
    }

    @Test(.enabled(if: access("/usr/bin/systemd-socket-activate", X_OK) == 0))
    func servesOnASocketThatWasHandedOver() async throws {
        try await Stage.run { stage in
            let path = "\(stage.folder)/handed.sock"
            let program = try await stage.bash(
                """
                systemd-socket-activate -l "\(path)" "$catwatch" -u '\(stage.url("/fact"))' -e 10ms -n 50 -o none -q &
                until [[ -S \(path) ]]; do read -rt 0.01 <> <(:) || :; done
                "$catwatch" --attach="\(path)" --no-reconnect -o ndjson
                wait
                """)
            let run = try await Finished(of: program)
            let lines = try run.lines()
            #expect(lines.count(where: \.isData) == 50, "\(run.errors)")
            #expect(lines.first?.type == "hello" && lines.last?.type == "bye")
        }
    }
}

/// A datagram socket in the service manager's place.
private final class NotifySocket: @unchecked Sendable {  // used by one test's task
    let path: String
    private let number: Int32
    private(set) var received: [String] = []

    init(in folder: String) throws {
        path = "\(folder)/notify.sock"
        number = try systemCall("socket") { cw_datagram_socket() }
        try systemCall("bind", on: path) { cw_bind_unix(number, path) }
    }

    deinit { close(number) }

    /// All that came since the beginning, one string a datagram.
    func receive() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
            received.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
        return received
    }
}
