package import Nats
import Synchronization

/// A stream in memory, which forgets ids when it is told to, and the connections to it, which fail when they are told to.
package final class MemoryStream: Sendable {
    /// What goes wrong with a call: before it has done anything, or when it has.
    package enum Trouble: Sendable {
        case before(NatsFault)
        case after(NatsFault)
    }

    package enum Call: Sendable, Equatable { case connect, publish, last, stream }

    private struct State {
        var stored: [(sequence: UInt64, message: NatsMessage)] = []
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
    package func remember(_ id: String) { state.withLock { $0.ids[id] = $0.next } }
    package func removeAll() { state.withLock { $0.stored = [] } }

    fileprivate func publish(_ message: NatsMessage) throws(NatsFault) -> NatsReceipt {
        let result: Result<NatsReceipt, NatsFault> = state.withLock { state in
            state.sent.append(message)
            if let most = state.setUp.mostMessage, message.payload.count > most {
                return .failure(NatsFault(.tooLarge, "too large"))
            }
            // In this order, as replicas do.
            let last = state.stored.last { $0.message.subject == message.subject }?.sequence ?? 0
            if let expected = message.expected, expected != last { return .failure(NatsFault(.outrun, "another one")) }
            if let id = message.id, let sequence = state.ids[id] {
                return .success(NatsReceipt(sequence: sequence, isRepeated: true))
            }
            defer { state.next += 1 }
            state.stored.append((state.next, message))
            if let id = message.id { state.ids[id] = state.next }
            return .success(NatsReceipt(sequence: state.next))
        }
        return try result.get()
    }

    fileprivate func last(of subject: String) -> NatsStored? {
        state.withLock { state in
            state.stored.last { $0.message.subject == subject }.map { stored in
                NatsStored(
                    sequence: stored.sequence, id: stored.message.id,
                    host: stored.message.headers.first { $0.name == NatsHeader.host }?.value)
            }
        }
    }

    fileprivate var stream: NatsStream { state.withLock(\.setUp) }
}

/// A connection to a stream in memory.
package final class MemoryBroker: Broker {
    private let memory: MemoryStream
    private let trouble: @Sendable (MemoryStream.Call) -> MemoryStream.Trouble?
    package let mostMessage: Int
    /// Whether it was connected since it was last lost.
    private let isConnected = Mutex(false)

    /// - Parameter trouble: asked at every call, what is wrong with it.
    package init(
        _ memory: MemoryStream, mostMessage: Int = 1 << 20,
        trouble: @escaping @Sendable (MemoryStream.Call) -> MemoryStream.Trouble? = { _ in nil }
    ) {
        self.memory = memory
        self.mostMessage = mostMessage
        self.trouble = trouble
    }

    private func enter<Value>(
        _ call: MemoryStream.Call, _ body: () throws(NatsFault) -> Value
    ) throws(NatsFault) -> Value {
        let trouble = trouble(call)
        guard call == .connect || isConnected.withLock(\.self) else {
            throw NatsFault(.lost, "there is no connection")
        }
        if case .before(let fault)? = trouble { throw lose(fault) }
        let value = try body()
        if case .after(let fault)? = trouble { throw lose(fault) }
        if call == .connect { isConnected.withLock { $0 = true } }
        return value
    }

    private func lose(_ fault: NatsFault) -> NatsFault {
        if fault.kind == .lost || fault.kind == .unreachable { isConnected.withLock { $0 = false } }
        return fault
    }

    package func connect() throws(NatsFault) { try enter(.connect) {} }
    package func publish(_ message: NatsMessage) throws(NatsFault) -> NatsReceipt {
        try enter(.publish) { () throws(NatsFault) in
            guard message.payload.count + 256 < mostMessage else { throw NatsFault(.tooLarge, "too large") }
            return try memory.publish(message)
        }
    }
    package func last(in stream: String, of subject: String) throws(NatsFault) -> NatsStored? {
        try enter(.last) { memory.last(of: subject) }
    }
    package func stream(_ name: String) throws(NatsFault) -> NatsStream { try enter(.stream) { memory.stream } }
    package func close() {}
}
