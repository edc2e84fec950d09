import Reactor
import TestSupport
import Testing

@testable import Inputs

@Suite(.limited) struct KeepAliveTests {
    private static func at(_ seconds: Int64) -> LoopInstant { LoopInstant(nanoseconds: seconds * 1_000_000_000) }

    private static func begin() -> KeepAlive { KeepAlive(every: .seconds(20), timeout: .seconds(10), at: at(0)) }

    /// The payload of the ping that is due.
    private static func ping(_ alive: inout KeepAlive, at time: Int64, isAsked: Bool = false) throws -> [UInt8] {
        let step = alive.next(at: at(time), isAsked: isAsked)
        guard case .ping(let payload) = step else {
            Issue.record("\(step) and no ping")
            return []
        }
        alive.send(payload, at: at(time))
        return payload
    }

    @Test func pingsAndGivesUpWhenNothingComes() throws {
        var alive = Self.begin()
        #expect(alive.next(at: Self.at(0), isAsked: false) == .wait(until: Self.at(20)))
        _ = try Self.ping(&alive, at: 20)
        #expect(alive.next(at: Self.at(20), isAsked: false) == .wait(until: Self.at(30)))
        #expect(alive.next(at: Self.at(30), isAsked: false) == .giveUp)
    }

    @Test func whateverComesAfterThePingIsALife() throws {
        var alive = Self.begin()
        _ = try Self.ping(&alive, at: 20)
        alive.hear(at: Self.at(29))
        #expect(alive.next(at: Self.at(30), isAsked: false) == .wait(until: Self.at(40)))
    }

    @Test func aPongIsTheAnswerToItsOwnPing() throws {
        var alive = Self.begin()
        let first = try Self.ping(&alive, at: 20)
        alive.hear(at: Self.at(21))
        let second = try Self.ping(&alive, at: 40)
        #expect(first != second)
        let late = alive.answer(first, at: Self.at(41))
        let time = alive.answer(second, at: Self.at(42))
        let again = alive.answer(second, at: Self.at(43))
        #expect(late == .seconds(21) && time == .seconds(2) && again == nil)
        #expect(alive.answer([7], at: Self.at(43)) == nil)
    }

    @Test func pingsBeforeTheOneThatWasAnsweredNeedNoAnswer() throws {
        var alive = Self.begin()
        let pings = try (1...20).map { number in
            alive.hear(at: Self.at(Int64(number) * 20 - 1))
            return try Self.ping(&alive, at: Int64(number) * 20)
        }
        // Those that were sent so long ago are forgotten.
        #expect(alive.answer(pings[3], at: Self.at(400)) == nil)
        #expect(alive.answer(pings[4], at: Self.at(400)) == .seconds(300))
        #expect(alive.answer(pings[10], at: Self.at(401)) == .seconds(181))
        #expect(alive.answer(pings[9], at: Self.at(402)) == nil)
        #expect(alive.answer(pings[19], at: Self.at(403)) == .seconds(3))
    }

    @Test func pingsWhenAskedAtMostOnceASecond() throws {
        var alive = Self.begin()
        #expect(alive.next(at: Self.at(0), isAsked: true) == .wait(until: Self.at(1)))
        _ = try Self.ping(&alive, at: 1, isAsked: true)
        #expect(alive.next(at: Self.at(1), isAsked: true) == .wait(until: Self.at(2)))
        // The deadline stays the first ping's.
        _ = try Self.ping(&alive, at: 10, isAsked: true)
        #expect(alive.next(at: Self.at(11), isAsked: false) == .giveUp)
    }

    @Test func isNotLateWhileNothingIsRead() throws {
        var alive = Self.begin()
        let payload = try Self.ping(&alive, at: 20)
        alive.hold()
        #expect(alive.next(at: Self.at(35), isAsked: false) == .wait(until: Self.at(40)))
        // Its answer was in the kernel meanwhile, so it says nothing of the way.
        let time = alive.answer(payload, at: Self.at(36))
        #expect(time == nil)
    }

    /// What came meanwhile is read next, however long nobody could look.
    @Test(arguments: [29, 30, 35] as [Int64])
    func isNotLateBeforeWhatCameMeanwhileIsRead(end: Int64) throws {
        var alive = Self.begin()
        _ = try Self.ping(&alive, at: 20)
        alive.hold()
        alive.goOn(at: Self.at(end))
        #expect(alive.next(at: Self.at(end), isAsked: false) == .wait(until: Self.at(40)))
        // From then on, silence is silence.
        _ = try Self.ping(&alive, at: 40)
        #expect(alive.next(at: Self.at(50), isAsked: false) == .giveUp)
    }
}
