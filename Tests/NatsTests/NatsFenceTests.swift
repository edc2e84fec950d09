import Nats
import Reactor
import TestSupport
import Testing

@Suite(.limited) struct NatsFenceTests {
    private static let now = LoopInstant(nanoseconds: 0)

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
    }

    @Test func aTwinThatCallsItsMessagesTheSameIsAConflict() {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: Self.now)
        fence.send()
        _ = fence.accept(NatsReceipt(sequence: 1))
        fence.send()
        fence.refuse()
        #expect(fence.see(NatsStored(sequence: 3, id: "r-3", host: "h"), at: Self.now) == .taken(by: "h"))
    }

    @Test func aTwinsMessageIsNotOneThatWasNeverSent() {
        var fence = NatsFence(run: "r")
        #expect(fence.see(NatsStored(sequence: 5, id: "r-1", host: "h"), at: Self.now) == .clear)
        #expect(fence.step == .send(id: "r-1", expected: 5))
    }

    /// Whatever came of the message before it.
    @Test func anIdThatWasKnownBeforeItWasSentIsGivenUp() {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: Self.now)
        for _ in 0..<3 { fence.send() }
        #expect(fence.accept(NatsReceipt(sequence: 1, isRepeated: true)) && fence.step == .send(id: "r-2", expected: 1))
        fence.send()
        #expect(
            !fence.accept(NatsReceipt(sequence: 2, isRepeated: true)) && fence.step == .send(id: "r-3", expected: 1))
        // Nor is one of ours what has its name and was never sent.
        fence.send()
        fence.refuse()
        fence.abandon()
        #expect(fence.see(NatsStored(sequence: 4, id: "r-4", host: "h"), at: Self.now) == .taken(by: "h"))
    }

    @Test func silenceIsCountedFromTheOthersLastMessage() {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: Self.now)
        fence.send()
        _ = fence.accept(NatsReceipt(sequence: 1))
        fence.send()
        fence.refuse()
        let other = NatsStored(sequence: 9, id: "x-1", host: "h")
        let later = Self.now.advanced(by: NatsFence.silence)
        #expect(fence.see(other, at: Self.now) == .taken(by: "h"))
        // A stream that was emptied is free; one that has that number again is not the silent one.
        #expect(fence.see(nil, at: later) == .clear)
        fence.send()
        fence.refuse()
        #expect(fence.see(other, at: later) == .taken(by: "h"))
        #expect(fence.see(other, at: later.advanced(by: NatsFence.silence)) == .clear)
        // From then on this one is the newer, as after a start.
        fence.send()
        fence.refuse()
        let awake = NatsStored(sequence: 12, id: "x-2", host: "h")
        #expect(fence.see(awake, at: later.advanced(by: NatsFence.silence)) == .clear)
    }

    @Test func withoutTheRightToLookIdsAreAllThereIs() {
        var fence = NatsFence(run: "r")
        fence.deny()
        #expect(fence.step == .send(id: "r-1", expected: nil))
        fence.send()
        fence.send()
        #expect(
            fence.accept(NatsReceipt(sequence: 3, isRepeated: true)) && fence.step == .send(id: "r-2", expected: nil))
    }
}
