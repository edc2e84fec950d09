import Glibc
import TestSupport
import Testing

/// The view gives the terminal back as it was, whatever happens, and never waits for it.
@Suite(.limited, .enabled(if: Installation.hasPython)) struct ViewTerminalTests {
    private static func running(_ stage: Stage, _ arguments: [String] = []) async throws -> ViewScreen {
        let screen = try await ViewScreen(stage, ["-u", stage.url("/fact"), "-e", "20ms"] + arguments)
        try await screen.wait(for: "▸ fact ")
        #expect(try await !screen.hasFirstModes())
        return screen
    }

    @Test(arguments: ["q", "\u{3}"]) func quittingSaysWhatItCameTo(key: String) async throws {
        try await Stage.run { stage in
            let screen = try await Self.running(stage)
            try await screen.type(key)
            let left = try await screen.end()
            #expect(left.status == 0 && left.changed == [])
            // After the screen was given back, as text.
            #expect(
                left.after.contains("\r\n--- catwatch: ") || left.after.hasPrefix("--- catwatch: "), "\(left.after)")
            #expect(left.after.contains("/fact: ") && !left.after.contains("\u{1B}"))
        }
    }

    @Test(arguments: [(SIGTERM, 0), (SIGINT, 0), (SIGSEGV, -11)])
    func signalsLeaveTheTerminalAsItWas(number: Int32, status: Int) async throws {
        try await Stage.run { stage in
            let screen = try await Self.running(stage)
            try screen.signal(number)
            let left = try await screen.end()
            #expect(left.status == status && left.changed == [], "\(left)")
            #expect(left.after.contains("--- catwatch: ") == (number == SIGINT), "\(left.after)")
        }
    }

    @Test func leavingAtOnceGivesTheTerminalBackToo() async throws {
        try await Stage.run { stage in
            let screen = try await Self.running(stage)
            let id = screen.id
            try screen.signal(SIGSTOP)
            try await stage.wait(for: "the stop") { try ProcessFile.text("status", of: id).contains("State:\tT") }
            // Taken one right behind the other, the lower number first: the second reason to end finds the view still there.
            try screen.signal(SIGHUP)
            try screen.signal(SIGINT)
            try screen.signal(SIGCONT)
            let left = try await screen.end()
            #expect(left.status == 0 && left.changed == [] && left.after == "", "\(left)")
        }
    }

    @Test func quitSignalsAreAnsweredAfterwards() async throws {
        try await Stage.run { stage in
            let screen = try await Self.running(stage)
            try screen.signal(SIGQUIT)
            // The view goes on, and nothing is drawn over it.
            try await screen.type("3", for: "Endpoints")
            let rows = try await screen.type("1", for: "▸ fact ")
            #expect(!rows.contains { $0.contains("---") })
            try screen.signal(SIGTERM)
            let left = try await screen.end()
            #expect(left.status == 0 && left.changed == [] && left.after.contains("--- catwatch: "))
        }
    }

    @Test func aShellSuspendsAndContinuesIt() async throws {
        try await Stage.run { stage in
            // Without line editing, so that the shell leaves the modes alone.
            let shell = try await ViewScreen(
                stage, ["--norc", "--noprofile", "--noediting", "-i"],
                environment: ["PS1": "ready> ", "catwatch": Installation.program], program: "/bin/bash")
            try await shell.wait(for: "ready>")
            for round in 1...3 {
                try await shell.type(round == 1 ? "$catwatch --demo -e 50ms\r" : "fg\r")
                // The screen's end of a frame: an emulator that has no second screen shows the old one until then.
                let taken = String(repeating: #"\x1b\[\?1049h.*"#, count: round)
                try await shell.find("(?s)\(taken)\u{1B}\\[\\?2026l")
                #expect(try await !shell.hasFirstModes())
                guard round < 3 else { break }
                try await shell.type("\u{1A}")
                try await shell.find("(?s)" + String(repeating: "Stopped.*", count: round) + "ready> $")
                #expect(try await shell.hasFirstModes())
                #expect(try await shell.count(#"\x1b\[\?1049h"#) == round)
                #expect(try await shell.count(#"\x1b\[\?1049l"#) == round)
            }
            let rows = try await shell.wait(for: #"▸ fact (?s:.*)q +quit"#)
            #expect(!rows.contains { $0.contains("Stopped") || $0.contains("ready>") })
            try await shell.type("q")
            try await shell.find(#"--- catwatch: (?s:.*)ready> $"#)
            try await shell.type("echo status $?; exit\r")
            let left = try await shell.end()
            #expect(left.status == 0 && left.changed == [] && left.after.contains("status 0"))
        }
    }

    @Test func withoutAShellItIsNotStopped() async throws {
        try await Stage.run { stage in
            let screen = try await Self.running(stage)
            try await screen.type("\u{1A}")
            try await screen.find(#"(?s)\x1b\[\?1049l.*\x1b\[\?1049h"#)
            try await screen.type("3", for: "Endpoints")
            try await screen.type("q")
            #expect(try await screen.end().changed == [])
        }
    }

    @Test func itTakesTheScreenAnewAfterAStop() async throws {
        try await Stage.run { stage in
            let screen = try await Self.running(stage)
            try screen.signal(SIGSTOP)
            let id = screen.id
            try await stage.wait(for: "the stop") { try ProcessFile.text("status", of: id).contains("State:\tT") }
            try screen.signal(SIGCONT)
            try await screen.find(#"(?s)\x1b\[\?1049h.*\x1b\[\?1049h"#)
            try await screen.type("2", for: "min ")
            try await screen.type("q")
            let left = try await screen.end()
            #expect(left.status == 0 && left.changed == [])
        }
    }

    @Test func aTerminalThatTakesNothingHoldsNothingUp() async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(
                stage, ["-u", stage.url("/fact"), "-e", "10ms", "-i", "1s"], columns: 200, rows: 60)
            // Lines that all move are what fills a terminal.
            try await screen.wait(for: "▸ fact ")
            try await screen.type("4", for: "latency fact")
            try await screen.fill()
            let before = try await stage.requestCount()
            try await stage.waitForRequests(before + 100)
            // Keys that were pressed meanwhile count, and nothing of the frames that were skipped is seen.
            try await screen.type("1")
            let rows = try await screen.wait(for: "▸ fact ")
            #expect(rows.count == 60 && rows[0].contains("1 List") && rows[59].contains("q quit"))
            #expect(rows[5..<59].allSatisfy { !$0.contains("latency fact") }, "\(rows)")
            try await screen.type("q")
            let left = try await screen.end()
            #expect(left.status == 0 && left.changed == [])
        }
    }

    @Test func aStalledTerminalIsLeftAllTheSame() async throws {
        try await Stage.run { stage in
            let screen = try await ViewScreen(
                stage, ["-u", stage.url("/fact"), "-e", "10ms"], columns: 200, rows: 60)
            try await screen.wait(for: "▸ fact ")
            try await screen.type("4", for: "latency fact")
            try await screen.fill()
            try screen.signal(SIGTERM)
            let id = screen.id
            // It ends while nobody reads.
            try await stage.wait(for: "the end") {
                guard let status = try? ProcessFile.text("status", of: id) else { return true }
                return status.contains("State:\tZ")
            }
            #expect(try await screen.hasFirstModes())
            #expect(try await screen.end().status == 0)
        }
    }

    @Test func itEndsWithItsTerminal() async throws {
        try await Stage.run { stage in
            let screen = try await Self.running(stage)
            let end = try await screen.hangUp()
            // At once, that is: nothing is waited for, neither a reader nor the next poll.
            #expect(end.status == 0 && end.looks < 1_000, "\(end)")
        }
    }
}
