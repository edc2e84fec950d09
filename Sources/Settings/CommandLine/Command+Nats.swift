internal import Nats

extension Command {
    /// Parses the words of `catwatch nats`.
    ///
    /// - Parameter words: the words after `nats`.
    /// - Throws: `UsageError`.
    static func nats(
        _ words: ArraySlice<String>, environment: [String: String], load: Loader
    ) throws(UsageError) -> Command {
        let line = try ParsedArguments(words, of: .nats, environment: environment)
        if let request = line.request { return request }
        let part = line.words.first.map(NatsDefinition.Part.init(rawValue:)) ?? .all
        guard let part, line.words.count < 2 else {
            throw UsageError(
                "nats prints \(UsageError.list(NatsDefinition.Part.allCases.map(\.rawValue))), "
                    + "and not \(UsageError.quoted(line.words.joined(separator: " ")))")
        }
        return .nats(part, try line.configured(load: load))
    }
}

/// The stream and the permissions that NATS servers need, as text: catwatch itself never creates or changes the stream.
package struct NatsDefinition {
    package enum Part: String, Sendable, CaseIterable {
        case all, stream, permissions
    }

    private let stream: String
    private let agent: String

    init(_ options: Options) {
        stream = options[\.nats]?.stream ?? NatsSettings(to: NatsServers([])).stream
        agent = options[\.agentName] ?? "NAME"
    }

    func text(of part: Part) -> String {
        switch part {
        case .stream: definition
        case .permissions: permissions
        case .all:
            """
            # catwatch nats stream > stream.json && nats stream add \(stream) --config stream.json
            # duplicate_window: an agent that was cut off for less sends its last message again, and it is stored once.
            \(definition)
            # catwatch nats permissions: for the users of nats-server.conf
            \(permissions)
            """
        }
    }

    /// The stream's definition, as JetStream's API and `nats stream add --config` take it; times are in nanoseconds.
    private var definition: String {
        JSONTree.object([
            .init(SettingTable.rows.name.name, .string(stream)), .init("subjects", .strings([NatsSubject.all])),
            .init("storage", .string("file")), .init("num_replicas", .integer(3)),
            .init("retention", .string("limits")), .init("discard", .string("old")),
            .init("max_age", .integer(7 * 86_400 * 1_000_000_000)), .init("max_bytes", .integer(16 << 30)),
            .init("max_msgs", .integer(-1)), .init("max_msgs_per_subject", .integer(-1)),
            .init("max_msg_size", .integer(2_000_000)), .init("max_consumers", .integer(-1)),
            .init("duplicate_window", .integer(300 * 1_000_000_000)),
        ]).text
    }

    private var permissions: String {
        func list(_ subjects: [String]) -> String { "[" + subjects.map { "\"\($0)\"" }.joined(separator: ", ") + "]" }
        let subject = NatsSubject.of(agent)
        let api = "$JS.API"
        let publish = [subject, "\(api).STREAM.INFO.\(stream)"]
        let read = [
            "\(api).STREAM.INFO.\(stream)",
            "\(api).CONSUMER.CREATE.\(stream)", "\(api).CONSUMER.CREATE.\(stream).>",
            "\(api).CONSUMER.INFO.\(stream).>", "\(api).CONSUMER.DELETE.\(stream).>",
            "\(api).CONSUMER.MSG.NEXT.\(stream).>",
        ]
        return """
            # The server's own limit has to be above the stream's: a line has up to 1 MiB.
            #   max_payload: 2MB
            # The agent \(agent): it publishes to its own subject, asks for the stream's settings, and hears its own answers.
            permissions {
              publish { allow: \(list(publish)) }
              subscribe { allow: \(list(["\(NatsSubject.inbox(of: agent)).>"])) }
            }
            # Who reads all agents, and publishes nothing:
            permissions {
              publish { allow: \(list(read)) }
              subscribe { allow: \(list(["\(NatsSubject.readersInbox).>"])) }
            }

            """
    }
}
