internal import CNATS
internal import Glibc
internal import Reactor

/// A connection with nats.c. The library never reconnects by itself: when and how to do that is up to the owner.
///
/// Unchecked: used by one task at a time, and the library's own threads call nothing here.
package final class NatsConnection: Broker, @unchecked Sendable {
    private let servers: NatsServers
    private let name: String
    private let inbox: String
    /// How long a server may take for each step of connecting, in milliseconds.
    private let patience: Int64
    private(set) var connection: OpaquePointer?
    private(set) var context: OpaquePointer?
    /// The subscription that is read.
    var subscription: OpaquePointer?
    // Bound: abandoned subscriptions of a NATS connection | 100, each at most 1 MiB or a message | connection made anew
    /// Subscriptions that were read before, which live as long as the connection: see `close`.
    var retired: [OpaquePointer] = []
    /// The consumer that is read: the stream's name and its own.
    var consumer: String?

    /// How long an answer, a write, or a server's greeting may take, in milliseconds. With stopped servers, connecting
    /// takes that long for each of them.
    package static let patience: Int64 = 2_000
    /// How long a server that did not answer may take to reply to a ping, in milliseconds.
    private static let pingPatience: Int64 = 500
    private static let mostSecret = 64 << 10

    /// - Parameters:
    ///   - name: the connection's name in the server's list.
    ///   - inbox: the prefix of the subjects for answers; tokens separated by dots.
    ///   - patience: how long a server may take for each step of connecting, in milliseconds.
    package init(to servers: NatsServers, name: String, inbox: String, patience: Int64 = NatsConnection.patience) {
        self.servers = servers
        self.name = name
        self.inbox = inbox
        self.patience = patience
    }

    deinit { close() }

    /// Has the library's reading thread close the connection before it is destroyed: nats.c 3.4.1 uses a subscription that
    /// another thread has freed, if that closes the connection while a message is copied for it (`natsConn_processMsg`).
    package func close() {
        let ended = connection
        defer { (subscription, retired, consumer, context, connection) = (nil, [], nil, nil, nil) }
        if let ended {
            cw_nats_hang_up(ended)
            var left = Self.patience
            while !natsConnection_IsClosed(ended), left > 0 {
                usleep(1_000)
                left -= 1
            }
            // Memory is lost then; that should not happen.
            guard natsConnection_IsClosed(ended) else { return }
        }
        for each in retired { natsSubscription_Destroy(each) }
        natsSubscription_Destroy(subscription)
        jsCtx_Destroy(context)
        natsConnection_Destroy(ended)
    }

    package var mostMessage: Int { Int(natsConnection_GetMaxPayload(connection)) }

    // MARK: Connecting

    package func connect() throws(NatsFault) {
        close()
        var options: OpaquePointer?
        try check(natsOptions_Create(&options), .other)
        defer { natsOptions_Destroy(options) }
        try set(options)
        var connection: OpaquePointer?
        // Its greeting and its answer.
        let limit = Int32(2 * patience + patience / 4)
        let ports = servers.addresses.map { Int32($0.port) }
        var status = cw_nats_connect(&connection, options, ports, Int32(ports.count), limit)
        // One in 256 signatures by nats.c 3.4.1 is invalid (measured: 32 of 8,440): try again before believing it.
        for _ in 0..<2 where servers.credentials.isSigning && status == NATS_CONNECTION_AUTH_FAILED {
            status = cw_nats_connect(&connection, options, ports, Int32(ports.count), limit)
        }
        guard status == NATS_OK else { throw fault(connecting: status) }
        self.connection = connection
        var limits = jsOptions()
        try check(jsOptions_Init(&limits), .other)
        limits.Wait = Self.patience
        try check(natsConnection_JetStream(&context, connection, &limits), .other)
    }

    private func set(_ options: OpaquePointer?) throws(NatsFault) {
        var list = servers.addresses.map { UnsafePointer(strdup($0.description)) }
        defer { for text in list { free(UnsafeMutablePointer(mutating: text)) } }
        var statuses = [
            natsOptions_SetServers(options, &list, Int32(list.count)),
            natsOptions_SetIgnoreDiscoveredServers(options, true),
            natsOptions_SetName(options, name),
            natsOptions_SetCustomInboxPrefix(options, inbox),
            natsOptions_SetTimeout(options, patience),
            natsOptions_SetWriteDeadline(options, Self.patience),
            natsOptions_SetAllowReconnect(options, false),
            natsOptions_SetReconnectBufSize(options, 0),
            natsOptions_SetFailRequestsOnDisconnect(options, true),
            natsOptions_SetPingInterval(options, 20_000),
            cw_nats_keep_quiet(options),
        ]
        switch servers.credentials {
        case .none: break
        case .creds(let path):
            _ = try Self.secret(in: path, "creds_file")
            statuses.append(natsOptions_SetUserCredentialsFromFiles(options, path, nil))
        case .nkey(let path):
            // The file may also hold comments and the public key, which tools write there.
            let words = try Self.secret(in: path, "nkey_file").split(whereSeparator: \.isWhitespace)
            guard let key = words.lazy.compactMap({ NKey.publicKey(ofSeed: $0) }).first else {
                throw NatsFault(.settings, "nkey_file: \(path) holds no seed of a user's nkey")
            }
            statuses.append(natsOptions_SetNKeyFromSeed(options, key, path))
        case .token(let path):
            statuses.append(natsOptions_SetToken(options, try Self.secret(in: path, "token_file")))
        }
        for status in statuses { try check(status, .settings) }
        guard servers.isSecure else { return }
        try check(natsOptions_SetSecure(options, true), .secure)
        if let path = servers.authorities {
            try check(natsOptions_LoadCATrustedCertificates(options, path), .secure, "ca_file: \(path)")
        }
        if let path = servers.certificate {
            try check(
                natsOptions_LoadCertificatesChain(options, path, servers.key ?? path), .secure, "certificate: \(path)")
        }
    }

    /// Reads a small file; returns its text without the white space around it.
    ///
    /// - Parameter key: the setting that names the file.
    private static func secret(in path: String, _ key: String) throws(NatsFault) -> String {
        let bytes: [UInt8]?
        do throws(SystemError) {
            bytes = try Descriptor.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
                .bytes(limit: mostSecret, patience: Int32(patience))
        } catch {
            throw NatsFault(.settings, "\(key): cannot read \(path): \(error.reason)")
        }
        guard let bytes, let first = bytes.firstIndex(where: { $0 > 0x20 }),
            let last = bytes.lastIndex(where: { $0 > 0x20 })
        else { throw NatsFault(.settings, "\(key): \(path) holds nothing, or too much") }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }

    // MARK: Publishing and asking

    package func publish(_ message: NatsMessage) throws(NatsFault) -> Bool {
        guard let context else { throw Self.lost }
        var raw: OpaquePointer?
        let made = message.payload.withUnsafeBytes {
            natsMsg_Create(
                &raw, message.subject, nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
        }
        try check(made, .other)
        defer { natsMsg_Destroy(raw) }
        for (name, value) in message.headers { try check(natsMsgHeader_Set(raw, name, value), .other) }
        var options = jsPubOptions()
        try check(jsPubOptions_Init(&options), .other)
        options.MaxWait = Self.patience
        let texts = [message.id, message.stream, message.expectedID].map { $0.map { UnsafePointer(strdup($0)) } ?? nil }
        defer { for text in texts { free(UnsafeMutablePointer(mutating: text)) } }
        (options.MsgId, options.ExpectStream, options.ExpectLastMsgId) = (texts[0], texts[1], texts[2])
        var code = jsErrCode(0)
        var receipt: UnsafeMutablePointer<jsPubAck>?
        let status = js_PublishMsg(&receipt, context, raw, &options, &code)
        defer { jsPubAck_Destroy(receipt) }
        guard status == NATS_OK, let receipt = receipt?.pointee else {
            throw fault(status, code, about: message.subject)
        }
        guard receipt.Stream.map({ String(cString: $0) }) == message.stream else {
            throw NatsFault(.other, "what answers stores nothing in stream \(message.stream)")
        }
        return receipt.Duplicate
    }

    static func header(_ name: String, of message: OpaquePointer?) -> String? {
        var value: UnsafePointer<CChar>?
        guard natsMsgHeader_Get(message, name, &value) == NATS_OK else { return nil }
        return value.map { String(cString: $0) }
    }

    package func stream(_ name: String) throws(NatsFault) -> NatsStream {
        guard let context else { throw Self.lost }
        var information: UnsafeMutablePointer<jsStreamInfo>?
        var code = jsErrCode(0)
        let status = js_GetStreamInfo(&information, context, name, nil, &code)
        defer { jsStreamInfo_Destroy(information) }
        guard status == NATS_OK, let set = information?.pointee.Config?.pointee else {
            if status == NATS_NO_RESPONDERS || code == JSNotEnabledErr {
                throw NatsFault(.absent, "JetStream is off at the server, or nobody answers for it")
            }
            throw fault(status, code, about: "$JS.API.STREAM.INFO.\(name)")
        }
        var stream = NatsStream()
        stream.subjects = (0..<Int(set.SubjectsLen)).compactMap { set.Subjects?[$0].map { String(cString: $0) } }
        stream.mostMessage = set.MaxMsgSize > 0 ? Int(set.MaxMsgSize) : nil
        stream.replicas = Int(set.Replicas)
        stream.isOnDisk = set.Storage == js_FileStorage
        stream.discardsOld = set.Discard == js_DiscardOld
        stream.created = information?.pointee.Created ?? 0
        stream.last = information?.pointee.State.LastSeq ?? 0
        return stream
    }

    // MARK: Faults

    static let lost = NatsFault(.lost, "the connection is gone")

    /// - Parameter file: the setting and the file that the call is about.
    func check(_ status: natsStatus, _ kind: NatsFault.Kind, _ file: String? = nil) throws(NatsFault) {
        guard status != NATS_OK else { return }
        throw NatsFault(kind, (file.map { "\($0): " } ?? "") + Self.words(status))
    }

    private static func words(_ status: natsStatus) -> String {
        natsStatus_GetText(status).map { String(cString: $0).lowercased() } ?? "status \(status.rawValue)"
    }

    private func fault(connecting status: natsStatus) -> NatsFault {
        let details = Self.details()
        let text = details.isEmpty ? Self.words(status) : details
        return switch status {
        case NATS_CONNECTION_AUTH_FAILED, NATS_NOT_PERMITTED: Self.refused(text)
        case NATS_SECURE_CONNECTION_REQUIRED: NatsFault(.secure, "the server asks for TLS; write tls://")
        case NATS_SECURE_CONNECTION_WANTED: NatsFault(.secure, "the server has no TLS")
        case NATS_SSL_ERROR: NatsFault(.secure, text)
        case NATS_TIMEOUT: NatsFault(.unreachable, "no server has answered within \(Self.patience / 1_000) s")
        case NATS_NO_SERVER, NATS_IO_ERROR: NatsFault(.unreachable, "no server is there")
        // With TLS 1.3, this is how a client learns that its certificate was refused.
        case NATS_PROTOCOL_ERROR where servers.isSecure && text.holds("PONG"):
            NatsFault(
                .secure, "the server hangs up behind the handshake; it may want another certificate, or one at all")
        case NATS_PROTOCOL_ERROR where text.holds("got ''"):
            NatsFault(.unreachable, "the server has sent its greeting, and no answer")
        default: NatsFault(.unreachable, text)
        }
    }

    /// The library's description of the call that failed last on this thread.
    private static func details() -> String {
        var details = nats_GetLastError(nil).map { String(cString: $0) }?.prefix(200) ?? ""
        // Skips the place in the library: "(conn.c:733): ".
        if details.first == "(", let end = details.firstIndex(of: ":").flatMap({ details[$0...].firstIndex(of: " ") }) {
            details = details[end...].dropFirst()
        }
        return String(details)
    }

    /// - Parameter subject: the subject of the request, or its beginning.
    func fault(_ status: natsStatus, _ code: jsErrCode, about subject: String) -> NatsFault {
        switch (status, code) {
        case (_, JSStreamWrongLastMsgIDErr): return NatsFault(.sequenceConflict, "the last message is another one")
        case (NATS_MAX_PAYLOAD, _): return NatsFault(.tooLarge, "what is sent is larger than the server's max_payload")
        case (_, JSStreamMessageExceedsMaximumErr):
            return NatsFault(.tooLarge, "the message is larger than the stream's max_msg_size")
        case (_, JSStreamNotFoundErr): return NatsFault(.absent, "there is no such stream")
        case (_, JSStreamNotMatchErr): return NatsFault(.absent, "another stream takes \(subject)")
        case (_, JSNotEnabledForAccountErr): return NatsFault(.absent, "JetStream is off for the account")
        case (NATS_NO_RESPONDERS, _), (_, JSNotEnabledErr):
            return NatsFault(.nobody, "no stream takes \(subject) now")
        case (NATS_TIMEOUT, _):
            guard natsConnection_FlushTimeout(connection, Self.pingPatience) == NATS_OK else {
                return NatsFault(.lost, "the server does not answer")
            }
            // The complaint may be about an earlier request whose API subject only ends with this one.
            if let complaint, complaint.holds("\"\(subject)") || complaint.holds(inbox) {
                return NatsFault(.denied, complaint)
            }
            return NatsFault(.silent, "no answer has come within \(Self.patience / 1_000) s")
        case (NATS_CONNECTION_CLOSED, _), (NATS_CONNECTION_DISCONNECTED, _), (NATS_IO_ERROR, _),
            (NATS_STALE_CONNECTION, _):
            return complaint.map(Self.fault(closedBy:)) ?? Self.lost
        default:
            guard code.rawValue == 0 else { return NatsFault(code: Int(code.rawValue), description: Self.details()) }
            return NatsFault(.other, "what the server answers makes no sense: \(Self.words(status))")
        }
    }

    /// The server accepts expiring credentials until the end of a second, and then closes the connection.
    private static func fault(closedBy complaint: String) -> NatsFault {
        ["Expired", "Revoked", "Authorization"].contains { complaint.holds($0) }
            ? refused(complaint) : NatsFault(.lost, "the connection is gone: \(complaint)")
    }

    private static func refused(_ text: String) -> NatsFault {
        NatsFault(.refused, "the server refuses the credentials: \(text)")
    }

    /// The server's last error message on this connection; nil for none.
    private var complaint: String? {
        var text = [CChar](repeating: 0, count: 256)
        guard cw_nats_last_complaint(connection, &text) != NATS_OK, text[0] != 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
