import CLinux
import Glibc
package import Reactor

/// A program that a test started: its output as it comes, signals by its id, and its end, all waited for with a deadline.
///
/// It has a process group of its own. `end()` leaves nothing of it behind, so call that whatever the test came to.
package actor ChildProcess {
    /// How it ended.
    package enum Ending: Sendable, Equatable {
        case exited(Int32)
        case killed(Int32)
    }

    /// How long something is waited for that takes seconds: it is there to name what hangs, on a machine that is busy with
    /// forty other things too.
    package static let patience = Duration.seconds(600)

    /// The process's id, which is its group's too; valid until `end()`.
    package nonisolated let id: Int32
    /// What was run, for messages.
    package nonisolated let command: String
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let loop: EventLoop
    private let deadline: Duration
    private var input: Int32?
    private var output: PipeReader?
    private var errors: PipeReader?
    /// Ends when the process and all that it started are gone: each of them holds the other end.
    private let leash: PipeReader
    private var ending: Ending?
    private let changed: Wakeup

    /// Starts a program; to be called on the loop.
    ///
    /// - Parameter deadline: the longest that any single wait takes before it fails the test.
    package init(_ launch: Launch, on loop: EventLoop, deadline: Duration = patience) throws {
        self.loop = loop
        self.deadline = deadline
        command = ([launch.program] + launch.arguments).joined(separator: " ")
        let changed = Wakeup(loop: loop)
        self.changed = changed
        let spawned = try launch.spawn()
        id = spawned.id
        input = spawned.input
        leash = PipeReader(spawned.leash, on: loop, changed)
        output = spawned.output.map { PipeReader($0, on: loop, changed) }
        errors = spawned.errors.map { PipeReader($0, on: loop, changed) }
        try leash.start()
        try errors?.start()
        if launch.readsOutput { try output?.start() }
    }

    // MARK: What it says

    /// Everything that came on its standard output so far.
    package var outputBytes: [UInt8] { output?.bytes ?? [] }

    /// Everything that came on its standard error so far.
    package var errorBytes: [UInt8] { errors?.bytes ?? [] }

    package var errorText: String { String(decoding: errorBytes, as: UTF8.self) }

    package var outputText: String { String(decoding: outputBytes, as: UTF8.self) }

    /// Begins to read standard output, which was left alone so far.
    package func readOutput() throws { try output?.start() }

    /// Stops to read standard output, without closing it.
    package func pauseOutput() { output?.pause() }

    /// Closes our end of its standard output.
    package func closeOutput() { output?.close() }

    /// Writes to its standard input; blocks when it does not read.
    package func write(_ bytes: [UInt8]) throws {
        guard let input else { throw Failed("\(command) has no standard input left") }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try systemCall("write") {
                rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
            }
            rest = rest.dropFirst(count)
        }
    }

    package func closeInput() {
        if let input { close(input) }
        input = nil
    }

    // MARK: Waiting

    /// Waits until `condition` gives something, looking again whenever the process says something or ends.
    ///
    /// - Parameter what: completes "waited for …".
    /// - Throws: `Failed`, with what the process said, when the deadline is over or it has ended without.
    package func wait<Value: Sendable>(
        for what: String, _ condition: @Sendable (isolated ChildProcess) throws -> Value?
    ) async throws -> Value {
        let limit = loop.clock.now.advanced(by: deadline)
        while true {
            // Looked at first: what comes before the end is complete when the end is seen.
            let isOver = isComplete
            if let value = try condition(self) { return value }
            if isOver { throw Failed("\(command): ended while waited for \(what)\n\(transcript)") }
            if loop.clock.now >= limit { throw Failed("\(command): waited in vain for \(what)\n\(transcript)") }
            try await changed.wait(until: limit)
        }
    }

    /// Waits until a text stands on standard error.
    package func waitForError(_ text: String) async throws {
        try await wait(for: "'\(text)' on stderr") { $0.errorText.contains(text) ? () : nil }
    }

    /// Waits until it has ended by itself and everything it said was read.
    package func waitForEnd() async throws -> Ending {
        try await wait(for: "its end") { $0.isComplete ? () : nil }
        return reap()
    }

    /// Waits until it has ended and everything it said on standard error was read, whether standard output was or not.
    package func waitForExit() async throws -> Ending {
        try await wait(for: "its exit") { $0.leash.isAtEnd && $0.errors?.isOpen != true ? () : nil }
        return reap()
    }

    private var isComplete: Bool {
        leash.isAtEnd && output?.isOpen != true && errors?.isOpen != true
    }

    private var transcript: String {
        func tail(_ bytes: [UInt8]) -> String { String(decoding: bytes.suffix(1_500), as: UTF8.self) }
        return
            "-- stdout, \(outputBytes.count) bytes, the last:\n\(tail(outputBytes))\n-- stderr:\n\(tail(errorBytes))\n--"
    }

    // MARK: Signals and the end

    /// Sends a signal to the process itself.
    package func signal(_ number: Int32) throws {
        guard ending == nil else { throw Failed("\(command) has ended before it could be sent signal \(number)") }
        try systemCall("kill") { kill(id, number) }
    }

    /// Kills whatever is left of it and its group, and lets go of all descriptors.
    package func end() {
        if ending == nil {
            kill(-id, SIGKILL)
            // Also when it has left its group, or has none yet.
            kill(id, SIGKILL)
            _ = reap()
        }
        closeInput()
        for reader in [output, errors, leash] { reader?.close() }
    }

    /// waitpid(2); blocks, for a process that is gone or about to be.
    private func reap() -> Ending {
        if let ending { return ending }
        var status: Int32 = 0
        while waitpid(id, &status, 0) == -1 && cw_errno() == EINTR {}
        let signal = status & 0x7F
        let ending: Ending = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal)
        self.ending = ending
        return ending
    }

    /// A wait that came to nothing, or a misuse.
    package struct Failed: Error, CustomStringConvertible {
        package let description: String
        package init(_ description: String) { self.description = description }
    }
}
