/// The message of a stream that a reader begins with.
package enum NatsStart: Sendable, Equatable {
    /// The first message stored at or after this time, in nanoseconds since 1970.
    case time(Int64)
    /// The message with this sequence, or the first one after it.
    case sequence(UInt64)

    /// Rounds a time down to the whole second, at least 1 s, in nanoseconds since 1970: nats.c 3.4.1 reads .012 s as
    /// .12 s, and then refuses its own consumer because its configuration differs from the request.
    package static func second(of time: Int64) -> Int64 { max(1_000_000_000, time - time % 1_000_000_000) }
}

/// A stream's message as a reader gets it.
package struct NatsDelivery: Sendable, Equatable {
    package var subject: String
    /// Its sequence in the stream.
    package var sequence: UInt64
    /// Its number among the consumer's messages, counted from 1 without holes.
    package var number: UInt64
    /// When it was stored, in nanoseconds since 1970.
    package var time: Int64
    /// The values of our headers, if present; not validated yet.
    package var run: String?
    package var host: String?
    package var payload: [UInt8]
    /// The length of the payload, in bytes; `payload` is empty when that is more than `mostPayload`.
    package var size: Int

    // A message from a stream: 2 MiB: a line, what is sent with it, some room; skipped, with an `error`.
    /// The longest payload to accept, in bytes.
    package static let mostPayload = 2 << 20

    package init(
        subject: String, sequence: UInt64, number: UInt64, time: Int64, run: String? = nil, host: String? = nil,
        payload: [UInt8] = [], size: Int? = nil
    ) {
        (self.subject, self.sequence, self.number, self.time) = (subject, sequence, number, time)
        (self.run, self.host, self.payload, self.size) = (run, host, payload, size ?? payload.count)
    }
}
