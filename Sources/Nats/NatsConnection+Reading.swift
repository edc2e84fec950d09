internal import CNATS
internal import Glibc

/// Reads with our own pull consumers, because the library's ordered consumers restart at the wrong place. Ours need no
/// acknowledgements, are kept in memory, and end by themselves half a minute after the last request.
extension NatsConnection: BrokerReader {
    /// The most messages and bytes of one request.
    private static let mostMessages: Int32 = 256
    private static let mostBytes: Int64 = 1 << 20
    /// How long a request waits for messages, in nanoseconds; the server sends a heartbeat meanwhile.
    private static let standing: Int64 = 3_000_000_000
    /// How long to wait for more messages after the first, in nanoseconds: they usually come together.
    private static let gathering: Int64 = 50_000_000
    private static let heartbeat: Int64 = 1_000_000_000
    /// How long a consumer outlives its last request, in nanoseconds.
    private static let idle: Int64 = 30_000_000_000

    package func read(_ subject: String, of stream: String, from start: NatsStart) throws(NatsFault) {
        if retired.count >= 100 { close() }
        guard let context else { throw Self.lost }
        endReading()
        var configuration = jsConsumerConfig()
        try check(jsConsumerConfig_Init(&configuration), .other)
        configuration.AckPolicy = js_AckNone
        configuration.MemoryStorage = true
        configuration.Replicas = 1
        configuration.InactiveThreshold = Self.idle
        switch start {
        case .time(let time):
            configuration.DeliverPolicy = js_DeliverByStartTime
            configuration.OptStartTime = NatsStart.second(of: time)
        case .sequence(let sequence):
            configuration.DeliverPolicy = js_DeliverByStartSequence
            configuration.OptStartSeq = max(1, sequence)
        }
        let filter = strdup(subject)
        defer { free(filter) }
        configuration.FilterSubject = UnsafePointer(filter)
        var code = jsErrCode(0)
        var information: UnsafeMutablePointer<jsConsumerInfo>?
        var status = js_AddConsumer(&information, context, stream, &configuration, nil, &code)
        defer { jsConsumerInfo_Destroy(information) }
        guard status == NATS_OK, let name = information?.pointee.Name else {
            throw fault(reading: status, code, "$JS.API.CONSUMER.CREATE.\(stream)")
        }
        consumer = "\(stream).\(String(cString: name))"
        // Bound to an existing consumer, because giving up one that it created would wait for an answer.
        var options = jsSubOptions()
        try check(jsSubOptions_Init(&options), .other)
        let streamName = strdup(stream)
        defer { free(streamName) }
        (options.Stream, options.Consumer) = (UnsafePointer(streamName), UnsafePointer(name))
        options.Config = configuration
        status = js_PullSubscribe(&subscription, context, subject, nil, nil, &options, &code)
        guard status == NATS_OK else { throw fault(reading: status, code, "$JS.API.CONSUMER.INFO.\(stream)") }
    }

    /// Deletes the current consumer, because a stream may allow only a few. If that is not permitted or gets lost, the
    /// consumer ends by itself. Does not wait for an answer.
    private func endReading() {
        if let subscription {
            natsSubscription_Unsubscribe(subscription)
            retired.append(subscription)
        }
        if let consumer { natsConnection_PublishString(connection, "$JS.API.CONSUMER.DELETE.\(consumer)", "") }
        (subscription, consumer) = (nil, nil)
    }

    package func next() throws(NatsFault) -> [NatsDelivery] {
        // First a single message without a limit of bytes, which would refuse a long one.
        var messages = try fetch(1, waits: true)
        if !messages.isEmpty { messages += try fetch(Self.mostMessages, waits: false) }
        return messages
    }

    private func fetch(_ most: Int32, waits: Bool) throws(NatsFault) -> [NatsDelivery] {
        guard connection != nil, let subscription else { throw Self.lost }
        var request = jsFetchRequest()
        try check(jsFetchRequest_Init(&request), .other)
        request.Batch = most
        request.Expires = waits ? Self.standing : Self.gathering
        request.NoWait = !waits
        (request.Heartbeat, request.MaxBytes) = waits ? (Self.heartbeat, 0) : (0, Self.mostBytes)
        var list = natsMsgList(Msgs: nil, Count: 0)
        let status = natsSubscription_FetchRequest(&list, subscription, &request)
        defer { natsMsgList_Destroy(&list) }
        switch status {
        case NATS_OK, NATS_TIMEOUT, NATS_NOT_FOUND: break
        case _ where list.Count > 0 || !waits: break  // the next request gets the same answer
        // The library reports all final answers like this; usually the consumer has gone.
        case NATS_ERR: throw NatsFault(.silent, "the stream's server knows nothing of this reader any more")
        case NATS_MISSED_HEARTBEAT: throw fault(reading: NATS_TIMEOUT, jsErrCode(0), "$JS.API.CONSUMER.MSG.NEXT")
        default: throw fault(reading: status, jsErrCode(0), "$JS.API.CONSUMER.MSG.NEXT")
        }
        let messages = (0..<Int(list.Count)).compactMap { index in list.Msgs?[index].flatMap(Self.delivery) }
        guard messages.count == Int(list.Count) else {
            throw NatsFault(.other, "what the server sends is no message of the stream")
        }
        return messages
    }

    /// - Parameter subject: the beginning of the requested subject.
    private func fault(reading status: natsStatus, _ code: jsErrCode, _ subject: String) -> NatsFault {
        switch (status, code) {
        case (NATS_NO_RESPONDERS, _), (_, JSNotEnabledErr), (_, JSClusterNotAvailErr), (_, JSConsumerNotFoundErr):
            NatsFault(.nobody, "nobody answers for the stream: it has no leader, or JetStream is off")
        default: fault(status, code, about: subject)
        }
    }

    /// Nil when the message does not come from a stream.
    private static func delivery(_ message: OpaquePointer) -> NatsDelivery? {
        var about: UnsafeMutablePointer<jsMsgMetaData>?
        guard natsMsg_GetMetaData(&about, message) == NATS_OK, let data = about?.pointee,
            let subject = natsMsg_GetSubject(message)
        else { return nil }
        defer { jsMsgMetaData_Destroy(about) }
        let size = Int(natsMsg_GetDataLength(message))
        let bytes = UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: size)
        return NatsDelivery(
            subject: String(cString: subject), sequence: data.Sequence.Stream, number: data.Sequence.Consumer,
            time: data.Timestamp, run: header(NatsHeader.run, of: message),
            host: header(NatsHeader.host, of: message),
            payload: size <= NatsDelivery.mostPayload ? Array(bytes) : [], size: size)
    }
}
