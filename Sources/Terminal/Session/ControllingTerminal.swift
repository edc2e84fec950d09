import CLinux
internal import Glibc
package import Reactor

/// The terminal that the process was started in.
///
/// It is opened again, so that only we get `O_NONBLOCK`. Its modes are shared with other processes: they are restored
/// by `leave`, by `deinit`, and by a handler when the process crashes.
package final class ControllingTerminal: TerminalDevice {
    private let inputNumber: Int32
    private let outputNumber: Int32
    private let environment: [String: String]
    /// Our own descriptor, for writes outside of the stream and for the modes.
    private var own: Descriptor?
    private var saved: termios?
    private var leaving: [UInt8] = []
    /// The part of `leaving` that is not written yet.
    private var unwritten: ArraySlice<UInt8> = []
    private var signals: SignalWatch?

    /// How long we wait for a terminal that accepts no output, in milliseconds.
    private static let patience: Int32 = 300

    /// - Parameters:
    ///   - input: the descriptor for keys; /dev/tty if that is not a terminal.
    ///   - output: the descriptor to draw on; must be a terminal.
    ///   - environment: see `ScreenSize.of`.
    package init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, environment: [String: String] = [:]) {
        self.environment = environment
        inputNumber = input
        outputNumber = output
    }

    deinit { leave() }

    package func open(on loop: EventLoop) throws(SystemError) -> (input: any ByteStream, output: any ByteStream) {
        let output = try DescriptorStream.standard(outputNumber, on: loop)
        let flags = O_RDWR | O_NONBLOCK | O_NOCTTY
        do {
            own = try Descriptor.open("/proc/self/fd/\(outputNumber)", flags: flags)
        } catch {
            // We may not open it (su); /dev/tty always works.
            own = try Descriptor.open("/dev/tty", flags: flags)
        }
        let input: any ByteStream
        if isatty(inputNumber) == 1 {
            input = try DescriptorStream.standard(inputNumber, on: loop)
        } else {
            input = try DescriptorStream(owning: try Descriptor.open("/dev/tty", flags: flags), on: loop)
        }
        return (input, output)
    }

    package var size: ScreenSize { ScreenSize.of(outputNumber, environment: environment) }

    package func enter(_ bytes: [UInt8], leaving: [UInt8]) throws(SystemError) {
        guard let number = own?.number, saved == nil else { return }
        var modes = termios()
        try systemCall("tcgetattr") { tcgetattr(number, &modes) }
        var raw = modes
        raw.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INPCK | ISTRIP | IXON)
        raw.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        raw.c_cflag |= tcflag_t(CS8)
        withUnsafeMutableBytes(of: &raw.c_cc) { characters in
            // A read returns what is there; with VMIN 0, an empty read would look like the end of input.
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        // Before anything changes, so that the handler is ready for a crash at any time.
        _ = leaving.withUnsafeBytes { cw_arm_terminal_rescue(number, &modes, $0.baseAddress, $0.count) }
        self.leaving = leaving
        unwritten = leaving[...]
        saved = modes
        do {
            try systemCall("tcsetattr") { tcsetattr(number, TCSANOW, &raw) }
        } catch {
            leave()
            throw error
        }
        var rest = bytes[...]
        _ = Self.write(&rest, to: number, patience: Self.patience)
    }

    package func writeLeaving() -> Bool {
        guard let number = own?.number, saved != nil else { return true }
        return Self.write(&unwritten, to: number, patience: 0)
    }

    package func leave() {
        guard let number = own?.number, var modes = saved else { return }
        saved = nil
        if !Self.write(&unwritten, to: number, patience: Self.patience) {
            // Drops output that nobody has read, to restore the screen.
            tcflush(number, TCOFLUSH)
            unwritten = leaving[...]
            _ = Self.write(&unwritten, to: number, patience: 0)
        }
        // Keeps unread keys from the shell.
        tcflush(number, TCIFLUSH)
        tcsetattr(number, TCSANOW, &modes)
        cw_disarm_terminal_rescue()
    }

    /// Writes, and leaves the rest in `bytes`; returns false when there was no room within `patience` milliseconds.
    private static func write(_ bytes: inout ArraySlice<UInt8>, to number: Int32, patience: Int32) -> Bool {
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count > 0 {
                bytes = bytes.dropFirst(count)
                continue
            }
            guard errno == EAGAIN || errno == EINTR else { return true }
            var waited = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
            if poll(&waited, 1, patience) == 0 { return false }
        }
        return true
    }

    package func askToSuspend() { kill(0, SIGTSTP) }

    package func suspend() {
        // By the signal itself and not SIGSTOP: it does not stop a process that no shell could continue.
        var set = sigset_t()
        var before = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTSTP)
        raise(SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &set, &before)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    package func watchSignals(on loop: EventLoop, _ handler: @escaping (TerminalSignal) -> Void) throws(SystemError) {
        signals = try SignalWatch([SIGWINCH, SIGTSTP, SIGCONT], on: loop) { number in
            handler(number == SIGWINCH ? .resized : number == SIGTSTP ? .suspend : .continued)
        }
    }

    package func close() {
        leave()
        signals?.cancel()
        signals = nil
        own = nil
    }
}

extension ScreenSize {
    /// The size of the terminal behind a descriptor, or else by `COLUMNS` and `LINES`, or else 80 by 24.
    package static func of(_ number: Int32, environment: [String: String]) -> ScreenSize {
        var columns: Int32 = 0
        var rows: Int32 = 0
        if cw_window_size(number, &columns, &rows) == 0, columns > 0, rows > 0 {
            return ScreenSize(columns: Int(columns), rows: Int(rows))
        }
        func said(_ name: String) -> Int? { environment[name].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } }
        return ScreenSize(columns: said("COLUMNS") ?? 80, rows: said("LINES") ?? 24)
    }
}

/// The control sequences at the start and end of a full-screen view (xterm's control sequences, DEC private modes).
package enum TerminalModes {
    /// The alternate screen, no cursor, no wrapping, marked pastes and, if requested, the mouse.
    package static func enter(mouse: Bool) -> [UInt8] {
        Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h\(mouse ? "\u{1B}[?1000h\u{1B}[?1006h" : "")".utf8)
    }

    /// Reverses `enter`, wherever the output was cut off: CAN ends an unfinished sequence.
    package static func leave(_ capabilities: TerminalCapabilities, mouse: Bool) -> [UInt8] {
        var text = "\u{18}"
        if capabilities.hasLinks { text += "\u{1B}]8;;\u{1B}\\" }
        text += "\u{1B}[?2026l\u{1B}[m"
        if mouse { text += "\u{1B}[?1006l\u{1B}[?1000l" }
        text += "\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
        return Array(text.utf8)
    }
}
