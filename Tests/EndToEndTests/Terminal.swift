import CLinux
import Glibc
import Reactor

/// A pseudo-terminal: the side that a shell has, and the side that a screen reads. (pty(7).)
struct Terminal: ~Copyable {
    /// As a shell holds it, and shares it with what it starts.
    let shell: Int32
    /// Non-blocking; belongs to whoever takes it.
    let screen: Int32

    init() throws {
        var ends: (screen: Int32, shell: Int32) = (-1, -1)
        try systemCall("openpty") { openpty(&ends.screen, &ends.shell, nil, nil, nil) }
        (screen, shell) = ends
        _ = cw_set_status_flags(screen, O_RDWR | O_NONBLOCK)
    }

    deinit { close(shell) }

    /// The status flags of the shell's side, which everything that shares it sees.
    var flags: Int32 { cw_get_status_flags(shell) }
}
