internal import Glibc
internal import Reactor

/// Finds and reads configuration files.
package enum ConfigFile {
    /// The paths where a configuration is looked for when none is named, in order.
    package static func defaultPaths(environment: [String: String]) -> [String] {
        var paths: [String] = []
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            paths.append("\(folder)/catwatch/config.jsonc")
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            paths.append("\(home)/.config/catwatch/config.jsonc")
        }
        return paths + ["/etc/catwatch/config.jsonc"]
    }

    /// Returns the text of the named file, else of the first default one that exists; nil when there is none. Blocks.
    ///
    /// Naming `/dev/null` means no configuration.
    /// - Throws: `UsageError` when the named file, or an existing default one, cannot be read.
    package static func find(named path: String?, environment: [String: String]) throws(UsageError) -> ConfigText? {
        if let path { return path == "/dev/null" ? nil : try read(path) }
        for path in defaultPaths(environment: environment) {
            var status = stat()
            // A folder that may not be entered, such as a service's home, counts as having no configuration.
            if stat(path, &status) != 0, [ENOENT, ENOTDIR, EACCES].contains(errno) { continue }
            return try read(path)
        }
        return nil
    }

    /// Returns the text of a file of at most `ConfigText.limit` bytes.
    package static func read(_ path: String) throws(UsageError) -> ConfigText {
        var refusal = "is larger than \(ByteSize.format(ConfigText.limit))"
        do throws(SystemError) {
            var status = stat()
            // Check before opening: opening and closing a pipe would lose what its writer sends.
            try systemCall("stat") { stat(path, &status) }
            switch status.st_mode & S_IFMT {
            case S_IFREG:
                // Without waiting, in case a pipe has replaced the file since.
                let file = try Descriptor.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
                if status.st_size <= ConfigText.limit, let bytes = try file.bytes(limit: ConfigText.limit) {
                    return ConfigText(name: path, bytes: bytes)
                }
            case S_IFDIR: refusal = "is a directory"
            default: refusal = "is no ordinary file"
            }
        } catch {
            refusal = error.reason
        }
        throw UsageError("\(UsageError.quoted(path)): \(refusal)", option: SettingTable.rows.config.flag)
    }
}
