import Glibc
import Reactor
import TestSupport
import Testing

/// How long a turn of the loop is: what is ready outside must not wait for all that there is to do inside.
@Suite(.limited) struct TurnTests {
    /// Work for a loop, and how much of it was done when the loop noticed a byte that came after the first piece of it.
    private final class Pieces: @unchecked Sendable {  // touched on one loop only
        private let loop: EventLoop
        private let pipe: Pipe
        private let noticed: Wakeup
        private var watch: Watch?
        private(set) var done = 0
        private var doneWhenNoticed: Int?

        init(on loop: EventLoop) throws {
            self.loop = loop
            pipe = try Descriptor.pipe()
            noticed = Wakeup(loop: loop)
            watch = try loop.watch(pipe.read.number, interest: [.read, .edgeTriggered]) { [unowned self] _ in
                doneWhenNoticed = done
                noticed.open()
            }
        }

        deinit { watch?.cancel() }

        var isNoticed: Bool { doneWhenNoticed != nil }

        func doOne(for duration: Duration = .zero) {
            if done == 0 { _ = write(pipe.write.number, "x", 1) }
            done += 1
            let end = loop.clock.now.advanced(by: duration)
            while loop.clock.now < end {}
        }

        func untilNoticed() async throws -> Int {
            try await noticed.wait()
            return doneWhenNoticed ?? 0
        }
    }

    @Test(arguments: [false, true]) func aYieldLetsDescriptorsHaveTheirTurn(isVirtual: Bool) async throws {
        try await withLoop(virtual: isVirtual) { loop in
            let pieces = try Pieces(on: loop)
            while !pieces.isNoticed {
                pieces.doOne()
                try await loop.sleep(for: .zero)
            }
            #expect(pieces.done == 1)
        }
    }

    @Test func dueTimersAreBoundedByTime() async throws {
        try await withLoop { loop in
            let pieces = try Pieces(on: loop)
            for _ in 0..<10_000 { loop.schedule(after: .zero) { pieces.doOne(for: .microseconds(5)) } }
            // 50 fill a turn, and 31 more may come before the clock is looked at.
            #expect(try await pieces.untilNoticed() <= 100)
            while pieces.done < 10_000 { try await loop.sleep(for: .zero) }
            #expect(loop.timerCount == 0)
        }
    }

    @Test func jobsAreBoundedByTime() async throws {
        try await withLoop { loop in
            let pieces = try Pieces(on: loop)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<1_000 { group.addTask { pieces.doOne(for: .microseconds(50)) } }
                #expect(await (try? pieces.untilNoticed()) ?? .max <= 40)
            }
            #expect(pieces.done == 1_000)
        }
    }

    @Test func jobsHaveTheirTurnBesideTimersThatFillIt() async throws {
        try await withLoop { loop in
            let pieces = try Pieces(on: loop)
            for _ in 0..<20 { loop.schedule(after: .zero) { pieces.doOne(for: .milliseconds(1)) } }
            while pieces.done == 0 { await Task.yield() }
            // This job came back when at most a few of them had been done, and so do the next ones.
            var last = pieces.done
            while last < 20 {
                await Task.yield()
                #expect(pieces.done - last <= 32)
                last = pieces.done
            }
        }
    }

    @Test func virtualTimeIsBoundedByStepsOnly() async throws {
        try await withLoop(virtual: true) { loop in
            let pieces = try Pieces(on: loop)
            for _ in 0..<2_000 { loop.schedule(after: .zero) { pieces.doOne() } }
            #expect(try await pieces.untilNoticed() == 512)
            try await loop.sleep(for: .zero)
            #expect(pieces.done == 2_000)
        }
    }

    @Test func lagIsTheMostThatATimerWasLateSinceItWasAskedFor() async throws {
        try await withLoop(virtual: true) { loop in
            #expect(loop.resetLag() == .zero)
            for late in [10, 30, 20] {
                loop.schedule(at: loop.clock.now.advanced(by: .milliseconds(-late))) {}
                try await loop.sleep(for: .milliseconds(1))
            }
            #expect(loop.resetLag() == .milliseconds(30))
            #expect(loop.resetLag() == .zero)
            loop.schedule(at: loop.clock.now.advanced(by: .milliseconds(-5))) {}
            try await loop.sleep(for: .milliseconds(1))
            #expect(loop.resetLag() == .milliseconds(5))
        }
    }
}
