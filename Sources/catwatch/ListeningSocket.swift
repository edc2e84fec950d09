internal import Glibc
internal import Outputs
internal import Reactor
internal import Settings

/// The socket that readers connect to: created by us, or handed over by the service manager.
///
/// Unchecked: created on a thread that may wait for files, then used on the event loop only.
final class ListeningSocket: @unchecked Sendable, Equatable {
    /// The socket's path; nil for the service manager's.
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

    /// Creates a listener for a simulation.
    init(_ listener: any Listener, at path: String?) {
        self.path = path
        self.mode = 0
        self.listener = listener
    }

    /// Whether both are the same socket.
    static func == (left: ListeningSocket, right: ListeningSocket) -> Bool { left === right }

    /// Removes the file if `remove` was not called.
    deinit { file.take()?.remove() }

    /// Returns the service manager's socket, only once; nil when there is none.
    ///
    /// - Throws: `UsageError` when it is not a Unix socket: at a port, requests (for example, from a browser on any
    ///   site) are only checked over HTTP.
    static func inherited(environment: [String: String]) throws(UsageError) -> ListeningSocket? {
        guard let socket = InheritedSockets.claim(.feed, environment: environment) else { return nil }
        guard let address = try? SocketAddress(of: socket), address.isLocal else {
            throw UsageError(
                "the service manager's socket is no Unix socket; FileDescriptorName=http serves the page at it",
                option: SettingTable.rows.listen.flag)
        }
        return ListeningSocket(socket, at: nil, file: nil)
    }

    /// Claims the path that the options name; nil when the feed is not to be served. Blocks.
    ///
    /// - Throws: `UsageError` when the path is not available.
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

    /// Returns the listener for readers.
    func open(on loop: EventLoop) throws(SystemError) -> any Listener {
        if let socket = socket.take() { listener = try SocketListener(owning: socket, on: loop) }
        guard let listener else { throw SystemError(code: EBADF, call: "accept4") }
        return listener
    }

    /// Changes the socket's permissions; the service manager's socket keeps its own.
    func change(mode: UInt32) throws(SystemError) {
        guard mode != self.mode else { return }
        try file?.change(mode: mode)
        self.mode = mode
    }

    /// Closes the socket, and removes its file if it is ours.
    func remove() {
        listener?.close()
        socket = nil
        file.take()?.remove()
    }
}

extension Options {
    /// The path to serve the feed at; nil when it is not served.
    func socketPath(environment: [String: String]) -> String? {
        self[\.listen].map { $0.path ?? DefaultSocket.path(environment: environment) }
    }
}
