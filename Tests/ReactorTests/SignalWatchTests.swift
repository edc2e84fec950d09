import Glibc
import Reactor
import TestSupport
import Testing

/// Signals are sent to the loop's own thread, and blocked in that one only: the thread ends with the test.
@Suite(.limited) struct SignalWatchTests {
    @Test func deliversTheSignalsOfItsThread() async throws {
        try await withLoop { loop in
            let log = Log<Int32>()
            let arrived = Wakeup(loop: loop)
            let watch = try SignalWatch([SIGUSR1, SIGUSR2, SIGWINCH], on: loop) { number in
                log.entries.append(number)
                arrived.signal()
            }
            for number in [SIGUSR1, SIGUSR2, SIGWINCH, SIGUSR1] {
                pthread_kill(pthread_self(), number)
                #expect(log.entries.last != number)
                while log.entries.last != number { try await arrived.wait() }
            }
            #expect(log.entries == [SIGUSR1, SIGUSR2, SIGWINCH, SIGUSR1])
            watch.cancel()
        }
    }

    @Test func deliversSeveralThatCameTogether() async throws {
        try await withLoop { loop in
            let log = Log<Int32>()
            let arrived = Wakeup(loop: loop)
            let watch = try SignalWatch([SIGUSR1, SIGUSR2], on: loop) { number in
                log.entries.append(number)
                if log.entries.count == 2 { arrived.signal() }
            }
            pthread_kill(pthread_self(), SIGUSR2)
            pthread_kill(pthread_self(), SIGUSR1)
            try await arrived.wait()
            #expect(Set(log.entries) == [SIGUSR1, SIGUSR2])
            watch.cancel()
        }
    }

    /// It is cancelled, or let go of, by the handler itself, while another signal is pending.
    @Test(arguments: [false, true]) func deliversNothingAfterItsEnd(isLetGoOf: Bool) async throws {
        try await withLoop { loop in
            let log = Log<Int32>()
            let holder = Log<SignalWatch>()
            let arrived = Wakeup(loop: loop)
            holder.entries = [
                try SignalWatch([SIGUSR1, SIGUSR2], on: loop) { number in
                    log.entries.append(number)
                    if isLetGoOf { holder.entries = [] } else { holder.entries[0].cancel() }
                    arrived.signal()
                }
            ]
            pthread_kill(pthread_self(), SIGUSR1)
            pthread_kill(pthread_self(), SIGUSR2)
            try await arrived.wait()
            await letOthersRun()
            try await loop.sleep(for: .milliseconds(1))  // the descriptors have been looked at since
            #expect(log.entries.count == 1)
            holder.entries = []
        }
    }
}
