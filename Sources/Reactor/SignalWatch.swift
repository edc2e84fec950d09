import CLinux
internal import Glibc

/// Delivers signals on a loop, through a signalfd.
///
/// The signals are blocked for the calling thread and all it starts afterwards, so make it before any other thread.
package final class SignalWatch {
    private let descriptor: Descriptor
    private var watch: Watch?

    /// Calls `handler` with the number of each signal of `signals` that arrives.
    package init(
        _ signals: [Int32], on loop: EventLoop, handler: @escaping (Int32) -> Void
    ) throws(SystemError) {
        Self.block(signals)
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        let flags = Int32(SFD_NONBLOCK | SFD_CLOEXEC)
        let number = try systemCall("signalfd") { signalfd(-1, &set, flags) }
        descriptor = Descriptor(owning: number)
        watch = try loop.watch(number, interest: .read) { [weak self] _ in
            // Checked each time: the handler may cancel or release this watch.
            while let signal = self?.next() { handler(signal) }
        }
    }

    /// Blocks signals for the calling thread and all threads it starts, for a later watch: an unblocked thread would
    /// receive them instead.
    package static func block(_ signals: [Int32]) { mask(signals, SIG_BLOCK) }

    /// Unblocks signals, including those that came meanwhile: they get their usual handling again.
    package static func unblock(_ signals: [Int32]) { mask(signals, SIG_UNBLOCK) }

    private static func mask(_ signals: [Int32], _ how: Int32) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        pthread_sigmask(how, &set, nil)
    }

    private func next() -> Int32? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        guard watch != nil, Glibc.read(descriptor.number, &info, size) == size else { return nil }
        return Int32(info.ssi_signo)
    }

    /// Whether the process ignores a signal: at its start, that was the choice of its starter, such as nohup(1) or a
    /// shell that runs it in the background. A signalfd would deliver it nevertheless.
    package static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Ends the delivery; the signals stay blocked.
    package func cancel() {
        watch?.cancel()
        watch = nil
    }

    deinit { watch?.cancel() }
}
