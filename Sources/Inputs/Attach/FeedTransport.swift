package import Feed
package import Reactor

/// The way to another agent's feed: where its bytes come from, whatever is done with them.
package protocol FeedTransport: Sendable {
    /// Opens the feed, to go on behind a line, if one is given.
    ///
    /// - Throws: an error whose description says in words why it cannot be had; `CancellationError`.
    func open(behind place: LineID?) async throws -> LoopBound<any ByteStream>

    /// Passes on what somebody asks of a source of the agent's, over the stream that is open; must not wait.
    func ask(_ source: String, _ request: PollRequest, on stream: any ByteStream) -> Asking

    /// Whether the agent greets before it hears where to go on, and tells of its newest run then.
    var greetsFirst: Bool { get }
    /// Whether the end of a peer that has vanished shows by itself; silence has to tell otherwise.
    var showsItsEnd: Bool { get }
}

/// What becomes of what somebody asks of another agent.
package enum Asking {
    case taken
    case refused(PollRefusal)
    /// This has to be done for it, which takes its time.
    case later(@Sendable () async throws(HTTPFailure) -> Void)
}

/// Why a feed cannot be had, in words.
struct FeedTransportFault: Error, CustomStringConvertible {
    let description: String
}

/// The feed of an agent of this machine, by its socket.
package struct SocketFeed: FeedTransport {
    private let loop: EventLoop
    private let connect: @Sendable (EventLoop) throws -> any ByteStream

    /// - Parameter connect: opens the socket; why it does not is said in the error's words, or in the system's.
    package init(on loop: EventLoop, connect: @escaping @Sendable (EventLoop) throws -> any ByteStream) {
        self.loop = loop
        self.connect = connect
    }

    package var greetsFirst: Bool { true }
    package var showsItsEnd: Bool { true }

    package func open(behind place: LineID?) async throws -> LoopBound<any ByteStream> {
        let stream: any ByteStream
        do {
            stream = try connect(loop)
        } catch {
            throw FeedTransportFault(description: (error as? SystemError)?.reason ?? "\(error)")
        }
        guard let place else { return LoopBound(stream) }
        do {
            try await stream.write(all: RequestLine.resume(after: place.sequence, of: place.run))
        } catch {
            stream.close()
            guard let error = error as? SystemError else { throw error }
            throw FeedTransportFault(description: error.reason)
        }
        return LoopBound(stream)
    }

    package func ask(_ source: String, _ request: PollRequest, on stream: any ByteStream) -> Asking {
        let line = RequestLine.poll(source, request)
        // A socket that has no room for a line has an agent at its other end that reads nothing.
        let taken = (try? line.withUnsafeBytes { bytes throws(SystemError) in try stream.write(bytes) }) ?? 0
        if taken == line.count { return .taken }
        if taken > 0 { stream.close() }  // a torn request would spoil the next one
        return .refused(PollRefusal("the agent takes no requests now", .away))
    }
}
