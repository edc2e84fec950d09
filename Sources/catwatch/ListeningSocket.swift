internal import Glibc
internal import Outputs
internal import Reactor
internal import Settings

/// The socket that readers connect to: made by us, or handed over by the service manager.
final class ListeningSocket {
    let listener: LoopBound<any Listener>
    private var file: SocketFile?

    init(_ listener: any Listener, file: consuming SocketFile? = nil) {
        self.listener = LoopBound(listener)
        self.file = file
    }

    /// - Returns: nil when the feed is not to be served.
    /// - Throws: `UsageError` when the path cannot be had.
    static func open(
        _ options: Options, environment: [String: String], on loop: EventLoop
    ) throws -> ListeningSocket? {
        if let inherited = InheritedSockets.takeListener(environment: environment) {
            DescriptorLimit.raise(for: options[\.maxReaders])
            return ListeningSocket(try SocketListener(owning: inherited, on: loop))
        }
        guard let listen = options[\.listen] else { return nil }
        DescriptorLimit.raise(for: options[\.maxReaders])
        var socket: Descriptor?
        let file: SocketFile
        do throws(SocketFile.Refusal) {
            let path = listen.path ?? DefaultSocket.path(environment: environment)
            if listen.path == nil { try DefaultSocket.prepareFolder(of: path) }
            file = try SocketFile.claim(path, mode: options[\.listenMode]) { (claimed: consuming Descriptor) in
                socket = consume claimed
            }
        } catch {
            throw UsageError(error.description, option: SettingTable.rows.listen.flag)
        }
        guard let socket = socket.take() else { return nil }
        return ListeningSocket(try SocketListener(owning: socket, on: loop), file: file)
    }

    /// Closes the socket and removes its file, if it is ours.
    func remove() {
        listener.value.close()
        file.take()?.remove()
    }
}

extension Options {
    /// The same options, to see a running agent's feed when nobody has said what to watch and one answers at the default
    /// socket.
    func attachingByDefault(environment: [String: String]) -> Options {
        guard self[\.attach] == nil, !namesSources, self[\.config] == nil, self[\.listen] == nil else { return self }
        guard (try? StreamSocket.connected(to: DefaultSocket.path(environment: environment))) != nil else {
            return self
        }
        var options = self
        options.values.set(\.attach, .usual)
        return options
    }
}

/// Where the socket is when nobody says otherwise.
enum DefaultSocket {
    /// `$XDG_RUNTIME_DIR/catwatch.sock`, else `/run/catwatch/catwatch.sock` for root, else
    /// `/tmp/catwatch-UID/catwatch.sock`.
    static func path(environment: [String: String]) -> String {
        if let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") { return "\(folder)/catwatch.sock" }
        let user = geteuid()
        return user == 0 ? "/run/catwatch/catwatch.sock" : "/tmp/catwatch-\(user)/catwatch.sock"
    }

    /// Makes the folder, private; one that is there must be ours and a folder, as anybody may write to /tmp.
    static func prepareFolder(of path: String) throws(SocketFile.Refusal) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let folder = String(path[..<slash])
        if mkdir(folder, 0o700) == 0 { return }
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw SocketFile.Refusal("\(folder) cannot be made")
        }
        guard status.st_uid == geteuid() else { throw SocketFile.Refusal("\(folder) belongs to somebody else") }
    }
}
