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
