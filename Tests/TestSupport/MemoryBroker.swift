package import Nats
import Synchronization

/// A stream in memory, which forgets ids when it is told to, and the connections to it, which fail when they are told to.
package final class MemoryStream: Sendable {
    /// What goes wrong with a call: before it has done anything, or when it has.
    package enum Trouble: Sendable {
        case before(NatsFault)
        case after(NatsFault)
        /// Of what is delivered the first message gets lost on the way.
        case missing
        /// What there is does not come before the answer is over.
        case late
    }

    package enum Call: Sendable, Equatable { case connect, publish, stream, read, next }

    private struct State {
        var stored: [(sequence: UInt64, time: Int64, message: NatsMessage)] = []
        var time: Int64 = 0
        var consumers = 0
        /// Those before are gone.
        var firstConsumer = 0
        var starts: [NatsStart] = []
        var ids: [String: UInt64] = [:]
        var sent: [NatsMessage] = []
        var next: UInt64 = 1
        var setUp = NatsStream()
    }
    private let state = Mutex(State())

    package init(subjects: [String] = [NatsSubject.all]) { setUp { $0.subjects = subjects } }

    package func setUp(_ change: (inout NatsStream) -> Void) { state.withLock { change(&$0.setUp) } }
    package var stored: [NatsMessage] { state.withLock { $0.stored.map(\.message) } }
    /// Every message that was sent, whether it was stored or not.
    package var sent: [NatsMessage] { state.withLock(\.sent) }
    /// The duplicate window is over for all that there is.
    package func forgetIDs() { state.withLock { $0.ids = [:] } }
    package func removeAll() { state.withLock { $0.stored = [] } }
    /// The stream loses all messages behind this one, as one that is restored from a copy.
    package func setBack(to sequence: UInt64) {
        dropConsumers()
        state.withLock { state in
            state.stored.removeAll { $0.sequence > sequence }
            (state.next, state.ids) = (sequence + 1, [:])
        }
    }

    /// When messages are stored from now on, in nanoseconds since 1970.
    package func setTime(_ time: Int64) { state.withLock { $0.time = time } }
    /// Where consumers have begun, one after the other.
    package var starts: [NatsStart] { state.withLock(\.starts) }
    /// All consumers are gone, as those of a server that was restarted.
    package func dropConsumers() { state.withLock { $0.firstConsumer = $0.consumers } }
    /// Another stream of the same name takes its place.
    package func remake() {
        dropConsumers()
        state.withLock {
            ($0.stored, $0.ids, $0.next) = ([], [:], 1)
            $0.setUp.created += 1
        }
    }
    /// Lets go of messages up to this number, as a stream that is full.
    package func remove(through sequence: UInt64) {
        state.withLock { state in state.stored.removeAll { $0.sequence <= sequence } }
    }

    /// Loses one message.
    package func remove(_ sequence: UInt64) {
        state.withLock { state in state.stored.removeAll { $0.sequence == sequence } }
    }

    @discardableResult
    package func publish(_ message: NatsMessage) throws(NatsFault) -> Bool {
        let result: Result<Bool, NatsFault> = state.withLock { state in
            state.sent.append(message)
            if let most = state.setUp.mostMessage, message.payload.count > most {
                return .failure(NatsFault(.tooLarge, "too large"))
            }
            if message.expectedID != nil { return .failure(NatsFault(.sequenceConflict, "another one")) }
            if let id = message.id, state.ids[id] != nil { return .success(true) }
            defer { state.next += 1 }
            state.stored.append((state.next, state.time, message))
            if let id = message.id { state.ids[id] = state.next }
            return .success(false)
        }
        return try result.get()
    }

    fileprivate var stream: NatsStream {
        state.withLock { state in
            var stream = state.setUp
            stream.last = state.next - 1
            return stream
        }
    }

    fileprivate struct Consumer: Sendable {
        let id: Int
        let subject: String
        /// The least number of what comes next.
        var next: UInt64
        var delivered: UInt64 = 0
    }

    fileprivate func consumer(of subject: String, from start: NatsStart) -> Consumer {
        state.withLock { state in
            state.consumers += 1
            state.starts.append(start)
            var consumer = Consumer(id: state.consumers, subject: subject, next: 1)
            switch start {
            case .time(let time):
                consumer.next = state.stored.first { $0.time >= time }?.sequence ?? state.next
            case .sequence(let sequence): consumer.next = min(sequence, state.next)
            }
            return consumer
        }
    }

    /// - Parameter most: how many messages are delivered together.
    fileprivate func next(for consumer: inout Consumer, atMost most: Int) throws(NatsFault) -> [NatsDelivery] {
        let (isThere, found) = state.withLock { [consumer] state in
            (
                consumer.id > state.firstConsumer,
                state.stored.filter { stored in
                    stored.sequence >= consumer.next && NatsSubject.overlap(consumer.subject, stored.message.subject)
                }.prefix(most)
            )
        }
        guard isThere else { throw NatsFault(.silent, "the consumer is gone") }
        return found.map { stored in
            consumer.delivered += 1
            consumer.next = stored.sequence + 1
            let size = stored.message.payload.count
            return NatsDelivery(
                subject: stored.message.subject, sequence: stored.sequence, number: consumer.delivered,
                time: stored.time, run: stored.message.headers[NatsHeader.run],
                host: stored.message.headers[NatsHeader.host],
                payload: size > NatsDelivery.mostPayload ? [] : stored.message.payload, size: size)
        }
    }
}

