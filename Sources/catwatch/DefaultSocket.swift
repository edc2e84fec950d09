internal import Glibc
internal import Outputs
internal import Reactor
internal import Settings

extension Options {
    /// The same options, to see a running agent's feed when nobody has said what to watch and one answers at the default
    /// socket; and why not, when that one is not to be trusted.
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

/// Where the socket is when nobody says otherwise, and who may have it there.
enum DefaultSocket {
    /// `$XDG_RUNTIME_DIR/catwatch.sock`, else `/run/catwatch/catwatch.sock` for root, else
    /// `/tmp/catwatch-UID/catwatch.sock`.
    static func path(environment: [String: String]) -> String {
        if var folder = environment["XDG_RUNTIME_DIR"]?[...], folder.hasPrefix("/") {
            // Behind these a link would be followed when it is looked at.
            while folder.hasSuffix("/") || folder.hasSuffix("/.") { folder = folder.dropLast() }
            return "\(folder)/catwatch.sock"
        }
        let user = geteuid()
        return user == 0 ? "/run/catwatch/catwatch.sock" : "/tmp/catwatch-\(user)/catwatch.sock"
    }

    /// Makes the folder, private; one that is there must be ours, a folder, and nobody else's to write to.
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

    /// Connects to whoever answers at the default path, unless that may be somebody who only made a folder of its name.
    ///
    /// - Throws: `SystemError` when nobody answers; `SocketFile.Refusal`, with the way out.
    static func connected(
        to path: String, peer: (borrowing Descriptor) -> UInt32? = StreamSocket.peerUser
    ) throws -> Descriptor {
        let socket = try StreamSocket.connected(to: path)
        guard let folder = folder(of: path), let doubt = doubt(about: folder, peer: peer(socket) ?? unknown)
        else { return socket }
        throw SocketFile.Refusal("\(doubt); say --attach=\(path) if that is meant")
    }

    /// Why somebody else than the caller, root, or whom root lets have it may be behind a socket in a folder; nil when not.
    ///
    /// Where others may write above the folder, it must be the caller's own and closed to everybody else. Elsewhere its
    /// owner is trusted, as of one that the service manager has made for a user that comes and goes.
    ///
    /// - Parameter peer: who answers there; between looking at a path and connecting to it others may swap what lies there.
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

    /// Nobody's number: of a peer of whom the kernel does not say who it is.
    private static let unknown = UInt32.max

    /// A user, for a person.
    static func name(of user: UInt32) -> String {
        switch user {
        case 0: "root"
        case unknown: "an unknown user"
        default: "user \(user)"
        }
    }

    /// The nearest of a folder and those above it that somebody else than root and the caller may write to.
    private static func exposed(_ folder: String, _ caller: UInt32) -> String? {
        var status = stat()
        guard stat(folder, &status) == 0, [0, caller].contains(status.st_uid), status.st_mode & 0o022 == 0 else {
            return folder
        }
        return Self.folder(of: folder).flatMap { exposed($0, caller) }
    }

    /// Without symbolic links; nil when there is nothing.
    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The folder that a path lies in; nil for the root.
    private static func folder(of path: String) -> String? {
        var path = path[...]
        while path.count > 1, path.last == "/" { path = path.dropLast() }
        guard let slash = path.lastIndex(of: "/"), path.count > 1 else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
