internal import CLinux
internal import Glibc

/// Finds and reads configuration files.
package enum ConfigFile {
    /// Where a configuration is looked for when none is named, in order.
    package static func places(environment: [String: String]) -> [String] {
        var places: [String] = []
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            places.append("\(folder)/catwatch/config.jsonc")
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            places.append("\(home)/.config/catwatch/config.jsonc")
        }
        return places + ["/etc/catwatch/config.jsonc"]
    }

    /// The text of the file that is named, else of the first one that is there; nil when there is none. Blocks.
    ///
    /// Naming `/dev/null` is the way to have none.
    /// - Throws: `UsageError` when the named file, or one that is there, cannot be read.
    package static func find(named path: String?, environment: [String: String]) throws(UsageError) -> ConfigText? {
        if let path { return path == "/dev/null" ? nil : try read(path) }
        for place in places(environment: environment) {
            var status = stat()
            // A folder that may not be entered, as a service's home may be, holds no configuration either.
            if stat(place, &status) != 0, [ENOENT, ENOTDIR, EACCES].contains(errno) { continue }
            return try read(place)
        }
        return nil
    }

    /// The text of a file, of `ConfigText.limit` bytes at most.
    package static func read(_ path: String) throws(UsageError) -> ConfigText {
        func fault(_ what: String) -> UsageError {
            UsageError("\(UsageError.quoted(path)): \(what)", option: "--config")
        }
        func fault(_ code: Int32) -> UsageError { fault(String(cString: strerror(code))) }

        // Without waiting for a writer, should it be a pipe.
        let descriptor = cw_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
        guard descriptor >= 0 else { throw fault(cw_errno()) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw fault(errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw fault("is a directory")
        default: throw fault("is no ordinary file")
        }
        let tooLarge = "is larger than \(ByteSize.format(ConfigText.limit))"
        guard status.st_size <= ConfigText.limit else { throw fault(tooLarge) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = CLinux.read(descriptor, &buffer, buffer.count)
            if count < 0 {
                if cw_errno() == EINTR { continue }
                throw fault(cw_errno())
            }
            if count == 0 { return ConfigText(name: path, bytes: bytes) }
            bytes += buffer[..<count]
            guard bytes.count <= ConfigText.limit else { throw fault(tooLarge) }
        }
    }
}
