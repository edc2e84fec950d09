import Nats
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct NatsFenceTests {
    private static let now = LoopInstant(nanoseconds: 0)

    /// One message of it is stored, and the next one was refused.
    private static func refused() -> NatsFence {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: now)
        fence.send()
        _ = fence.accept(NatsReceipt(sequence: 1))
        fence.send()
        fence.refuse()
        return fence
    }

    @Test func aServerThatIsBehindIsNotBelievedAtOnce() {
        var fence = NatsFence(run: "r")
        #expect(fence.step == .look && fence.see(nil, at: Self.now) == .clear)
        fence.send()
        #expect(fence.accept(NatsReceipt(sequence: 7)) && fence.step == .send(id: "r-2", expected: 7))
        fence.send()
        fence.refuse()
        let old = NatsStored(sequence: 7, id: "r-1", host: nil)
        #expect(fence.step == .look && fence.see(old, at: Self.now) == .outdated && fence.step == .look)
        #expect(fence.see(NatsStored(sequence: 9, id: "r-2", host: nil), at: Self.now) == .stored)
        #expect(fence.step == .send(id: "r-3", expected: 9))
        // A stream that was made anew counts from 1.
        fence.send()
        fence.refuse()
        let new = NatsStored(sequence: 2, id: "x-1", host: "h")
        for _ in 0..<5 { #expect(fence.see(new, at: Self.now) == .outdated) }
        #expect(fence.see(new, at: Self.now) == .taken(by: "h"))
        // The count is of servers that are behind in a row, and this one ended the row.
        #expect(fence.see(new, at: Self.now) == .outdated)
    }

    @Test func aTwinThatCallsItsMessagesTheSameIsAConflict() {
        var fence = Self.refused()
        #expect(fence.see(NatsStored(sequence: 3, id: "r-3", host: "h"), at: Self.now) == .taken(by: "h"))
    }

    @Test func silenceIsCountedFromTheOthersLastMessage() {
        var fence = Self.refused()
        let other = NatsStored(sequence: 9, id: "x-1", host: "h")
        let later = Self.now.advanced(by: NatsFence.silence)
        #expect(fence.see(other, at: Self.now) == .taken(by: "h"))
        // A stream that was emptied is free; one that has that number again is not the silent one.
        #expect(fence.see(nil, at: later) == .clear)
        fence.send()
        fence.refuse()
        #expect(fence.see(other, at: later) == .taken(by: "h"))
        // Each message begins the silence anew.
        let next = NatsStored(sequence: 10, id: "x-2", host: "h")
        let (once, twice) = (later.advanced(by: NatsFence.silence), later.advanced(by: NatsFence.silence * 2))
        #expect(fence.see(next, at: once) == .taken(by: "h"))
        #expect(fence.see(next, at: twice) == .clear)
        // From then on this one is the newer, as after a start.
        fence.send()
        fence.refuse()
        let awake = NatsStored(sequence: 12, id: "x-3", host: "h")
        #expect(fence.see(awake, at: twice) == .clear)
    }

    /// Also across a restart of the agent.
    @Test func aStreamThatIsSetBackBehindThemIsNoConflict() {
        var fence = NatsFence(run: "r")
        _ = fence.see(NatsStored(sequence: 7, id: "old-9", host: "h"), at: Self.now)
        fence.send()
        _ = fence.accept(NatsReceipt(sequence: 8))
        fence.send()
        fence.refuse()
        for (index, id) in ["old-4", "old-9"].enumerated() {
            let stored = NatsStored(sequence: UInt64(20 + index), id: id, host: "h")
            #expect(fence.see(stored, at: Self.now) == .clear, "\(id)")
        }
        #expect(fence.behind == "old-9")
        for (index, id) in ["old-10", "older-4", "old", "-4"].enumerated() {
            let stored = NatsStored(sequence: UInt64(30 + index), id: id, host: "h")
            #expect(fence.see(stored, at: Self.now) == .taken(by: "h"), "\(id)")
        }
    }
}
