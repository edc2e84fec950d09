internal import HTTPServer
internal import Reactor

/// `GET /snapshot`: the page with the newest lines, as a file. Requests within a second share one snapshot, and the
/// log's memory is held for at most two.
final class SnapshotHandler: WebHandler {
    /// A snapshot that is being downloaded.
    private struct Held {
        let snapshot: Snapshot
        let taken: LoopInstant
        var readers = 0
    }

    private let context: WebContext
    private var held: [Held] = []

    // Bound: snapshots on their way | two, each with its part of the log; shared by requests within a second | 503 with
    //   `Retry-After`
    static let mostHeld = 2
    /// The age up to which a snapshot is shared.
    private static let sharing = Duration.seconds(1)
    // Time to read a snapshot: 300 s; connection closed.
    static let patience = Duration.seconds(300)

    init(_ context: WebContext) { self.context = context }

    func response(to request: HTTPRequest, below _: Substring) -> HTTPResponse {
        let now = context.loop.clock.now
        if held.last.map({ $0.taken.duration(to: now) >= Self.sharing }) ?? true {
            guard held.count < Self.mostHeld else {
                return .notNow("others are getting theirs still", retryAfter: 5)
            }
            guard let snapshot = Snapshot(of: context.store) else {
                return .notNow("the agent is not there", retryAfter: 1)
            }
            held.append(Held(snapshot: snapshot, taken: now))
        }
        let last = held.count - 1
        held[last].readers += 1
        let snapshot = held[last].snapshot
        let fields = [
            HTTPField("Content-Type", "text/html; charset=utf-8"), HTTPField("Cache-Control", "no-store"),
            HTTPField("Content-Disposition", "attachment; filename=\"\(snapshot.fileName)\""),
        ]
        return HTTPResponse(status: 200, fields: fields, body: .stream(stream(of: snapshot, from: now)))
    }

    private func stream(of snapshot: Snapshot, from start: LoopInstant) -> HTTPStream {
        var cursor = Snapshot.Cursor(in: snapshot)
        let stream = HTTPStream { [loop = context.loop] buffer, _ in
            // A client that reads slowly would otherwise hold it for ever.
            guard start.duration(to: loop.clock.now) < Self.patience else { return .broken(byReset: false) }
            let count = cursor.read(into: buffer)
            return count > 0 ? .bytes(count) : .end
        }
        stream.whenOver = { [unowned self] _ in release(snapshot) }
        return stream
    }

    private func release(_ snapshot: Snapshot) {
        guard let index = held.firstIndex(where: { $0.snapshot === snapshot }) else { return }
        held[index].readers -= 1
        if held[index].readers == 0 { held.remove(at: index) }
    }
}
