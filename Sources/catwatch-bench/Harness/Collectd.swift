internal import Glibc

/// collectd with `curl_json` reading one number and `write_log` writing it: the peer for catwatch's polling.
enum Collectd {
    private static let path = "/usr/sbin/collectd"
    private static let plugins = "/usr/lib/collectd"

    /// Debian's `collectd-core` has the plugins; `curl_json` also needs `libyajl2`.
    static var isInstalled: Bool {
        let files = [path, "\(plugins)/curl_json.so", "\(plugins)/write_log.so"]
        let libraries = ["/usr/lib/\(Machine.architecture)-linux-gnu/libyajl.so.2", "/usr/lib/libyajl.so.2"]
        return files.allSatisfy { access($0, R_OK) == 0 } && libraries.contains { access($0, R_OK) == 0 }
    }

    static func start(polling url: String, every period: Duration, folder: String) throws -> ChildProcess {
        // Loads nothing else: no plugins that measure the machine, no file on disk, no second time stamp.
        let configuration = """
            Hostname "localhost"
            FQDNLookup false
            BaseDir "\(folder)"
            PIDFile "\(folder)/collectd.pid"
            PluginDir "\(plugins)"
            TypesDB "/usr/share/collectd/types.db"
            Interval \(period.components.seconds).\(Text.padded(period.components.attoseconds / 1_000_000_000_000_000, 3))
            LoadPlugin logfile
            <Plugin logfile>
                LogLevel info
                File stdout
                Timestamp false
            </Plugin>
            LoadPlugin write_log
            LoadPlugin curl_json
            <Plugin curl_json>
                <URL "\(url)">
                    Instance "fact"
                    <Key "length">
                        Type "gauge"
                    </Key>
                </URL>
            </Plugin>

            """
        try TextFile.write(configuration, to: "\(folder)/collectd.conf")
        return try ChildProcess(path, ["-f", "-C", "\(folder)/collectd.conf"], folder: folder)
    }
}
