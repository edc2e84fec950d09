import Outputs
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct NoticesTests {
    /// Whoever says it, and whatever it is.
    @Test func nothingThatItSaysActsOnATerminal() async throws {
        try await withLoop(virtual: true) { loop in
            let (screen, stream) = SimulatedStream.pair(on: loop)
            let ends = LoopBound((screen, stream))
            let notices = Notices(on: loop)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await notices.run { _ in ends.value.1 } }
                await notices.say("catwatch: a\u{1B}[31mb\u{9B}2J\r\nsecond\u{202E}\n")
                try await loop.sleep(for: .seconds(1))
                await notices.show("bar\u{7}\n")
                try await loop.sleep(for: .seconds(1))
                group.cancelAll()
            }
            let text = String(decoding: try StreamOutputTests.drain(ends.value.0), as: UTF8.self)
            #expect(text == "catwatch: a␛[31mb\\u{9b}2J␍\nsecond\\u{202e}\n\rbar␇␊", "\(text.debugDescription)")
        }
    }

    /// Also when nothing is said after it.
    @Test func whatIsHeldIsWrittenWhenTheHoldEnds() async throws {
        try await withLoop(virtual: true) { loop in
            let (screen, stream) = SimulatedStream.pair(on: loop)
            let ends = LoopBound((screen, stream))
            let notices = Notices(on: loop)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try? await notices.run { _ in ends.value.1 } }
                await notices.hold()
                await notices.say("catwatch: held\n")
                try await loop.sleep(for: .seconds(1))
                #expect(try StreamOutputTests.drain(ends.value.0) == [])
                await notices.release()
                try await loop.sleep(for: .seconds(1))
                #expect(try StreamOutputTests.drain(ends.value.0) == Array("catwatch: held\n".utf8))
                group.cancelAll()
            }
        }
    }
}
