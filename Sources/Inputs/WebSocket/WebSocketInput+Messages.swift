internal import Feed
internal import Reactor
internal import WebSocket

extension WebSocketInput {
    // MARK: Reading

    /// Reads messages until the connection ends; nil when the task is cancelled.
    func readMessages(_ id: SourceID) async -> Ending? {
        guard let session else { return nil }
        do {
            while true {
                session.isHeld = true
                try await store.admit()
                session.isHeld = false
                if session.pending.isEmpty {
                    guard let count = try session.stream.read(into: session.buffer.memory) else {
                        try await session.stream.waitUntilReadable()
                        continue
                    }
                    guard count > 0 else {
                        return Ending(.closed, "\(endpoint.authority) closed the connection without a word")
                    }
                    session.lastHeard = loop.clock.now
                    session.pending = 0..<count
                }
                slice.restart()
                let ending = try await take(session, id)
                takeFaults(id)
                await publish()
                if let ending { return ending }
                // A server that sends as fast as it is read would otherwise have the loop to itself.
                try await loop.sleep(for: .zero)
            }
        } catch let error as SystemError {
            return broken(error)
        } catch {
            return nil
        }
    }

    /// Takes everything that is pending; why the connection is over, if it is.
    private func take(_ session: WebSocketSession, _ id: SourceID) async throws(CancellationError) -> Ending? {
        // In bounds: pending bytes lie in what was read, and nobody reads anything else before they are taken.
        var input = UnsafeRawBufferPointer(rebasing: session.buffer.memory[session.pending])
        session.pending = 0..<0
        let time = wall.now
        while true {
            let item: FrameDecoder.Item?
            do throws(WebSocketFault) {
                item = try session.decoder.next(from: &input)
            } catch {
                return ending(error)
            }
            switch item {
            case nil: return nil
            case .text, .binary: try await read(session.decoder.payload, id, at: time)
            case .ping(let payload):
                session.pong = payload
                session.outgoing.signal()
            case .pong(let payload): takePong(payload, session, id, at: time)
            case .close(let code, let reason): return closed(code, reason)
            }
        }
    }

    /// Adds the events of one message, and publishes when there are many.
    private func read(_ message: [UInt8], _ id: SourceID, at time: Timestamp) async throws(CancellationError) {
        let document: Extractor.Document
        do throws(JSONFault) {
            document = try extractor.read(message[...])
        } catch {
            return note(error.failure)
        }
        var reading: ItemReading?
        do throws(Failure) {
            reading = try extractor.begin(document, from: id, at: time)
            if reading == nil { _ = try extractor.add(document, from: id, at: time, to: &batch) }
            backoff.succeed()
        } catch {
            note(error)
        }
        if var reading {
            while reading.read(atMost: ItemReading.step, into: &batch) {
                if !slice.goesOn() { try await breathe() }
            }
            if let problem = reading.outcome.problem { note(problem) }
        }
        if !slice.goesOn() { try await breathe() }
    }

    /// Publishes what there is, lets others have the loop, and waits while an output is behind.
    private func breathe() async throws(CancellationError) {
        await publish()
        try await loop.sleep(for: .zero)
        session?.isHeld = true
        try await store.admit()
        session?.isHeld = false
        slice.restart()
    }

    private func note(_ failure: Failure) {
        faults.note(failure)
        pulse.signal()  // it may have to be told later
    }

    private func takePong(_ payload: [UInt8], _ session: WebSocketSession, _ id: SourceID, at time: Timestamp) {
        guard let awaited = session.awaited, awaited.payload == payload else { return }
        session.awaited = nil
        let ms = awaited.sent.duration(to: loop.clock.now).milliseconds
        let name = "PING" + endpoint.name.dropFirst("GET".count)
        let sample = LatencySample(
            endpoint: name, status: 101, ms: ms, wait: ms, bytes: payload.count, reused: true)
        batch.add(Event(time: time, source: id, body: .latency(sample)))
    }

    private func closed(_ code: CloseCode?, _ reason: String) -> Ending {
        var message = "\(endpoint.authority) closed the connection"
        if let code {
            message += " with \(code.rawValue)" + (code.name.map { " (\($0))" } ?? "")
        }
        if !reason.isEmpty { message += ": " + Sanitizer.visible(reason, limit: 123) }
        var ending = Ending(.closed, message)
        ending.closeCode = code ?? .normal
        ending.waitsForPeer = true
        return ending
    }

    private func ending(_ fault: WebSocketFault) -> Ending {
        let code: Failure.Code =
            switch fault.closeCode {
            case .tooBig: .tooLarge
            case .invalidData: .encoding
            default: .protocol
            }
        var ending = Ending(code, "\(endpoint.authority) \(fault.message)")
        ending.closeCode = fault.closeCode
        ending.waitsForPeer = true
        return ending
    }

    // MARK: Writing

    /// Sends what there is to send; returns when nothing can be sent any more, which the reader will notice too.
    func sendFrames() async -> Ending? {
        guard let session else { return nil }
        do {
            while true {
                guard let (opcode, payload) = session.nextFrame() else {
                    try await session.outgoing.wait()
                    continue
                }
                var frame: [UInt8] = []
                FrameEncoder.append(opcode, payload, key: random.next(), to: &frame)
                if opcode == .ping { session.awaited = (payload, loop.clock.now) }
                session.isInsideFrame = true
                try await session.stream.write(all: frame)
                session.isInsideFrame = false
            }
        } catch {
            return nil
        }
    }

    // MARK: The time

    /// Pings, and ends a connection on which nothing comes back; nil when the task is cancelled.
    func keepAlive(_ id: SourceID) async -> Ending? {
        guard let session else { return nil }
        var number: UInt64 = 0
        var lastPing = loop.clock.now
        var deadline: LoopInstant?
        while true {
            let now = loop.clock.now
            if session.isHeld {
                // What came is in the kernel, and is not late because nobody reads it.
                deadline = nil
                session.awaited = nil
            } else if session.lastHeard >= lastPing {
                deadline = nil
            }
            if let deadline, deadline <= now { return silence }
            let isAsked = isPollWanted && lastPing.advanced(by: Self.pollPause) <= now
            if isAsked || lastPing.advanced(by: source.pingEvery) <= now {
                isPollWanted = false
                number += 1
                session.ping = withUnsafeBytes(of: number.bigEndian) { Array($0) }
                session.outgoing.signal()
                lastPing = now
                deadline = deadline ?? now.advanced(by: source.pingTimeout)
                let next = now.advanced(by: source.pingEvery + source.pingTimeout + Self.grace)
                await desk.expect(source.description.name, by: next)
            }
            takeFaults(id)
            await publish()
            var due = lastPing.advanced(by: isPollWanted ? Self.pollPause : source.pingEvery)
            for other in [deadline, faults.due] { due = min(due, other ?? due) }
            do {
                try await waitForPulse(until: due)
            } catch {
                return nil
            }
        }
    }

    private var silence: Ending {
        let limit = source.pingTimeout.shortText
        var ending = Ending(.timeout, "nothing came from \(endpoint.authority) within \(limit) after a ping")
        ending.closeCode = .goingAway
        return ending
    }
}
