internal import Glibc
internal import Outputs
internal import Reactor
internal import Settings

extension Options {
    /// Returns options that attach to a running agent, if nothing says what to watch and one answers at the default
    /// socket; `doubt` is the reason when that socket cannot be trusted.
    func attachingByDefault(environment: [String: String]) -> (Options, doubt: String?) {
        guard mayAttachByDefault else { return (self, nil) }
        do {
            _ = try DefaultSocket.connected(to: DefaultSocket.path(environment: environment))
        } catch let refusal as SocketFile.Refusal {
            return (self, refusal.description)
        } catch {
            return (self, nil)  // nobody is there
        }
        var options = self
        options.values.set(\.attach, [FeedURL(socket: "")])
        return (options, nil)
    }
}

/// The default path of the agent's socket, and the check of who may own it.
enum DefaultSocket {
    /// `$XDG_RUNTIME_DIR/catwatch.sock`, else `/run/catwatch/catwatch.sock` for root, else
    /// `/tmp/catwatch-UID/catwatch.sock`.
    static func path(environment: [String: String]) -> String {
        if var folder = environment["XDG_RUNTIME_DIR"]?[...], folder.hasPrefix("/") {
            // lstat(2) would follow a symbolic link if the path ended in one of these.
            while folder.hasSuffix("/") || folder.hasSuffix("/.") { folder = folder.dropLast() }
            return "\(folder)/catwatch.sock"
        }
        let user = geteuid()
        return user == 0 ? "/run/catwatch/catwatch.sock" : "/tmp/catwatch-\(user)/catwatch.sock"
    }

    /// Creates the private folder; an existing one must be a folder of ours that only we can write to.
    static func prepareFolder(of path: String) throws(SocketFile.Refusal) {
        guard let folder = folder(of: path) else { return }
        if mkdir(folder, 0o700) == 0 { return }
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw SocketFile.Refusal("\(folder) cannot be made")
        }
        guard status.st_uid == geteuid() else { throw SocketFile.Refusal("\(folder) belongs to somebody else") }
        if let doubt = doubt(about: folder) { throw SocketFile.Refusal(doubt) }
    }

    /// Connects to the default path, unless another user may have created a folder of that name.
    ///
    /// - Throws: `SystemError` when nobody answers; `SocketFile.Refusal`, whose message says what to do.
    static func connected(
        to path: String, peer: (borrowing Descriptor) -> UInt32? = StreamSocket.peerUser
    ) throws -> Descriptor {
        let socket = try StreamSocket.connected(to: path)
        guard let folder = folder(of: path), let doubt = doubt(about: folder, peer: peer(socket) ?? unknown)
        else { return socket }
        throw SocketFile.Refusal("\(doubt); say --attach=\(path) if that is meant")
    }

    /// The reason why a socket in this folder may belong to somebody other than the caller, root, or a user whom root
    /// let own the folder; nil when it cannot.
    ///
    /// Below a folder that others may write to, this one must be the caller's own and closed to everybody else.
    /// Elsewhere its owner is trusted, as with a folder that the service manager creates for a dynamic user.
    ///
    /// - Parameter peer: the user who answers there; others may swap the path before we connect to it.
    static func doubt(about folder: String, peer: UInt32? = nil, caller: UInt32 = geteuid()) -> String? {
        let parent = Self.folder(of: folder) ?? "/"
        var status = stat()
        guard let place = resolved(parent), lstat(folder, &status) == 0 else { return "\(folder) cannot be looked at" }
        let exposed = exposed(place, caller)
        switch status.st_mode & S_IFMT {
        case S_IFDIR: break
        case S_IFLNK where exposed == nil:
            guard let target = resolved(folder) else { return "\(folder) leads nowhere" }
            return doubt(about: target, peer: peer, caller: caller)
        default: return "\(folder) is not a folder"
        }
        guard let exposed else {
            return status.st_mode & 0o022 == 0 ? nil : "others may write to \(folder)"
        }
        let reason: String
        if status.st_uid != caller {
            reason = "belongs to \(name(of: status.st_uid))"
        } else if status.st_mode & 0o077 != 0 {
            reason = "is open to others"
        } else if let peer, ![0, caller].contains(peer) {
            reason = "has a socket of \(name(of: peer))"
        } else {
            return nil
        }
        return "\(folder) \(reason), below \(exposed), which others may write to"
    }

    /// Stands for a peer whose user the kernel does not report.
    private static let unknown = UInt32.max

    /// A user's name, for people.
    static func name(of user: UInt32) -> String {
        switch user {
        case 0: "root"
        case unknown: "an unknown user"
        default: "user \(user)"
        }
    }

    /// The nearest folder, from this one upwards, that users other than root and the caller may write to.
    private static func exposed(_ folder: String, _ caller: UInt32) -> String? {
        var status = stat()
        guard stat(folder, &status) == 0, [0, caller].contains(status.st_uid), status.st_mode & 0o022 == 0 else {
            return folder
        }
        return Self.folder(of: folder).flatMap { exposed($0, caller) }
    }

    /// The path without symbolic links; nil when it does not exist.
    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The parent folder; nil for the root.
    private static func folder(of path: String) -> String? {
        var path = path[...]
        while path.count > 1, path.last == "/" { path = path.dropLast() }
        guard let slash = path.lastIndex(of: "/"), path.count > 1 else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
