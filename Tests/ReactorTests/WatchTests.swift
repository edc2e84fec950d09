import Glibc
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct WatchTests {
    @Test func reportsThatAPipeCanBeRead() async throws {
        try await withLoop { loop in
            let pipe = try Descriptor.pipe()
            let wakeup = Wakeup(loop: loop)
            let watch = try loop.watch(pipe.read.number, interest: .read) { readiness in
                if readiness.contains(.read) { wakeup.signal() }
            }
            try systemCall("write") { write(pipe.write.number, "x", 1) }
            try await wakeup.wait()
            watch.cancel()
        }
    }

    @Test func dropsTheEventsOfADescriptorThatWasClosedAndReusedInTheSameTurn() async throws {
        try await withLoop { loop in
            let state = Reuse()
            let first = try Descriptor.pipe()
            let second = try Descriptor.pipe()
            let other = try Descriptor.pipe()
            state.pipes = [try first.read.duplicate().release(), try second.read.duplicate().release()]
            let numbers = state.pipes
            let done = Wakeup(loop: loop)
            // Whichever handler runs first closes the other one's descriptor and registers a new file under its number.
            for index in 0..<2 {
                state.watches.append(
                    try loop.watch(numbers[index], interest: .read) { _ in
                        state.calls += 1
                        let victim = 1 - index
                        state.watches[victim].cancel()
                        // It closes what has that number; closed before, another test's thread could get it meanwhile.
                        dup2(other.read.number, state.pipes[victim])
                        state.reused = try? loop.watch(state.pipes[victim], interest: .read) { _ in
                            state.strayCalls += 1
                        }
                        state.watches[index].cancel()
                        done.signal()
                    })
            }
            try systemCall("write") { write(first.write.number, "x", 1) }
            try systemCall("write") { write(second.write.number, "x", 1) }
            try await done.wait()
            try await loop.sleep(for: .milliseconds(5))
            #expect(state.calls == 1)
            #expect(state.strayCalls == 0)
            #expect(state.reused != nil)
            state.reused?.cancel()
            for number in state.pipes { close(number) }
        }
    }

    private final class Reuse: @unchecked Sendable {  // touched on one loop only
        var pipes: [Int32] = []
        var watches: [Watch] = []
        var reused: Watch?
        var calls = 0
        var strayCalls = 0
    }

    @Test func refusesARegularFile() async throws {
        try await withLoop { loop in
            let file = try Descriptor.open("/proc/self/exe", flags: O_RDONLY)
            #expect(throws: SystemError(code: EPERM, call: "epoll_ctl")) {
                _ = try loop.watch(file.number, interest: .read) { _ in }
            }
        }
    }
}
