import Reactor
import TestSupport
import Testing

@Suite(.limited) struct LoopThreadTests {
    @Test func doesTheWorkItHasBeforeItStops() async throws {
        for _ in 0..<50 {
            let thread = try LoopThread(name: "thread")
            let log = Log<Int>()  // touched on the thread, and after its end
            let loop = thread.loop
            for number in 0..<100 {
                loop.post {
                    log.entries.append(number)
                    if number == 99 { loop.post { log.entries.append(100) } }
                }
            }
            thread.stop()
            #expect(log.entries == Array(0...100))
        }
    }

    @Test func mayBeStoppedAgainAndGivesItsLoopBack() throws {
        weak var freed: EventLoop?
        do {
            let thread = try LoopThread(name: "a name that is too long for ps")
            freed = thread.loop
            thread.stop()
            thread.stop()
        }
        #expect(freed == nil)
    }

    @Test func stopsWhileWorkForItIsStillComing() async throws {
        let thread = try LoopThread(name: "thread")
        let other = try LoopThread(name: "other")
        let loop = thread.loop
        other.loop.post { for _ in 0..<10_000 { loop.post {} } }
        thread.stop()
        other.stop()
    }
}
