internal import Glibc

/// How many descriptors the process may have open at once. (getrlimit(2), `RLIMIT_NOFILE`.)
package enum DescriptorLimit {
    /// Descriptors that a program needs beside those it counts: libraries, files, pipes.
    private static let others = 128

    /// Raises the soft limit to what `count` connections need, or as far as the hard limit goes; never lowers it. Services
    /// get 1,024 by default, which is kept low for programs that use select(2): this one does not.
    package static func raise(for count: Int) {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        let wanted = rlim_t(count + others)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < wanted, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        setrlimit(resource, &limit)
    }
}
