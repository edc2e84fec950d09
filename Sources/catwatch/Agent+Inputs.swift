internal import Feed
internal import Glibc
internal import Inputs
internal import Outputs
internal import Reactor
internal import Settings

extension Source {
    /// Whether it shows progress.
    var hasPages: Bool { if case .pages = self { true } else { false } }
}

extension Agent {
    /// Starts everything that brings events.
    func startInputs(_ sources: [Source], in group: inout TaskGroup<Void>) {
        let (store, loop, wall, options) = (store, loop, wall, plan.options)
        group.addTask { try? await store.run() }
        if let attach = options.attach {
            startAttach(attach, in: &group)
            return
        }
        group.addTask {
            try? await ProcessSampler(store: store, on: loop, wall: wall, interval: options.interval).run()
        }
        prepare(for: sources.count)
        let runner = SourceRunner(store: store, on: loop) { [unowned self] source in
            self.assumeIsolated { $0.input(for: source, into: $0.store) }
        }
        self.runner = runner
        group.addTask { if (try? await runner.run(sources)) != nil { await self.request(.complete) } }
    }

    /// Makes room for so many sources, and has their first polls not come all at once.
    private func prepare(for sources: Int) {
        DescriptorLimit.raise(for: sources + (plan.options.listen == nil ? 0 : plan.options.maxReaders))
        spread = PollSchedule.spread(of: sources)
    }

    /// The input of a source, which brings its events into `store`.
    func input(for source: Source, into store: EventStore) -> any Input {
        switch source {
        case .http(let source):
            HTTPPoller(
                source, store: store, transport: transport, on: loop, wall: wall, reader: reader, spread: spread)
        case .pages(let source):
            PagesInput(source, store: store, transport: transport, on: loop, wall: wall, reader: reader)
        case .webSocket(let source): WebSocketInput(source, store: store, transport: transport, on: loop, wall: wall)
        case .stdin(let source):
            StdinInput(source, store: store, on: loop, wall: wall, lines: standardInput) { loop throws(SystemError) in
                try DescriptorStream.standard(STDIN_FILENO, on: loop)
            }
        case .fibonacci(let source):
            FibonacciInput(source, store: store, on: loop, worker: computerLoop() ?? loop, wall: wall)
        }
    }

    /// Starts reading from a running agent.
    private func startAttach(_ attach: Options.SocketPath, in group: inout TaskGroup<Void>) {
        let path = attach.path ?? DefaultSocket.path(environment: plan.environment)
        let notices = self.notices
        let tells = stdoutMode.isLines
        let input = AttachInput(store: store, on: loop, reconnects: plan.options.reconnects) { [weak self] status in
            if tells || status.isFinal, let text = status.text {
                await notices.say("catwatch: \(Sanitizer.visible(path)): \(text)\n")
            }
            await self?.show(status)
        } connect: { loop throws(SystemError) in
            try DescriptorStream(owning: try StreamSocket.connected(to: path), on: loop)
        }
        group.addTask {
            if (try? await input.run()) != nil { await self.request(.agentLost) }
        }
    }

    // MARK: Reload

    /// Does what SIGHUP asks for whenever it comes; many signals are one.
    func runReloads() async throws(CancellationError) {
        while true {
            try await reloadRequest.wait()
            service?.tell("RELOADING=1\nMONOTONIC_USEC=\(loop.clock.now.nanoseconds / 1_000)")
            if plan.canReload { await reload() }
            if let fileOutput {
                await fileOutput.reopen()
                try await fileOutput.waitUntilReopened()
            }
            service?.tell("READY=1")
        }
    }

    /// Reads the configuration again and swaps the sources; a wrong one changes nothing.
    private func reload() async {
        guard let worker = workerLoop(), let runner else { return }
        let old = plan
        let origin = demoOrigin
        do {
            // Files are read where it may take time.
            let (new, sources) = try await loop.offload(to: worker) {
                let new = try old.reload()
                return (new, try new.sources(demoOrigin: origin))
            }
            prepare(for: sources.count)
            let changes = await runner.replace(with: sources)
            plan = new
            await store.greetAll()
            for notice in new.notices { await notices.say("catwatch: \(notice)\n") }
            let frozen = new.restartKeys(comparedTo: old)
            if !frozen.isEmpty {
                await notices.say("catwatch: restart to change \(frozen.joined(separator: ", "))\n")
            }
            await notices.say(
                "catwatch: reloaded: \(changes.added) sources added, \(changes.changed) changed, "
                    + "\(changes.removed) removed, \(changes.kept) kept\n")
        } catch {
            let text = (error as? UsageError)?.description ?? "\(error)"
            await notices.say("\(text)\ncatwatch: nothing was reloaded\n")
            let failure = Failure(.config, "the configuration was not reloaded: \(Self.firstLine(of: text))")
            await store.publish([Event(time: wall.now, source: store.agentSource, body: .error(failure))])
        }
    }

    private static func firstLine(of text: String) -> String {
        String(text.split(whereSeparator: \.isNewline).first ?? "")
    }
}
