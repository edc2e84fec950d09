import CLinux
import Feed
import Glibc
import Reactor
import TestSupport
import Testing

@testable import Terminal

/// Over real pseudo-terminals. One at a time: a process has one terminal to give back.
@Suite(.limited, .serialized) struct ControllingTerminalTests {
    /// The two sides of a terminal; both are closed when this goes.
    private final class Ends: @unchecked Sendable {
        // Unchecked: the numbers do not change.
        let screen: Int32
        let shell: Int32

        init(rows: UInt16, columns: UInt16) throws {
            var ends: (screen: Int32, shell: Int32) = (-1, -1)
            var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            try systemCall("openpty") { openpty(&ends.screen, &ends.shell, nil, nil, &size) }
            (screen, shell) = ends
            _ = cw_set_status_flags(screen, O_RDWR | O_NONBLOCK)
        }

        deinit {
            close(screen)
            close(shell)
        }

        var modes: [UInt8] {
            var modes = termios()
            tcgetattr(shell, &modes)
            return withUnsafeBytes(of: &modes) { Array($0) }
        }

        /// What was written to the screen so far.
        func read() -> [UInt8] {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = Glibc.read(screen, &buffer, buffer.count)
                if count <= 0 { return bytes }
                bytes += buffer[..<count]
            }
        }
    }

    @Test func leavesTheTerminalAsItWas() async throws {
        let ends = try Ends(rows: 24, columns: 80)
        let before = ends.modes
        let flags = cw_get_status_flags(ends.shell)
        try await withLoop { loop in
            let terminal = ControllingTerminal(input: ends.shell, output: ends.shell)
            let (input, output) = try terminal.open(on: loop)
            #expect(terminal.size == ScreenSize(columns: 80, rows: 24))
            let capabilities = TerminalCapabilities(depth: .full)
            let leaving = TerminalModes.leave(capabilities, mouse: true)
            try terminal.enter(TerminalModes.enter(mouse: true), leaving: leaving)
            #expect(ends.modes != before)
            #expect(cw_get_status_flags(ends.shell) == flags)
            _ = try "half a sequence \u{1B}[3".utf8.withContiguousStorageIfAvailable { bytes in
                try output.write(UnsafeRawBufferPointer(bytes))
            }
            terminal.leave()
            #expect(ends.modes == before)
            terminal.leave()
            // And once more, as after a suspension.
            try terminal.enter(TerminalModes.enter(mouse: true), leaving: leaving)
            terminal.close()
            #expect(ends.modes == before)
            input.close()
            output.close()
            let written = ends.read()
            #expect(String(decoding: written, as: UTF8.self).holds("sequence"))
            #expect(written.suffix(leaving.count) == leaving[...])
        }
        #expect(cw_get_status_flags(ends.shell) == flags)
    }

    /// What it gets within a while, until that ends with `end`.
    private func whole(_ ends: Ends, upTo end: [UInt8], on loop: EventLoop) async throws -> [UInt8] {
        var bytes = ends.read()
        for _ in 0..<200 where bytes.suffix(end.count) != end[...] {
            try await loop.sleep(for: .milliseconds(10))
            bytes += ends.read()
        }
        return bytes
    }

    @Test func heldOutputGetsWhatGivesItBackOnceItGoesOn() async throws {
        let ends = try Ends(rows: 24, columns: 80)
        let before = ends.modes
        try await withLoop { loop in
            let terminal = ControllingTerminal(input: ends.shell, output: ends.shell)
            let (input, output) = try terminal.open(on: loop)
            let leaving = TerminalModes.leave(TerminalCapabilities(depth: .full), mouse: true)
            try terminal.enter(TerminalModes.enter(mouse: true), leaving: leaving)
            #expect(tcflow(ends.shell, TCOOFF) == 0)
            #expect(!terminal.writeLeaving())
            #expect(tcflow(ends.shell, TCOON) == 0)
            #expect(terminal.writeLeaving() && ends.modes != before)
            terminal.close()
            #expect(ends.modes == before)
            input.close()
            output.close()
            // Once, and not again by `close`.
            #expect(
                try await whole(ends, upTo: leaving, on: loop) == TerminalModes.enter(mouse: true) + leaving)
        }
    }

    @Test func whatNobodyReadsIsThrownAwayForWhatGivesItBack() async throws {
        let ends = try Ends(rows: 24, columns: 80)
        let before = ends.modes
        try await withLoop { loop in
            let terminal = ControllingTerminal(input: ends.shell, output: ends.shell)
            let (input, output) = try terminal.open(on: loop)
            let leaving = TerminalModes.leave(TerminalCapabilities(depth: .full), mouse: true)
            try terminal.enter(TerminalModes.enter(mouse: true), leaving: leaving)
            let frame = [UInt8](repeating: 0x78, count: 1_000)
            while try frame.withUnsafeBytes({ bytes throws(SystemError) in try output.write(bytes) }) > 0 {}
            #expect(!terminal.writeLeaving())
            terminal.close()
            #expect(ends.modes == before)
            input.close()
            output.close()
            #expect(try await whole(ends, upTo: leaving, on: loop).suffix(leaving.count) == leaving[...])
        }
    }

    /// The handler of faults, in a process that dies of one: it writes, and the process ends as it would have.
    @Test(.disabled(if: ThreadSanitizer.isOn)) func isGivenBackByAFault() async {
        let result = await #expect(processExitsWith: .signal(SIGSEGV), observing: [\.standardOutputContent]) {
            var modes = termios()
            let bytes = Array("given back".utf8)
            let code = bytes.withUnsafeBytes { cw_arm_terminal_rescue(STDOUT_FILENO, &modes, $0.baseAddress, $0.count) }
            #expect(code == 0)
            raise(SIGSEGV)
        }
        let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
        #expect(output.holds("given back"))
    }

    @Test func showsTheFeedOnARealTerminal() async throws {
        let ends = try Ends(rows: 12, columns: 60)
        let before = ends.modes
        let ending = try await withLoop { loop in
            let wall = SystemWallClock()
            let store = EventStore(
                on: loop, wall: wall, identity: AgentIdentity(run: "r", version: "1", started: wall.now))
            let source = await store.register(SourceDescription(name: "fact"))
            await store.publish([Event(time: wall.now, source: source, body: .data(Datum(value: 4_711)))])
            let view = TerminalView(size: ScreenSize(columns: 1, rows: 1), connection: .open)
            let terminal = ControllingTerminal(input: ends.shell, output: ends.shell)
            let session = TerminalSession(
                view, capabilities: TerminalCapabilities(depth: .full), store: store, on: loop, wall: wall,
                device: terminal
            ) { _ in nil }
            return try await withThrowingTaskGroup(of: TerminalSession.Ending?.self) { group in
                group.addTask { try await session.run() }
                group.addTask {
                    let screen = try DescriptorStream(owning: Descriptor(owning: cw_duplicate(ends.screen)), on: loop)
                    var bytes: [UInt8] = []
                    while !String(decoding: bytes, as: UTF8.self).holds("4711") {
                        try await screen.waitUntilReadable()
                        bytes += ends.read()
                    }
                    _ = write(ends.screen, "q", 1)
                    return nil
                }
                while let ending = try await group.next() { if let ending { return ending } }
                throw CancellationError()
            }
        }
        #expect(ending == .quit)
        #expect(ends.modes == before)
    }
}
