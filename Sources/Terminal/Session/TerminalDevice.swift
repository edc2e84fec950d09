package import Reactor

/// The terminal of a session, which uses it exclusively.
package protocol TerminalDevice: AnyObject {
    /// Opens the terminal for non-blocking reads and writes; changes no mode yet.
    func open(on loop: EventLoop) throws(SystemError) -> (input: any ByteStream, output: any ByteStream)

    /// The current size of the screen.
    var size: ScreenSize { get }

    /// Delivers keys as they are pressed, and writes `bytes`; `leave` will write `leaving`, even if the process
    /// crashes.
    func enter(_ bytes: [UInt8], leaving: [UInt8]) throws(SystemError)

    /// Restores the terminal to its state before `enter`. Can be called repeatedly.
    ///
    /// If the terminal accepts no output for a moment, its pending output may be dropped to make room.
    func leave()

    /// Writes as much of `leaving` as there is room for; returns true when all is written, or the terminal is gone.
    func writeLeaving() -> Bool

    /// Sends what Ctrl-Z sends to the foreground processes; this one receives it as `TerminalSignal.suspend`.
    func askToSuspend()

    /// Stops the process as that signal does; returns when it is continued.
    func suspend()

    /// Calls `handler` when the size has changed, the process should suspend, or it was continued after a stop.
    func watchSignals(on loop: EventLoop, _ handler: @escaping (TerminalSignal) -> Void) throws(SystemError)

    /// Ends the watch and closes everything.
    func close()
}

/// The kernel's signals about a terminal.
package enum TerminalSignal: Sendable {
    case resized, suspend, continued
}
