/// Which message of a stream is the first one that a reader gets.
package enum NatsStart: Sendable, Equatable {
    /// Of each subject only the last one.
    case lastOfEach
    /// The first one that was stored at or after this time, in nanoseconds since 1970.
    case time(Int64)
    /// The one of this number, or the first one after it.
    case sequence(UInt64)

    /// The whole second that a time is in, from the epoch's first one on, in nanoseconds as the time is: nats.c 3.4.1 reads .012 s as
    /// .12 s, and then refuses the consumer that it has made as another one than was asked for.
    package static func second(of time: Int64) -> Int64 { max(1_000_000_000, time - time % 1_000_000_000) }
}

/// A message of a stream, as a reader gets it.
package struct NatsDelivery: Sendable, Equatable {
    package var subject: String
    /// Its number in the stream.
    package var sequence: UInt64
    /// Which one of its consumer's it is, from 1: they follow each other.
    package var number: UInt64
    /// When it was stored, in nanoseconds since 1970.
    package var time: Int64
    /// What our headers say, if they are there; nobody has looked at that.
    package var run: String?
    package var first: String?
    package var last: String?
    package var host: String?
    package var ended: String?
    package var payload: [UInt8]
    /// How long the payload is, in bytes: what is longer than anything of ours may be is left out.
    package var size: Int

    /// The longest payload that is taken: a line, whatever belongs to it included, and room.
    package static let mostPayload = 2 << 20

    package init(
        subject: String, sequence: UInt64, number: UInt64, time: Int64, run: String? = nil,
        first: String? = nil, last: String? = nil, host: String? = nil, ended: String? = nil, payload: [UInt8] = [],
        size: Int? = nil
    ) {
        self.subject = subject
        self.sequence = sequence
        self.number = number
        self.time = time
        self.run = run
        self.first = first
        self.last = last
        self.host = host
        self.ended = ended
        self.payload = payload
        self.size = size ?? payload.count
    }
}
