/// A message for a subject of a stream.
package struct NatsMessage: Sendable, Equatable {
    package var subject: String
    /// The stream that must be the one which takes it.
    package var stream: String
    /// By which it is known, for as long as the stream's duplicate window is.
    package var id: String?
    package var headers: [Header] = []
    package var payload: [UInt8] = []
    /// The sequence of the subject's last message, 0 for none: it is stored only if that is so. Nil for whatever there is.
    package var expected: UInt64?
    /// The id that the stream's last message must have.
    package var expectedID: String?

    /// Printable ASCII.
    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(subject: String, stream: String) {
        self.subject = subject
        self.stream = stream
    }
}

/// What a stream says of a message that it has.
package struct NatsReceipt: Sendable, Equatable {
    package var sequence: UInt64
    /// Whether it was there before, by its id.
    package var isRepeated: Bool

    package init(sequence: UInt64, isRepeated: Bool = false) {
        self.sequence = sequence
        self.isRepeated = isRepeated
    }
}

/// A message that a stream has, as far as its publisher wants to know.
package struct NatsStored: Sendable, Equatable {
    package var sequence: UInt64
    package var id: String?
    /// The id of the other process's message that its publisher found there and went on behind.
    package let behind: String?
    /// The machine that it came from, as far as that is the name of one.
    package let host: String?

    package init(sequence: UInt64, id: String?, behind: String? = nil, host: String?) {
        self.sequence = sequence
        self.id = id
        self.behind = behind
        self.host = host.flatMap(NatsHeader.word(of:))
    }
}

/// A stream as it is set up.
package struct NatsStream: Sendable, Equatable {
    package var subjects: [String] = []
    /// In bytes; nil for whatever the server takes.
    package var mostMessage: Int?
    package var replicas = 1
    package var isOnDisk = true
    /// Whether it lets go of old messages when it is full, instead of refusing new ones.
    package var discardsOld = true
    package var duplicateWindow = Duration.seconds(120)
    /// Whether each of its servers may be asked for a message.
    package var allowsDirect = true
    /// When it was made, in nanoseconds since 1970: which one of its name it is.
    package var created: Int64 = 0
    /// The number of the newest message that it has had; 0 before there was one.
    package var last: UInt64 = 0

    package init() {}

    /// Its first subjects, for a person.
    package var subjectsText: String {
        subjects.prefix(8).joined(separator: ", ") + (subjects.count > 8 ? " and \(subjects.count - 8) more" : "")
    }

    /// Whether messages of a subject get into it.
    package func takes(_ subject: String) -> Bool { subjects.contains { Self.pattern($0, matches: subject) } }

    /// Whether any subject that a pattern stands for may get into it.
    package func mayTake(_ pattern: String) -> Bool { subjects.contains { NatsSubject.overlap($0, pattern) } }

    /// A pattern has `*` for one token, and `>` for all that follow.
    package static func pattern(_ pattern: String, matches subject: String) -> Bool {
        let (pattern, tokens) = (pattern.split(separator: "."), subject.split(separator: "."))
        for (index, part) in pattern.enumerated() {
            guard index < tokens.count else { return false }
            if part == ">" { return true }
            guard part == "*" || part == tokens[index] else { return false }
        }
        return pattern.count == tokens.count
    }
}

/// Servers with JetStream. All of it blocks, and is used by one piece of work at a time, away from the loop.
package protocol Broker: AnyObject, Sendable {
    /// Connects anew, to any of the servers.
    func connect() throws(NatsFault)

    /// The largest message with its headers, in bytes, that the server takes which is connected to.
    var mostMessage: Int { get }

    func publish(_ message: NatsMessage) throws(NatsFault) -> NatsReceipt

    /// The last message of a subject; nil when there is none.
    func last(in stream: String, of subject: String) throws(NatsFault) -> NatsStored?

    func stream(_ name: String) throws(NatsFault) -> NatsStream

    func close()
}

/// The same for who reads what others publish.
package protocol BrokerReader: Broker {
    /// Begins to read, in the place of what was read before.
    ///
    /// - Parameters:
    ///   - subject: whose messages; may be a pattern.
    ///   - isBrief: whether they come without what is in them.
    /// - Returns: how many there are already, or more: the server has them counted twice that come meanwhile.
    func read(_ subject: String, of stream: String, from start: NatsStart, isBrief: Bool) throws(NatsFault) -> UInt64

    /// The next messages: those there are, 1 MiB of them or a longer one, or those that come within 3 s.
    func next() throws(NatsFault) -> [NatsDelivery]
}

/// What our messages say beside the library's own headers.
package enum NatsHeader {
    /// The run of the lines, and the numbers of the first and the last one.
    package static let run = "Catwatch-Run"
    package static let first = "Catwatch-First"
    package static let last = "Catwatch-Last"
    /// The machine that it comes from.
    package static let host = "Catwatch-Host"
    /// That it says goodbye; only there when it does.
    package static let ended = "Catwatch-Ended"
    /// The id of the other process's message that this one's publisher went on behind.
    package static let behind = "Catwatch-Behind"
    static let id = "Nats-Msg-Id"

    /// What is printable of the first 64 bytes of a name or an id, as a header has no breaks; nil for none.
    package static func word(of text: String) -> String? {
        let letters = text.utf8.prefix(64).filter { 0x21...0x7E ~= $0 }
        return letters.isEmpty ? nil : String(decoding: letters, as: UTF8.self)
    }

    /// Room for all headers of a message, in bytes.
    package static let room = 640
}
