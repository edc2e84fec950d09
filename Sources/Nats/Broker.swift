/// A message for a subject of a stream.
package struct NatsMessage: Sendable, Equatable {
    package var subject: String
    /// The stream that has to store it.
    package var stream: String
    /// The message id; the stream drops repetitions within its duplicate window.
    package var id: String?
    /// The values of headers by their names; printable ASCII.
    package var headers: [String: String] = [:]
    package var payload: [UInt8] = []
    /// The id that the stream's last message must have.
    package var expectedID: String?

    package init(subject: String, stream: String) { (self.subject, self.stream) = (subject, stream) }
}

/// The configuration and state of a stream.
package struct NatsStream: Sendable, Equatable {
    package var subjects: [String] = []
    /// In bytes; nil for the server's limit.
    package var mostMessage: Int?
    package var replicas = 1
    package var isOnDisk = true
    /// Whether it deletes old messages when it is full, instead of refusing new ones.
    package var discardsOld = true
    /// When it was created, in nanoseconds since 1970: identifies the stream among others of its name.
    package var created: Int64 = 0
    /// The sequence of its newest message so far; 0 before the first.
    package var last: UInt64 = 0

    package init() {}

    /// Returns why the stream of this name stores no message of this subject or pattern; nil if it does.
    package func refusal(of pattern: String, in name: String) -> String? {
        if subjects.contains(where: { NatsSubject.overlap($0, pattern) }) { return nil }
        let more = subjects.count > 8 ? " and \(subjects.count - 8) more" : ""
        return "stream \(name) takes \(subjects.prefix(8).joined(separator: ", "))\(more), and not \(pattern)"
    }
}

/// NATS servers with JetStream. All calls block; used by one task at a time, away from the event loop.
package protocol Broker: AnyObject, Sendable {
    /// Connects anew to any of the servers.
    func connect() throws(NatsFault)

    /// The largest message with its headers, in bytes, that the connected server takes.
    var mostMessage: Int { get }

    /// Publishes a message; returns once the stream has it.
    ///
    /// - Returns: whether the stream had a message with this id already.
    func publish(_ message: NatsMessage) throws(NatsFault) -> Bool

    func stream(_ name: String) throws(NatsFault) -> NatsStream

    func close()
}

/// A broker that also reads what others publish.
package protocol BrokerReader: Broker {
    /// Begins to read, instead of what was read before.
    ///
    /// - Parameters:
    ///   - subject: the subject, or a pattern of subjects.
    ///   - start: the first message.
    func read(_ subject: String, of stream: String, from start: NatsStart) throws(NatsFault)

    /// The next messages: up to 1 MiB of those that wait, or a single longer one; otherwise those that come within 3 s.
    func next() throws(NatsFault) -> [NatsDelivery]
}

/// The headers of our messages, besides the library's own.
package enum NatsHeader {
    /// The run of the lines, and the sequence numbers of the first and the last one.
    package static let run = "Catwatch-Run"
    package static let first = "Catwatch-First"
    package static let last = "Catwatch-Last"
    /// The host that publishes.
    package static let host = "Catwatch-Host"
    /// Present only in an agent's goodbye.
    package static let ended = "Catwatch-Ended"

    /// The printable characters among a text's first 64 bytes, as a header has no line breaks; nil for none.
    package static func word(of text: String) -> String? {
        let letters = text.utf8.prefix(64).filter { 0x21...0x7E ~= $0 }
        return letters.isEmpty ? nil : String(decoding: letters, as: UTF8.self)
    }

    /// Room for all headers of a message, in bytes.
    package static let room = 640
}

/// The settings for publishing a feed to a stream.
package struct NatsSettings: Sendable, Equatable {
    package var servers: NatsServers
    package var stream = "CATWATCH"
    /// The minimum time between two messages while lines are few.
    package var every = Duration.milliseconds(200)
    /// Whether each line is its own message.
    package var sendsLines = false

    /// The longest name of a stream, in bytes; headers have room for it.
    package static let longestStream = 64

    package init(to servers: NatsServers) { self.servers = servers }
}
