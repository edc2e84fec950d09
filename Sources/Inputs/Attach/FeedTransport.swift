package import Feed
package import Reactor

/// How to reach another agent's feed: a source of its bytes.
package protocol FeedTransport: Sendable {
    /// Opens the feed, resuming as given, else from the start.
    ///
    /// - Throws: an error whose description says why the feed is unavailable; `CancellationError`.
    func open(_ resumption: FeedResumption?) async throws -> LoopBound<any ByteStream>

    /// Forwards a poll request for a source of the agent over the open stream; must not wait.
    func ask(_ source: String, _ request: PollRequest, on stream: any ByteStream) -> Asking

    /// Whether the agent greets before it reads our resume request, and so greets with its newest run.
    var greetsFirst: Bool { get }
    /// Whether the stream ends when the peer vanishes; otherwise silence must be taken for its end.
    var showsItsEnd: Bool { get }
}

/// How a connection to another agent goes on after an earlier one.
package struct FeedResumption: Sendable, Equatable {
    /// The last line that came.
    package var line: LineID
    /// Whether all kept lines are wanted, because this process has none; otherwise those after `line`.
    package var wantsAllKept: Bool

    package init(behind line: LineID, wantsAllKept: Bool = false) {
        (self.line, self.wantsAllKept) = (line, wantsAllKept)
    }
}

/// The result of forwarding a poll request to another agent.
package enum Asking {
    case taken
    case refused(PollRefusal)
    /// Forwarding needs this asynchronous work.
    case later(@Sendable () async throws(HTTPFailure) -> Void)
}

/// Why a feed is unavailable.
struct FeedTransportFault: Error, CustomStringConvertible {
    let description: String
}

/// The feed of an agent on this machine, through its Unix socket.
package struct SocketFeed: FeedTransport {
    private let loop: EventLoop
    private let connect: @Sendable (EventLoop) throws -> any ByteStream

    /// - Parameter connect: opens the socket; the reason for a failure is in the error's description.
    package init(on loop: EventLoop, connect: @escaping @Sendable (EventLoop) throws -> any ByteStream) {
        self.loop = loop
        self.connect = connect
    }

    package var greetsFirst: Bool { true }
    package var showsItsEnd: Bool { true }

    package func open(_ resumption: FeedResumption?) async throws -> LoopBound<any ByteStream> {
        let stream: any ByteStream
        do {
            stream = try connect(loop)
        } catch {
            throw FeedTransportFault(description: (error as? SystemError)?.reason ?? "\(error)")
        }
        guard let resumption else { return LoopBound(stream) }
        do {
            let line = resumption.line
            try await stream.write(
                all: RequestLine.resume(after: line.sequence, of: line.run, withAllKept: resumption.wantsAllKept))
        } catch {
            stream.close()
            guard let error = error as? SystemError else { throw error }
            throw FeedTransportFault(description: error.reason)
        }
        return LoopBound(stream)
    }

    package func ask(_ source: String, _ request: PollRequest, on stream: any ByteStream) -> Asking {
        let line = RequestLine.poll(source, request)
        // When the socket has no room for a line, the agent at the other end is not reading.
        let taken = (try? line.withUnsafeBytes { bytes throws(SystemError) in try stream.write(bytes) }) ?? 0
        if taken == line.count { return .taken }
        if taken > 0 { stream.close() }  // a torn request would spoil the next one
        return .refused(PollRefusal("the agent takes no requests now", .away))
    }
}
