internal import Feed
internal import Reactor

/// The readers of one server, and what they share: nothing is kept for an idle one but its cursor and a few flags.
///
/// Unchecked: touched on the loop only, as everything it is called by is.
final class FeedReaders: @unchecked Sendable {
    let store: EventStore
    let desk: PollDesk
    let loop: EventLoop
    /// A reader that takes nothing for so long is closed.
    var stall: Duration
    /// Signalled when the last one has left.
    let left: Wakeup
    /// What all read into.
    let scratch = ReadBuffer()
    private var connections: [ReaderConnection] = []
    /// Readers that have more to do, and let the others have their turn first.
    private let turns: TurnWalk<ReaderConnection>

    init(store: EventStore, desk: PollDesk, on loop: EventLoop, stall: Duration) {
        self.store = store
        self.desk = desk
        self.loop = loop
        self.stall = stall
        left = Wakeup(loop: loop)
        turns = TurnWalk(on: loop) { $0.takeTurn() }
    }

    var count: Int { connections.count }

    /// Greets a reader, or turns it away when there are too many already.
    func admit(_ stream: any WatchedStream, atMost limit: Int) {
        guard count < limit else {
            let message = "there are \(limit) readers already; try again later"
            _ = try? ControlLine.refusal(.connect, message, time: store.wallTime).withUnsafeBytes {
                bytes throws(SystemError) in try stream.write(bytes)
            }
            return stream.close()
        }
        let connection = ReaderConnection(stream, among: self, place: count)
        connections.append(connection)
        connection.begin()
    }

    /// Has a reader go on in the next turn.
    func goOnLater(_ connection: ReaderConnection) { turns.add(connection) }

    /// Forgets a reader that is closed; another one gets its place.
    func remove(_ connection: ReaderConnection) {
        defer { if connections.isEmpty { left.signal() } }
        guard let last = connections.popLast(), last !== connection else { return }
        connections[connection.place] = last
        last.place = connection.place
    }

    /// Closes every reader as soon as it has the whole of the line that it is in the middle of.
    func dismissAll() {
        for connection in connections { connection.dismiss() }
    }

    /// Gives every reader what there is and has room, and closes it.
    func closeAll() {
        while let connection = connections.last { connection.finish() }
    }
}
