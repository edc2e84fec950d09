internal import CLinux
internal import Glibc
package import Reactor

/// A terminal that is ours for a while: alternate screen, no echo, keys as they are pressed, and all of it undone.
///
/// What the terminal does by itself stays: Ctrl-C and Ctrl-Z are signals, Ctrl-S stops it. There is one such terminal in a
/// process at a time: a crash puts it back too, by signal handlers that know no other.
package final class TerminalMode {
    /// Reads and writes the terminal, non-blocking, and is nobody else's.
    private let descriptor: Descriptor
    private var before = termios()
    private let hasMouse: Bool
    private var isEntered = false

    /// Alternate screen, hidden cursor, no wrapping at the edge, pasted text marked. (xterm's control sequences.)
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
    private static let mouse = "\u{1B}[?1000h\u{1B}[?1006h"
    /// Everything that may have been switched on, whether it was or not, in the opposite order.
    private static let leave =
        "\u{1B}[?2026l\u{1B}[0m\u{1B}]8;;\u{1B}\\\u{1B}[?1006l\u{1B}[?1000l\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Opens the terminal that a standard stream is; it is not changed yet.
    ///
    /// - Parameters:
    ///   - number: a standard stream that is a terminal.
    ///   - hasMouse: whether clicks and the wheel are reported, which takes the terminal's own selection away.
    /// - Throws: `SystemError` when it is no terminal or cannot be opened.
    package init(_ number: Int32, hasMouse: Bool) throws(SystemError) {
        self.hasMouse = hasMouse
        // A description of our own: O_NONBLOCK on the shell's would be the shell's as well.
        let flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        do {
            descriptor = try Descriptor.open("/proc/self/fd/\(number)", flags: flags)
        } catch {
            descriptor = try Descriptor.open("/dev/tty", flags: flags)
        }
        try systemCall("tcgetattr") { [number = descriptor.number] in tcgetattr(number, &before) }
    }

    /// A stream of the terminal's own, for keys and frames.
    package func stream(on loop: EventLoop) throws(SystemError) -> DescriptorStream {
        try DescriptorStream(owning: descriptor.duplicate(), on: loop)
    }

    /// Columns and rows, at least 1 each; 80 by 24 when the terminal does not say. (TIOCGWINSZ.)
    package var size: (columns: Int, rows: Int) {
        var columns: Int32 = 0
        var rows: Int32 = 0
        guard cw_window_size(descriptor.number, &columns, &rows) == 0, columns > 0, rows > 0 else { return (80, 24) }
        return (Int(columns), Int(rows))
    }

    /// Makes it ours; the bytes are what has to be written to it first.
    package func begin() throws(SystemError) -> [UInt8] {
        let number = descriptor.number
        try systemCall("tcgetattr") { tcgetattr(number, &before) }
        var raw = before
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL | IEXTEN)
        raw.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | ISTRIP)
        try systemCall("tcsetattr") { tcsetattr(number, TCSADRAIN, &raw) }
        isEntered = true
        Self.leave.withCString { cw_guard_terminal(number, &before, $0, Self.leave.utf8.count) }
        return Array((Self.enter + (hasMouse ? Self.mouse : "")).utf8)
    }

    /// Gives it back as it was found. Blocks for an instant at most: what the terminal does not take is left.
    package func end() {
        guard isEntered else { return }
        isEntered = false
        cw_unguard_terminal()
        let number = descriptor.number
        // One that was stopped with Ctrl-S would keep the wrong screen.
        tcflow(number, TCOON)
        let bytes = Array(Self.leave.utf8)
        var rest = bytes[...]
        var patience = 50
        while !rest.isEmpty, patience > 0 {
            let count = rest.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else {
                var poll = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, 10)
                patience -= 1
            }
        }
        tcsetattr(number, TCSANOW, &before)
    }

    deinit { end() }
}
