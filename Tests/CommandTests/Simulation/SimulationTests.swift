import Glibc
import Reactor
import Synchronization
import TestSupport
import Testing

/// The whole agent in seeded worlds that fail: see docs/reliability.md.
@Suite(.limited) struct SimulationTests {
    private static func variable(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }

    /// The seed to replay, and tell the story of.
    private static let one = variable("CATWATCH_SIMULATION_SEED")
    /// How many seeds are tried, and from which one on.
    private static let count =
        variable("CATWATCH_SIMULATION_SEEDS")
        ?? (ThreadSanitizer.isOn ? 16 : UInt64(LongRun.rounds(short: 48, long: 50_000)))
    private static let first = variable("CATWATCH_SIMULATION_FIRST") ?? 1
    /// The first seed that something is wrong with, as far as is known; none behind it is tried.
    private static let found = Atomic<UInt64>(.max)
    /// How many loops the seeds are shared by.
    private static let shares: UInt64 = 8
    /// What has happened in the worlds of the shares that are through, and how many these are.
    private static let tally = Locked<(counts: [String: Int], shares: UInt64)>(([:], 0))

    private static func report(of seed: UInt64, in folder: TemporaryFolder) async throws -> SimulatedWorld.Report {
        // Virtual time may stand still for ever.
        let watch = Task.detached {
            try await Task.sleep(for: .seconds(120))
            print("seed \(seed) has been under way for two minutes")
        }
        let place = Int(seed % shares)
        SeedsUnderWay.begin(seed, at: place)
        defer {
            watch.cancel()
            SeedsUnderWay.end(at: place)
        }
        return try await withLoop(virtual: true) { loop in
            await SimulatedWorld(seed: seed, on: loop, in: folder, tellsAtOnce: one != nil).live()
        }
    }

    @Test(arguments: 0..<shares) func nothingIsLostWhateverFails(share: UInt64) async throws {
        let folder = try TemporaryFolder()
        if let one = Self.one, one % Self.shares != share { return }
        let seeds = Self.one.map { $0...$0 } ?? Self.first...Self.first + Self.count - 1
        var counts: [String: Int] = [:]
        for seed in seeds where seed % Self.shares == share && seed < Self.found.load(ordering: .relaxed) {
            let report = try await Self.report(of: seed, in: folder)
            counts.merge(report.counts, uniquingKeysWith: +)
            guard report.faults.isEmpty else {
                Self.found.min(seed, ordering: .relaxed)
                let steps = report.story.suffix(40).joined(separator: "\n")
                Issue.record(
                    """
                    seed \(seed): \(report.faults.joined(separator: "\n"))
                    The last steps; all of them with CATWATCH_SIMULATION_SEED=\(seed):
                    \(steps)
                    """)
                return
            }
        }
        let total = Self.tally.withLock { [counts] tally in
            tally.counts.merge(counts, uniquingKeysWith: +)
            tally.shares += 1
            return tally.shares == Self.shares ? tally.counts : nil
        }
        // The last one looks: worlds in which nothing happens prove nothing.
        guard let total, Self.one == nil, Self.count >= 400 else { return }
        for what in SimulatedWorld.happenings { #expect(total[what] ?? 0 > 0, "there was nothing of: \(what)") }
    }

    @Test(arguments: [3, 4] as [UInt64]) func aSeedIsOneLife(seed: UInt64) async throws {
        let folder = try TemporaryFolder()
        let first = try await Self.report(of: seed, in: folder)
        let second = try await Self.report(of: seed, in: folder)
        #expect(first.feeds == second.feeds)
        #expect(first.story == second.story)
    }
}
