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

    @Test func withoutTheRightToLookIdsAreAllThereIs() {
        var fence = NatsFence(run: "r")
        fence.deny()
        #expect(fence.step == .send(id: "r-1", expected: nil))
        fence.send()
        fence.send()
        #expect(
            fence.accept(NatsReceipt(sequence: 3, isRepeated: true)) && fence.step == .send(id: "r-2", expected: nil))
    }

    /// The answer was lost, and somebody else has published behind it: that one says behind what.
    @Test(arguments: [("r-2", true), ("r-1", false), ("r-3", false), ("y-2", false), (nil, false)])
    func whatAnotherOneHasFoundThereWasStored(_ behind: String?, _ isStored: Bool) {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: Self.now)
        fence.send()
        _ = fence.accept(NatsReceipt(sequence: 7))
        fence.send()
        fence.send()
        fence.refuse()
        let rival = NatsStored(sequence: 12, id: "x-3", behind: behind, host: "h")
        // Whatever becomes of it, the other one is there.
        if isStored { #expect(fence.see(rival, at: Self.now) == .stored && fence.step == .look) }
        #expect(fence.see(rival, at: Self.now) == .taken(by: "h") && fence.behind == nil)
        #expect(fence.see(rival, at: Self.now.advanced(by: NatsFence.silence)) == .clear)
        #expect(fence.step == .send(id: isStored ? "r-3" : "r-2", expected: 12) && fence.behind == "x-3")
    }

    /// The one that was there is the one that stops.
    @Test func whoseFirstMessageAnotherOneHasFoundIsHere() {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: Self.now)
        fence.send()
        fence.send()
        fence.refuse()
        let rival = NatsStored(sequence: 12, id: "x-1", behind: "r-1", host: "h")
        #expect(fence.see(rival, at: Self.now) == .stored)
        #expect(fence.see(rival, at: Self.now) == .taken(by: "h"))
    }

    @Test func whatWasFoundThereIsTheOthersAndNoId() {
        var fence = NatsFence(run: "r")
        #expect(fence.behind == nil)
        let old = NatsStored(sequence: 3, id: "old\r\n-9" + String(repeating: "x", count: 100), host: nil)
        _ = fence.see(old, at: Self.now)
        #expect(fence.behind == "old-9" + String(repeating: "x", count: 57))
        fence.send()
        _ = fence.accept(NatsReceipt(sequence: 4))
        fence.send()
        fence.refuse()
        // Ours.
        _ = fence.see(NatsStored(sequence: 5, id: "r-1", host: nil), at: Self.now)
        #expect(fence.behind?.hasPrefix("old-9") == true)
    }

    @Test func whatIsTooLargeIsLookedForIfAnAnswerWasLost() {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: Self.now)
        fence.send()
        let first = fence.decline()
        #expect(first && fence.step == .send(id: "r-2", expected: 0))
        fence.send()
        fence.send()
        let second = fence.decline()
        #expect(!second && fence.step == .look)
        // At once, also behind a message that is there: no server is behind.
        #expect(fence.see(nil, at: Self.now) == .clear && fence.step == .send(id: "r-2", expected: 0))
        // Once.
        fence.send()
        let third = fence.decline()
        #expect(third && fence.step == .send(id: "r-3", expected: 0))
        // One that was answered is not there, and where nobody may look there is nothing to be done.
        fence.send()
        fence.refuse()
        _ = fence.see(nil, at: Self.now)
        fence.send()
        let fourth = fence.decline()
        fence.deny()
        fence.send()
        fence.send()
        let fifth = fence.decline()
        #expect(fourth && fifth)
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

    @Test func whoLooksAgainBeforeItCutsBelievesTheServer() {
        var fence = NatsFence(run: "r")
        _ = fence.see(nil, at: Self.now)
        fence.send()
        _ = fence.accept(NatsReceipt(sequence: 7))
        for _ in 0..<2 { fence.send() }
        let isCut = fence.decline()
        #expect(!isCut && fence.see(NatsStored(sequence: 7, id: "r-1", host: nil), at: Self.now) == .clear)
    }
}
