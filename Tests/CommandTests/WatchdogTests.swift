import CLinux
import Feed
import Glibc
import Outputs
import Reactor
import TestSupport
import Testing

@testable import catwatch

/// Signs of life in virtual time, with a datagram socket in the service manager's place.
@Suite(.limited) struct WatchdogTests {
    @Test func livesOnlyWhileAttemptsComeToSomethingInTime() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notify.sock")
        let manager = Descriptor(owning: try systemCall("socket") { cw_datagram_socket() })
        let number = manager.number
        try systemCall("bind") { cw_bind_unix(number, path) }
        let counts = try await withLoop(virtual: true) { loop in
            let polls = PollRequests(on: loop)
            let service = ServiceManager(environment: ["NOTIFY_SOCKET": path])
            guard let service else { return [Int]() }
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Watchdog(polls: polls, on: loop, service: service, interval: .seconds(10)).run()
                }
                var counts: [Int] = []
                // An attempt is expected within 12 s; it says itself when it is done, and when the next one has to be.
                await polls.expect("fact", by: loop.clock.now.advanced(by: .seconds(12)))
                try await loop.sleep(for: .seconds(11))
                counts.append(Self.heard(number))  // at 0, 5 and 10 s
                try await loop.sleep(for: .seconds(60))
                counts.append(Self.heard(number))  // the attempt is overdue
                await polls.expect("fact", by: loop.clock.now.advanced(by: .seconds(12)))
                try await loop.sleep(for: .seconds(11))
                counts.append(Self.heard(number))  // at 75 and 80 s
                group.cancelAll()
                return counts
            }
        }
        #expect(counts == [3, 0, 2])
        _ = consume manager
    }

    private static func heard(_ number: Int32) -> Int {
        var buffer = [UInt8](repeating: 0, count: 64)
        var count = 0
        while case let length = recv(number, &buffer, buffer.count, Int32(MSG_DONTWAIT)), length > 0 {
            count += String(decoding: buffer[..<length], as: UTF8.self) == "WATCHDOG=1" ? 1 : 0
        }
        return count
    }
}
