internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor
internal import Settings

extension Agent {
    /// Starts everything that gets the feed.
    func startOutputs(in group: inout TaskGroup<Void>) {
        switch stdoutMode {
        case .view: startView(in: &group)
        case .once: startFrames(isOnce: true, in: &group)
        case .frames: startFrames(isOnce: false, in: &group)
        case .ndjson: startStdout(in: &group)
        case .none: break
        }
        if let path = plan.options.outputFile { startFile(path, in: &group) }
        for target in plan.options.connect { startPush(target, in: &group) }
        if let socket = try? listening?.duplicate()?.release() { startServer(socket, in: &group) }
    }

    private func startStdout(in group: inout TaskGroup<Void>) {
        let output = StreamOutput(
            "stdout", store: store, on: loop, holdsInputs: true, escapesForTerminal: isatty(STDOUT_FILENO) == 1)
        addDraining(to: &group) {
            let ending = try? await output.run { loop throws(SystemError) in
                try DescriptorStream.standard(STDOUT_FILENO, on: loop)
            }
            switch ending {
            case .readerGone: return .readerGone
            case .failed(let error): return .outputFailed(error)
            case .finished, nil: return nil
            }
        }
    }

    private func startFile(_ path: String, in group: inout TaskGroup<Void>) {
        guard let worker = workerLoop() else { return }
        let (store, notices) = (store, notices)
        let isRelay = plan.options.attach != nil
        let wall = SystemWallClock()
        let output = FileOutput(path, store: store, on: loop, worker: worker) { failure in
            if isRelay {  // an attached agent's feed gets no lines of ours
                await notices.say("catwatch: \(Sanitizer.visible(failure.message))\n")
            } else {
                let source = await store.agentSource
                await store.publish([Event(time: wall.now, source: source, body: .error(failure))])
            }
        }
        fileOutput = output
        addDraining(to: &group) {
            try? await output.run()
            return nil
        }
    }

    private func startPush(_ target: PushTarget, in group: inout TaskGroup<Void>) {
        let (loop, notices) = (loop, notices)
        let worker = if case .tcp = target.address { workerLoop() } else { nil as EventLoop? }
        let output = PushOutput(target, store: store, on: loop) { text in
            await notices.say("catwatch: \(Sanitizer.visible(text, limit: 500))\n")
        } connect: {
            switch target.address {
            case .unix(let path):
                return LoopBound(try DescriptorStream(owning: try StreamSocket.connected(to: path), on: loop))
            case .tcp(let host, let port):
                guard let worker else { throw SystemError(code: EAGAIN, call: "pthread_create") }
                let addresses = try await loop.offload(to: worker) {
                    try SocketAddress.resolve(host: host, port: port)
                }
                return LoopBound(try await StreamSocket.connected(to: addresses, on: loop))
            }
        }
        addDraining(to: &group) {
            try? await output.run()
            return nil
        }
    }

    private func startServer(_ number: Int32, in group: inout TaskGroup<Void>) {
        var limits = FeedServer.Limits()
        limits.readers = plan.options.maxReaders
        limits.stall = plan.options.readerTimeout
        let server = FeedServer(store: store, on: loop, limits: limits)
        let notices = self.notices
        group.addTask {
            do {
                try await server.run { loop in
                    try SocketListener(owning: Descriptor(owning: number), on: loop)
                }
            } catch let error as SystemError {
                await notices.say("catwatch: --listen: \(error.reason)\n")
            } catch {}  // cancelled
        }
    }
}