/// A connection to a stream in memory.
package final class MemoryBroker: BrokerReader {
    private let memory: MemoryStream
    private let trouble: @Sendable (MemoryStream.Call) -> MemoryStream.Trouble?
    package let mostMessage: Int
    /// What is wrong until it is connected.
    private let closed = Mutex<NatsFault?>(MemoryBroker.none)
    private static let none = NatsFault(.lost, "there is no connection")
    private let consumer = Mutex<MemoryStream.Consumer?>(nil)
    private let mostTogether: Int

    /// - Parameter trouble: asked at every call, what is wrong with it.
    package init(
        _ memory: MemoryStream, mostMessage: Int = 1 << 20, together: Int = 64,
        trouble: @escaping @Sendable (MemoryStream.Call) -> MemoryStream.Trouble? = { _ in nil }
    ) {
        self.memory = memory
        self.mostMessage = mostMessage
        mostTogether = together
        self.trouble = trouble
    }

    private func enter<Value>(
        _ call: MemoryStream.Call, _ body: () throws(NatsFault) -> Value
    ) throws(NatsFault) -> Value { try enter(call, trouble(call), body) }

    private func enter<Value>(
        _ call: MemoryStream.Call, _ trouble: MemoryStream.Trouble?, _ body: () throws(NatsFault) -> Value
    ) throws(NatsFault) -> Value {
        if call != .connect, let fault = closed.withLock(\.self) { throw fault }
        if case .before(let fault)? = trouble { throw lose(fault) }
        let value = try body()
        if case .after(let fault)? = trouble { throw lose(fault) }
        if call == .connect { closed.withLock { $0 = nil } }
        return value
    }

    private func lose(_ fault: NatsFault) -> NatsFault {
        switch fault.kind {
        case .lost, .unreachable: closed.withLock { $0 = Self.none }
        // As the connection says for good, whatever is asked of it.
        case .refused: closed.withLock { $0 = fault }
        default: break
        }
        return fault
    }

    package func connect() throws(NatsFault) { try enter(.connect) {} }
    package func publish(_ message: NatsMessage) throws(NatsFault) -> Bool {
        try enter(.publish) { () throws(NatsFault) in
            guard message.payload.count + 256 < mostMessage else { throw NatsFault(.tooLarge, "too large") }
            return try memory.publish(message)
        }
    }
    package func stream(_ name: String) throws(NatsFault) -> NatsStream { try enter(.stream) { memory.stream } }
    package func read(_ subject: String, of stream: String, from start: NatsStart) throws(NatsFault) {
        try enter(.read) {
            let made = memory.consumer(of: subject, from: start)
            consumer.withLock { $0 = made }
        }
    }
    package func next() throws(NatsFault) -> [NatsDelivery] {
        let trouble = trouble(.next)
        if case .late? = trouble { return [] }
        var messages = try enter(.next, trouble) { () throws(NatsFault) in
            guard var current = consumer.withLock(\.self) else { throw NatsFault(.lost, "nothing is read") }
            let messages = try memory.next(for: &current, atMost: mostTogether)
            consumer.withLock { [current] in $0 = current }
            return messages
        }
        if case .missing? = trouble, !messages.isEmpty { messages.removeFirst() }
        return messages
    }
    package func close() {}
}
