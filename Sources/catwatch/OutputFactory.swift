internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor
internal import Settings

/// Makes the outputs that get the feed line by line.
struct OutputFactory: Sendable {
    let store: EventStore
    let desk: PollDesk
    let notices: Notices
    let surroundings: Surroundings
    /// Whether the feed is an attached agent's, which gets no lines of ours.
    let isRelay: Bool

    /// Runs an output that is to have everything before the end, and says why the agent is to stop now, if it is.
    typealias Run = @Sendable () async -> Agent.Stop?

    func stdout() -> Run {
        let output = StreamOutput(
            "stdout", store: store, on: surroundings.loop, holdsInputs: true,
            escapesForTerminal: surroundings.outputIsTerminal)
        return { [open = surroundings.openStandard] in
            switch try? await output.run({ _ throws(SystemError) in try open(STDOUT_FILENO) }) {
            case .readerGone: .readerGone
            case .failed(let error): .outputFailed(error)
            case .finished, nil: nil
            }
        }
    }

    /// - Returns: nil when there is no thread for the disk.
    func file(_ path: String) -> FileOutput? {
        guard let worker = surroundings.disk.loop else { return nil }
        return FileOutput(path, store: store, on: surroundings.loop, worker: worker) {
            [store, notices, wall = surroundings.wall, isRelay] failure in
            if isRelay {
                await notices.say("catwatch: \(Sanitizer.visible(failure.message))\n")
            } else {
                await store.publish([Event(time: wall.now, source: store.agentSource, body: .error(failure))])
            }
        }
    }

    func push(to target: PushTarget) -> Run {
        let output = PushOutput(target, store: store, on: surroundings.loop, random: surroundings.random()) {
            [notices] text in
            await notices.say("catwatch: \(Sanitizer.visible(text, limit: 500))\n")
        } connect: { [surroundings] in
            switch target.address {
            case .unix(let path): LoopBound(try surroundings.connect(path))
            case .tcp(let host, let port): try await surroundings.connectHost(host, port)
            }
        }
        return {
            try? await output.run()
            return nil
        }
    }

    /// Serves the feed to whoever connects, until the task is cancelled.
    func serve(_ listener: LoopBound<any Listener>, _ limits: FeedServer.Limits) async {
        do {
            try await FeedServer(store: store, desk: desk, on: surroundings.loop, limits: limits).run { _ in
                listener.value
            }
        } catch let error as SystemError {
            await notices.say("catwatch: --listen: \(error.reason)\n")
        } catch {}  // cancelled
    }
}
