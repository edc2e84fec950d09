package import Reactor

/// A terminal that a session has for itself.
package protocol TerminalDevice: AnyObject {
    /// Opens the terminal for reading and writing without blocking; no mode is changed yet.
    func open(on loop: EventLoop) throws(SystemError) -> (input: any ByteStream, output: any ByteStream)

    /// How large the screen is now.
    var size: ScreenSize { get }

    /// Makes keys come as they are pressed, and writes `bytes`; `leaving` is what `leave` will write, also if the process
    /// dies of a fault.
    func enter(_ bytes: [UInt8], leaving: [UInt8]) throws(SystemError)

    /// Makes the terminal what it was before `enter`. Harmless when repeated.
    ///
    /// One that takes nothing for a moment loses what it has not shown yet, if that makes room.
    func leave()

    /// Writes what there is room for of what `leave` writes; true once that is all, or the terminal is gone.
    func writeLeaving() -> Bool

    /// Sends what Ctrl-Z sends to everybody in the foreground; this process gets it as `TerminalSignal.suspend`.
    func askToSuspend()

    /// Stops the process as that signal does, and comes back when it is continued.
    func suspend()

    /// Calls `handler` when the size changed, the process was asked to suspend, or was continued after a stop.
    func watchSignals(on loop: EventLoop, _ handler: @escaping (TerminalSignal) -> Void) throws(SystemError)

    /// Ends the watch and closes everything.
    func close()
}

/// What the kernel tells of a terminal.
package enum TerminalSignal: Sendable {
    case resized, suspend, continued
}
