/// What readers may take.
package struct ReaderLimits: Sendable {
    /// How many there may be at once, of the socket and by HTTP together.
    package var readers = 1_024
    /// A reader that takes nothing for so long is closed.
    package var stall = Duration.seconds(60)

    package init() {}
}

/// How many may read at once, wherever they come in.
///
/// Unchecked: touched on the loop only, as those who count by it are.
package final class ReaderSeats: @unchecked Sendable {
    package fileprivate(set) var taken = 0
    /// Whoever reads already goes on, also when there are too many by now.
    package internal(set) var limit = ReaderLimits().readers

    package init() {}

    package var hasRoom: Bool { taken < limit }

    func take() { taken += 1 }
    func leave() { taken -= 1 }
}
