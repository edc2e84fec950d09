internal import Feed
internal import Inputs
internal import Nats
internal import Reactor
internal import Settings

/// Checks that NATS servers fit a plan that publishes or reads, for `check --online`. Blocks, and publishes nothing.
enum NatsCheck {
    /// Returns a line for each problem, or lines that say that all is well.
    static func run(_ settings: NatsSettings, as name: String, _ broker: any Broker) -> (report: String, isFine: Bool) {
        let subject = NatsSubject.of(name)
        var faults: [String] = []
        var praise = ["\(subject) can be published to \(settings.stream)"]
        do throws(NatsFault) {
            defer { broker.close() }
            try broker.connect()
            faults = try problems(settings, subject, broker)
            // With a single server, one replica is intended.
            if faults.isEmpty, try broker.stream(settings.stream).replicas == 1 {
                praise.append(
                    "stream \(settings.stream) has one replica: while its server is away nothing can be published")
            }
        } catch {
            faults = [error.reason]
        }
        return report(faults, "nats: ", praise)
    }

    /// Checks a source that reads: whether its stream exists and a consumer can be created and asked.
    static func run(_ source: NatsSource, _ broker: any BrokerReader) -> (report: String, isFine: Bool) {
        var faults: [String] = []
        do throws(NatsFault) {
            defer { broker.close() }
            try broker.connect()
            let stream = try broker.stream(source.stream)
            if let reason = stream.refusal(of: source.subject, in: source.stream) {
                faults.append(reason)
            } else {
                try broker.read(source.subject, of: source.stream, from: .sequence(stream.last))
                if stream.last > 0 { _ = try broker.next() }
            }
        } catch {
            faults = [error.kind == .absent ? "stream \(source.stream): \(error.reason)" : error.reason]
        }
        return report(
            faults, "\(Sanitizer.visible(source.description.name, limit: 100)): ",
            ["\(source.subject) can be read of \(source.stream)"])
    }

    private static func report(_ faults: [String], _ head: String, _ praise: [String]) -> (report: String, isFine: Bool)
    {
        let texts = faults.isEmpty ? praise : faults
        return (texts.map { "\(head)\(Sanitizer.visible($0, limit: 1_000))\n" }.joined(), faults.isEmpty)
    }

    private static func problems(
        _ settings: NatsSettings, _ subject: String, _ broker: any Broker
    ) throws(NatsFault) -> [String] {
        var problems: [String] = []
        let most = broker.mostMessage
        // A line, its headers, and the room reserved for a `gap`.
        let needed = LineEncoder.longestLine + 4 << 10
        if most < needed {
            problems.append("the server's max_payload of \(most) is less than a line may have; let it be 2 MB")
        }
        do throws(NatsFault) {
            let stream = try broker.stream(settings.stream)
            if let reason = stream.refusal(of: subject, in: settings.stream) { problems.append(reason) }
            if let most = stream.mostMessage, most < needed {
                problems.append("the stream's max_msg_size of \(most) is less than a line may have; let it be 2 MB")
            }
            if !stream.discardsOld {
                problems.append("the stream refuses messages when it is full; let discard be old")
            }
            if !stream.isOnDisk { problems.append("the stream is kept in memory only; let storage be file") }
        } catch  where error.kind == .absent {
            return problems + ["stream \(settings.stream): \(error.reason); catwatch nats prints what it is to be"]
        } catch  where error.kind == .denied {
            problems.append("the stream cannot be looked at: \(error.reason)")
        }
        // Refused for its expected id, which no message has; getting that far proves that we may publish.
        var message = NatsMessage(subject: subject, stream: settings.stream)
        message.expectedID = "catwatch-check"
        do throws(NatsFault) {
            _ = try broker.publish(message)
        } catch  where error.kind == .sequenceConflict {
        } catch {
            problems.append("nothing can be published: \(error.reason)")
        }
        return problems
    }
}
