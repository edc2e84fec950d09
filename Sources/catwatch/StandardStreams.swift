internal import CLinux
internal import Glibc

/// The descriptors 0, 1 and 2 that the process was started with.
enum StandardStreams {
    /// Opens those that are closed, so that no other file gets their number: output for stdout must not end up in a
    /// connection.
    ///
    /// They read and write nothing: opened for reading only, writing to them fails with `EBADF` as if they were closed.
    static func occupy() {
        for number in STDIN_FILENO...STDERR_FILENO where cw_get_status_flags(number) == -1 {
            // open(2) takes the lowest free number, and the ones below are in use.
            _ = cw_open("/dev/null", O_RDONLY, 0)
        }
    }
}
