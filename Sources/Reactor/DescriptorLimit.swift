internal import Glibc

/// The most descriptors that the process may have open. (getrlimit(2), `RLIMIT_NOFILE`.)
package enum DescriptorLimit {
    /// Descriptors needed besides connections: libraries, files, pipes.
    private static let others = 128

    /// Raises the soft limit for `count` connections, up to the hard limit; never lowers it. Services get 1,024 by
    /// default, which is low for the sake of select(2): this program does not use that.
    package static func raise(for count: Int) {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        let wanted = rlim_t(count + others)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < wanted, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        setrlimit(resource, &limit)
    }
}
