internal import Reactor

extension FeedState {
    /// Everything but data: seldom enough that it need not be fast.
    @inline(never)
    mutating func publishOther(_ event: Event, _ wall: Timestamp, _ now: LoopInstant) {
        let source = sources[event.source.index].name
        let isFuture = isFuture(event.time, wall)
        let time = isFuture ? wall : event.time
        if isFuture { counts.future += 1 }
        let most = LineEncoder.most(source.utf8.count)
        switch event.body {
        case .data: break  // handled by the caller, which is the hot path
        case .latency(let sample):
            var sample = sample
            sample.endpoint = LineEncoder.cut(sample.endpoint)
            // What the line says is what counts, so that a reader who adds lines up comes to the same.
            sample.ms = LineWriter.readBack(milliseconds: sample.ms)
            if let index = seriesIndex(event.source, kind: .latency, key: nil) {
                record(sample.ms, in: index, at: time, wall, now)
            }
            if sample.status == 304 { setState(.ok, of: event.source, wall) }
            updateEndpoint(sample.endpoint, of: event.source) { _ = $0.record(sample.ms) }
            log.append(atMost: most + LineEncoder.most(sample.endpoint.utf8.count), at: now) { sequence, writer in
                encoder.latency(sample, sequence: sequence, time: time, source: source, to: writer)
            }
        case .memory(let sample):
            markSeen(event.source, wall)
            if let index = seriesIndex(event.source, kind: .memory, key: nil) {
                record(Double(sample.resident), in: index, at: time, wall, now)
            }
            log.append(atMost: most, at: now) { sequence, writer in
                encoder.memory(sample, sequence: sequence, time: time, source: source, to: writer)
            }
        case .error(let failure):
            setState(.failing, of: event.source, wall)
            var failure = failure
            failure.endpoint = failure.endpoint.map { LineEncoder.cut($0) }
            failure.message = LineEncoder.cut(failure.message)
            if let endpoint = failure.endpoint { updateEndpoint(endpoint, of: event.source) { $0.recordErrors() } }
            let texts =
                failure.message.utf8.count + (failure.endpoint?.utf8.count ?? 0) + failure.code.rawValue.utf8.count
            log.append(atMost: most + LineEncoder.most(texts), at: now) { sequence, writer in
                encoder.failure(failure, sequence: sequence, time: time, source: source, to: writer)
            }
        case .progress(let progress):
            log.append(atMost: most, at: now) { sequence, writer in
                encoder.progress(progress, sequence: sequence, time: time, source: source, to: writer)
            }
        case .agent(let sample): publishAgent(sample, source, time, now)
        }
    }

    private mutating func markSeen(_ source: SourceID, _ wall: Timestamp) {
        if sources[source.index].status.state == .starting { setState(.ok, of: source, wall) }
    }

    private mutating func publishAgent(_ sample: AgentSample, _ source: String, _ time: Timestamp, _ now: LoopInstant) {
        let counts = counts
        let outputs = outputs
        log.append(atMost: LineEncoder.mostAgent(source: source, outputs: outputs), at: now) { sequence, writer in
            encoder.agent(
                sample, counts, outputs: outputs, sequence: sequence, time: time, source: source, to: writer)
        }
    }
}
