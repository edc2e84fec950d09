internal import CLinux
internal import Glibc

/// The descriptors 0, 1 and 2 as the process got them.
enum StandardStreams {
    /// Opens those that are closed, so that nothing else that is opened gets their number: what goes to stdout must not
    /// end up in a connection.
    ///
    /// They take and give nothing: opened for reading only, writing to them fails with `EBADF` as if they were closed.
    static func occupy() {
        for number in STDIN_FILENO...STDERR_FILENO where cw_get_status_flags(number) == -1 {
            // The lowest free number is taken, and the ones below are not free.
            _ = cw_open("/dev/null", O_RDONLY, 0)
        }
    }
}
