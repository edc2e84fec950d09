/// The limits for readers.
package struct ReaderLimits: Sendable {
    /// The most readers at once, of the socket and by HTTP together.
    package var readers = 1_024
    /// A reader that accepts nothing for this long is closed.
    package var stall = Duration.seconds(60)

    package init() {}
}

/// Counts the readers of all servers.
///
/// Unchecked: used on the loop only, as are all its callers.
package final class ReaderSeats: @unchecked Sendable {
    package fileprivate(set) var taken = 0
    /// The most readers; present ones stay even if they exceed it.
    package internal(set) var limit = ReaderLimits().readers

    package init() {}

    package var hasRoom: Bool { taken < limit }

    func take() { taken += 1 }
    func leave() { taken -= 1 }
}
