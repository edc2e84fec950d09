import Feed
import Outputs
import Reactor
import TestSupport
import Testing

/// What a terminal shows while paged sources come further, in virtual time.
@Suite(.limited) struct ProgressReporterTests {
    /// What came to the terminal, piece by piece, and when.
    private final class Terminal: @unchecked Sendable {  // touched on one loop only
        let near: SimulatedStream
        private let far: SimulatedStream
        private let loop: EventLoop
        private(set) var pieces: [(time: LoopInstant, text: String)] = []

        init(on loop: EventLoop) {
            self.loop = loop
            (near, far) = SimulatedStream.pair(on: loop)
        }

        func run() async {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                guard let count = try? buffer.withUnsafeMutableBytes({ try far.read(into: $0) }) else {
                    guard (try? await far.waitUntilReadable()) != nil else { return }
                    continue
                }
                if count == 0 { return }
                pieces.append((loop.clock.now, String(decoding: buffer[..<count], as: UTF8.self)))
            }
        }

        var text: String { pieces.map(\.text).joined() }

        /// The lines as they stand at the end: a CR goes back to the start of one.
        var screen: [String] {
            text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                var cells: [Character] = []
                var column = 0
                for character in line {
                    if character == "\r" {
                        column = 0
                    } else if column < cells.count {
                        cells[column] = character
                        column += 1
                    } else {
                        cells.append(character)
                        column += 1
                    }
                }
                while cells.last == " " { cells.removeLast() }
                return String(cells)
            }
        }
    }

    private static func run(
        columns: Int = 60,
        _ body: @escaping @Sendable (FeedStage, Notices, @escaping @Sendable () -> [String]) async throws -> Void
    ) async throws -> [(time: LoopInstant, text: String)] {
        try await withLoop(virtual: true) { loop in
            let stage = await FeedStage(on: loop)
            let notices = Notices(on: loop)
            let terminal = Terminal(on: loop)
            let reporter = ProgressReporter(store: stage.store, notices: notices, on: loop, style: .ascii) { columns }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await terminal.run() }
                group.addTask { try await notices.run { _ in terminal.near } }
                group.addTask { try await reporter.run() }
                try await loop.sleep(for: .milliseconds(1))
                try await body(stage, notices) { terminal.screen }
                await stage.store.finish("test")
                try await loop.sleep(for: .milliseconds(1))
                group.cancelAll()
            }
            #expect(terminal.screen.last == "")
            #expect(loop.timerCount == 0)
            return terminal.pieces
        }
    }

    private static func publish(_ done: Int, of total: Int?, _ stage: FeedStage, source: SourceID? = nil) async {
        let progress = Progress(done: done, total: total, page: 1)
        let event = Event(time: stage.wall.now, source: source ?? stage.source, body: .progress(progress))
        await stage.store.publish([event])
    }

    @Test func showsTheNewestOfAllSourcesAtMostTenTimesASecond() async throws {
        let pieces = try await Self.run { stage, _, screen in
            let other = await stage.store.register(SourceDescription(name: "breeds"))
            for number in 0..<1_000 {
                await Self.publish(number, of: 2_000, stage, source: number % 2 == 0 ? stage.source : other)
                try await stage.loop.sleep(for: .milliseconds(2))
            }
            try await stage.loop.sleep(for: .milliseconds(100))
            #expect(screen().last?.hasPrefix("breeds  [") == true)
            #expect(screen().last?.hasSuffix("999 of 2000  page 1") == true)
        }
        #expect(pieces.count > 15 && pieces.count <= 23)
        #expect(pieces.allSatisfy { !$0.text.contains("\n") })
    }

    @Test func ofLinesThatComeTogetherTheNewestIsShown() async throws {
        _ = try await Self.run { stage, _, screen in
            await stage.store.publish(
                (1...3).map { done in
                    Event(
                        time: stage.wall.now, source: stage.source,
                        body: .progress(Progress(done: done, total: 4, page: 1)))
                })
            try await stage.loop.sleep(for: .milliseconds(200))
            #expect(screen().last?.contains("3 of 4") == true)
        }
    }

    @Test func givesWayToWhatIsSaidAndComesBackBelow() async throws {
        _ = try await Self.run { stage, notices, screen in
            await Self.publish(1, of: 4, stage)
            try await stage.loop.sleep(for: .milliseconds(10))
            #expect(screen() == ["fact  [########---------------------------]  1 of 4  page 1"])
            await notices.say("catwatch: hello\n")
            try await stage.loop.sleep(for: .milliseconds(10))
            #expect(screen() == ["catwatch: hello", "fact  [########---------------------------]  1 of 4  page 1"])
            await Self.publish(2, of: nil, stage)
            try await stage.loop.sleep(for: .milliseconds(200))
            #expect(screen() == ["catwatch: hello", "fact  2  page 1"])
            await notices.show(nil)
            await notices.say("catwatch: bye\n")
            try await stage.loop.sleep(for: .milliseconds(10))
            #expect(screen() == ["catwatch: hello", "catwatch: bye", ""])
        }
    }

    @Test func goesAwayWhenAllIsThereAndWhenNothingMoves() async throws {
        _ = try await Self.run { stage, _, screen in
            await Self.publish(4, of: 4, stage)
            try await stage.loop.sleep(for: .milliseconds(900))
            #expect(screen().last?.contains("4 of 4") == true)
            try await stage.loop.sleep(for: .milliseconds(200))
            #expect(screen() == [""])
            await Self.publish(1, of: 4, stage)
            try await stage.loop.sleep(for: .seconds(29))
            #expect(screen().last?.contains("1 of 4") == true)
            try await stage.loop.sleep(for: .seconds(2))
            #expect(screen() == [""])
        }
    }

    @Test func aTerminalThatTakesNothingCostsNothing() async throws {
        let text = try await withLoop(virtual: true) { loop in
            let notices = Notices(on: loop)
            let terminal = Terminal(on: loop)
            await notices.say("catwatch: stuck\n")
            for number in 0..<100_000 { await notices.show("\(number)") }
            await notices.say("catwatch: said\n")
            try? await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await terminal.run() }
                group.addTask { try await notices.run { _ in terminal.near } }
                try await loop.sleep(for: .milliseconds(1))
                await notices.show(nil)
                try await loop.sleep(for: .milliseconds(1))
                group.cancelAll()
            }
            return terminal.text
        }
        #expect(text == "catwatch: stuck\ncatwatch: said\n99999\r     \r")
    }
}
