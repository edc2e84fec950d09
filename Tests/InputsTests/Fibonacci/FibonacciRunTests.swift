import TestSupport
import Testing

@testable import Inputs

/// A run's slices, what waits for one, and how its time reads.
@Suite(.limited) struct FibonacciRunTests {
    @Test(arguments: [0, 1, 2, 93, 1_022, 1_023, 1_024, 1_025, 2_500])
    func hasEveryNumberOnceAndInOrder(last: Int) {
        let run = FibonacciRun(through: last)
        var numbers = FibonacciNumbers(through: last)
        var next = 0
        while !run.isFinished {
            run.advance()
            var bytes = 0
            let first = next
            run.visit { n, decimals in
                #expect(n == next)
                if !String(decoding: decimals, as: UTF8.self).elementsEqual(FibonacciNumbersTests.decimals(numbers)) {
                    Issue.record("F(\(n))")
                }
                bytes += decimals.count
                next += 1
                if next <= last { numbers.advance() }
            }
            #expect(bytes <= 128 << 10 && next - first <= 1_024 && next > first)
        }
        #expect(next == last + 1 && run.elapsed > .zero)
        let elapsed = run.elapsed
        run.advance()
        run.visit { n, _ in Issue.record("F(\(n)) behind the end") }
        #expect(run.isFinished && run.elapsed == elapsed)
    }

    @Test func waitsOnceForEachNumberAndForFewOfThem() {
        var requests = FibonacciRequests()
        #expect(requests.isEmpty)
        func add(_ n: Int, wantsPairs: Bool = true) -> Bool { requests.add(n, wantsPairs: wantsPairs) }
        let taken = (0..<16).map { add($0 * 10, wantsPairs: $0 > 0) } + [add(5), add(70, wantsPairs: false), add(0)]
        #expect(taken == Array(repeating: true, count: 16) + [false, true, true])
        #expect(requests.remove(10) && !requests.remove(10))
        let later = [add(5, wantsPairs: false), add(6)]
        #expect(later == [true, false])
        var order: [Int] = []
        while let request = requests.next() {
            order.append(request.n)
            // Whoever asks last cannot take away what another one wanted.
            #expect(request.wantsPairs == (request.n != 5))
        }
        #expect(order == [0] + (2..<16).map { $0 * 10 } + [5])
    }

    @Test(arguments: [
        (Duration.zero, "0.000"), (.nanoseconds(499), "0.000"), (.nanoseconds(1_500), "0.002"),
        (.microseconds(42), "0.042"), (.microseconds(420), "0.420"), (.microseconds(6_387), "6.387"),
        (.seconds(12), "12000.000"),
    ])
    func timesReadAsMilliseconds(time: Duration, text: String) {
        #expect(FibonacciTime.milliseconds(time) == text)
        #expect(FibonacciTime.sentence(through: 500, time) == "F(0)…F(500) in \(text) ms")
    }
}
