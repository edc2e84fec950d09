/// A walk over many small things: a slice of it a turn of the loop, so that nothing else starves meanwhile. Belongs to its
/// loop.
package final class TurnWalk<Element> {
    private let loop: EventLoop
    private let visit: (Element) -> Void
    private var elements: [Element] = []
    private var isScheduled = false
    private var isUnderWay = false

    /// How long a slice may take, and how many it may visit: in virtual time nothing takes any.
    private static var slice: Duration { .microseconds(250) }
    private static var most: Int { 256 }

    package init(on loop: EventLoop, visit: @escaping (Element) -> Void) {
        self.loop = loop
        self.visit = visit
    }

    /// Has `visit` come to an element, in one of the next turns unless `go` is called; once for each time that it is added.
    package func add(_ element: Element) {
        elements.append(element)
        schedule()
    }

    /// Visits everything in `elements` and all that waits already: a slice of it now, unless one of this turn has been done.
    package func go(through others: some Sequence<Element>) {
        elements.append(contentsOf: others)
        if isScheduled || isUnderWay { schedule() } else { advance() }
    }

    private func advance() {
        isUnderWay = true
        let start = loop.clock.now
        // What is added by visits comes in the next turn.
        let end = min(elements.count, Self.most)
        var next = 0
        while next < end {
            visit(elements[next])
            next += 1
            if next % 8 == 0, start.duration(to: loop.clock.now) >= Self.slice { break }
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
