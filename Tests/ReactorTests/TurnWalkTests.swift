import Reactor
import TestSupport
import Testing

@Suite(.limited) struct TurnWalkTests {
    /// Touched on one loop only.
    private final class Visits: @unchecked Sendable { var list: [Int] = [] }

    @Test func aSliceEndsWhenItsTimeIsUp() throws {
        let loop = try EventLoop()
        try loop.run {
            let visits = Visits()
            let walk = TurnWalk<Int>(on: loop) { number in
                visits.list.append(number)
                let end = loop.clock.now.advanced(by: .microseconds(100))
                while loop.clock.now < end {}
            }
            walk.go(through: 0..<40)
            // The first three take longer than a slice, however fast the machine is.
            #expect((1...3).contains(visits.list.count))
            var turns = 0
            while visits.list.count < 40 {
                try await loop.sleep(for: .zero)
                turns += 1
            }
            // A sleep of a task without an actor is several jobs, and each turn has time for one beside a slice.
            #expect(visits.list == Array(0..<40) && turns >= 2)
        }
    }

    @Test func whatAVisitAddsComesInTheNextTurn() throws {
        let loop = try EventLoop(virtual: true)
        try loop.run {
            let visits = Visits()
            var again: ((Int) -> Void)?
            let walk = TurnWalk<Int>(on: loop) { number in
                visits.list.append(number)
                if number < 5 { again?(number + 1) }
            }
            again = { walk.add($0) }
            walk.go(through: [1])
            #expect(visits.list == [1])
            try await loop.sleep(for: .zero)
            #expect(visits.list.count < 4, "one a turn")
            try await loop.sleep(for: .seconds(1))
            #expect(visits.list == [1, 2, 3, 4, 5])
            again = nil
            #expect(loop.timerCount == 0)
        }
    }

    @Test func aWalkThatIsNotOverIsJoined() throws {
        let loop = try EventLoop(virtual: true)
        try loop.run {
            let visits = Visits()
            let walk = TurnWalk<Int>(on: loop) { visits.list.append($0) }
            walk.go(through: 0..<300)
            #expect(visits.list.count == 256)
            walk.go(through: 300..<310)
            #expect(visits.list.count == 256, "its slice of this turn is over")
            try await loop.sleep(for: .seconds(1))
            #expect(visits.list == Array(0..<310))
        }
    }
}
