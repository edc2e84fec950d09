internal import Glibc
internal import Outputs
internal import Reactor
internal import Settings

/// The socket that readers connect to: made by us, or handed over by the service manager.
///
/// Unchecked: made where files may be waited for, and then used on the loop only.
final class ListeningSocket: @unchecked Sendable {
    /// Where it is; nil for the service manager's.
    let path: String?
    private var mode: UInt32
    private var socket: Descriptor?
    private var listener: (any Listener)?
    private var file: SocketFile?

    private init(_ socket: consuming Descriptor, at path: String?, mode: UInt32 = 0, file: consuming SocketFile?) {
        self.path = path
        self.mode = mode
        self.socket = consume socket
        self.file = file
    }

    /// One in a simulation.
    init(_ listener: any Listener, at path: String) {
        self.path = path
        self.mode = 0
        self.listener = listener
    }

    /// Nobody wanted it after all.
    deinit { file.take()?.remove() }

    /// The service manager's; nil when there is none. It can be had once.
    ///
    /// - Throws: `UsageError` when it is no Unix socket: who gets to a port, a browser for any site among them, is looked at
    ///   by HTTP only.
    static func inherited(environment: [String: String]) throws(UsageError) -> ListeningSocket? {
        guard let socket = InheritedSockets.take(.feed, environment: environment) else { return nil }
        guard let address = try? SocketAddress(of: socket), address.isLocal else {
            throw UsageError(
                "the service manager's socket is no Unix socket; FileDescriptorName=http serves the page at it",
                option: SettingTable.rows.listen.flag)
        }
        return ListeningSocket(socket, at: nil, file: nil)
    }

    /// Claims the path that options name; nil when the feed is not to be served. Blocks.
    ///
    /// - Throws: `UsageError` when the path cannot be had.
    static func claim(_ options: Options, environment: [String: String]) throws(UsageError) -> ListeningSocket? {
        guard let path = options.socketPath(environment: environment) else { return nil }
        var socket: Descriptor?
        let file: SocketFile
        do throws(SocketFile.Refusal) {
            if options[\.listen]?.path == nil { try DefaultSocket.prepareFolder(of: path) }
            file = try SocketFile.claim(path, mode: options[\.listenMode]) { (claimed: consuming Descriptor) in
                socket = consume claimed
            }
        } catch {
            throw UsageError(error.description, option: SettingTable.rows.listen.flag)
        }
        guard let socket = socket.take() else { return nil }
        return ListeningSocket(socket, at: path, mode: options[\.listenMode], file: file)
    }

    /// Where readers come in; once.
    func open(on loop: EventLoop) throws(SystemError) -> any Listener {
        if let socket = socket.take() { listener = try SocketListener(owning: socket, on: loop) }
        guard let listener else { throw SystemError(code: EBADF, call: "accept4") }
        return listener
    }

    /// Gives the socket other permissions; the service manager's stay.
    func change(mode: UInt32) throws(SystemError) {
        guard mode != self.mode else { return }
        try file?.change(mode: mode)
        self.mode = mode
    }

    /// Closes the socket and removes its file, if it is ours.
    func remove() {
        listener?.close()
        socket = nil
        file.take()?.remove()
    }
}

extension Options {
    /// Where the feed is to be served; nil for nowhere.
    func socketPath(environment: [String: String]) -> String? {
        self[\.listen].map { $0.path ?? DefaultSocket.path(environment: environment) }
    }
}
