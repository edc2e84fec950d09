internal import CNATS
internal import Glibc
internal import Nats

/// Three nats-servers with JetStream that replicate one stream; used by one thread.
final class NatsCluster {
    private static let path = "/usr/sbin/nats-server"
    static var isInstalled: Bool { access(path, X_OK) == 0 }

    private let processes: [ChildProcess]
    let urls: String

    /// Starts the servers, and creates the stream as soon as they have elected a leader.
    init(folder: String) throws {
        let ports = try (0..<6).map { _ in try LoopbackSocket().port }
        let routes = ports[3...].map { "nats-route://127.0.0.1:\($0)" }.joined(separator: ", ")
        processes = try (0..<3).map { number in
            let file = "\(folder)/nats\(number).conf"
            let text = """
                server_name: n\(number)
                listen: 127.0.0.1:\(ports[number])
                max_payload: 2MB
                jetstream { store_dir: "\(folder)/store\(number)", max_mem: 64M, max_file: 4G }
                cluster { name: bench, listen: 127.0.0.1:\(ports[3 + number]), routes: [\(routes)] }

                """
            try TextFile.write(text, to: file)
            return try ChildProcess(Self.path, ["-c", file], folder: folder)
        }
        urls = ports[..<3].map { "nats://127.0.0.1:\($0)" }.joined(separator: ",")
        try makeStream()
    }

    func end() { for process in processes { process.end() } }

    private func makeStream() throws {
        for _ in 0..<300 {
            if (try? addStream()) != nil { return }
            usleep(100_000)
        }
        throw BenchError("the servers have no stream after 30 s")
    }

    private func addStream() throws {
        var (connection, context): (OpaquePointer?, OpaquePointer?)
        defer {
            jsCtx_Destroy(context)
            natsConnection_Destroy(connection)
        }
        guard natsConnection_ConnectTo(&connection, urls) == NATS_OK,
            natsConnection_JetStream(&context, connection, nil) == NATS_OK
        else { throw BenchError("no connection") }
        var stream = jsStreamConfig()
        jsStreamConfig_Init(&stream)
        let status = NatsSubject.all.withCString { subject in
            "CATWATCH".withCString { name in
                var subjects: [UnsafePointer<CChar>?] = [subject]
                return subjects.withUnsafeMutableBufferPointer { subjects in
                    (stream.Name, stream.Subjects, stream.SubjectsLen) = (name, subjects.baseAddress, 1)
                    (stream.Replicas, stream.AllowDirect, stream.MaxBytes) = (3, true, 1 << 30)
                    return js_AddStream(nil, context, &stream, nil, nil)
                }
            }
        }
        guard status == NATS_OK else { throw BenchError("no stream") }
    }
}
