import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct BoardRingTests {
    @Test(arguments: [1, 2, 3, 4, 5, 63, 64])
    func ringsAgreeWithAnArray(_ capacity: Int) {
        var random = SeededGenerator(seed: 6)
        var ring = BoardRing<Int>(capacity: capacity)
        var twin: [Int] = []
        for number in 0..<500 {
            if random.next() % 3 == 0 {
                #expect(ring.first == twin.first)
                ring.removeFirst()
                if !twin.isEmpty { twin.removeFirst() }
            } else {
                let oldest = ring.append(number)
                #expect(oldest == (twin.count == capacity ? twin.first : nil))
                twin.append(number)
                if twin.count > capacity { twin.removeFirst() }
            }
            #expect(Array(ring) == twin)
        }
    }
}
