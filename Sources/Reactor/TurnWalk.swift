/// A walk over many small elements: one slice per turn of the loop, so that nothing else starves. Belongs to its loop.
package final class TurnWalk<Element> {
    private let loop: EventLoop
    private let visit: (Element) -> Void
    private var elements: [Element] = []
    private var slice: TimeSlice
    private var isScheduled = false
    private var isUnderWay = false

    package init(on loop: EventLoop, visit: @escaping (Element) -> Void) {
        self.loop = loop
        self.visit = visit
        // Readers called in a turn of the loop: 256, or 0.25 ms; rest in the next turns.
        slice = TimeSlice(of: loop, time: .microseconds(250), steps: 256)
    }

    /// Adds an element, which is visited in one of the next turns, or earlier by `go`; once for each time it is added.
    package func add(_ element: Element) {
        elements.append(element)
        schedule()
    }

    /// Visits `elements` and all that wait already: a slice of them now, unless this turn has had one.
    package func go(through others: some Sequence<Element>) {
        elements.append(contentsOf: others)
        if !isScheduled, !isUnderWay { advance() }
    }

    private func advance() {
        isUnderWay = true
        slice.restart()
        // Elements added by visits are visited in the next turn.
        let end = elements.count
        var next = 0
        while next < end {
            visit(elements[next])
            next += 1
            guard slice.goesOn() else { break }
        }
        elements.removeSubrange(..<next)
        isUnderWay = false
        if !elements.isEmpty { schedule() }
    }

    private func schedule() {
        guard !isScheduled, !isUnderWay else { return }
        isScheduled = true
        loop.schedule(at: loop.clock.now) { [weak self] in
            guard let self else { return }
            isScheduled = false
            advance()
        }
    }
}
