internal import Glibc
internal import Reactor
package import Testing

/// Bounds how long a test may take. One that takes longer is cancelled and fails; when that does not end it, as where something
/// spins or blocks, the run ends with its name.
///
/// Testing's own limit needs a thread of the pool to notice, which tests that spin may have all of, and minutes.
package struct TimeLimit: TestTrait, SuiteTrait, TestScoping {
    let time: Duration
    /// How long a cancelled test has to end.
    let grace: Duration

    package var isRecursive: Bool { true }

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            let body = Task { try await function() }
            let entry = TestWatch.shared.add(test, time, grace) { body.cancel() }
            let result = await withTaskCancellationHandler {
                await body.result
            } onCancel: {
                body.cancel()
            }
            guard TestWatch.shared.remove(entry) else { return try result.get() }
            Issue.record("not done within \(time), and cancelled", sourceLocation: test.sourceLocation)
        }
    }
}

extension Trait where Self == TimeLimit {
    /// How long any test of a suite may take, when the machine has other things to do as well.
    package static var limited: Self {
        TimeLimit(time: .seconds(LongRun.isOn ? 3_600 : ThreadSanitizer.isOn ? 600 : 300), grace: .seconds(20))
    }
}

/// A thread that looks at the times of tests: it is there however many of them keep their own threads.
private final class TestWatch: Sendable {
    static let shared = TestWatch()

    private struct Entry {
        let name: String
        var end: ContinuousClock.Instant
        let grace: Duration
        let cancel: @Sendable () -> Void
        var isOverdue = false
    }

    private let entries = Locked<(tests: [Int: Entry], next: Int)>(([:], 0))

    private init() {
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { _ in
                while true {
                    sleep(1)
                    TestWatch.shared.look()
                }
            }, nil)
    }

    func add(_ test: Test, _ time: Duration, _ grace: Duration, cancel: @escaping @Sendable () -> Void) -> Int {
        entries.withLock {
            $0.next += 1
            $0.tests[$0.next] = Entry(
                name: "\(test.id)", end: .now + time, grace: grace, cancel: cancel)
            return $0.next
        }
    }

    /// - Returns: whether it has taken too long.
    func remove(_ number: Int) -> Bool {
        entries.withLock { $0.tests.removeValue(forKey: number)?.isOverdue ?? false }
    }

    private func look() {
        let (overdue, stuck) = entries.withLock { entries in
            var overdue: [@Sendable () -> Void] = []
            var stuck: [String] = []
            for (number, entry) in entries.tests where entry.end <= .now {
                if entry.isOverdue {
                    stuck.append(entry.name)
                } else {
                    entries.tests[number]?.isOverdue = true
                    entries.tests[number]?.end = .now + entry.grace
                    overdue.append(entry.cancel)
                }
            }
            return (overdue, stuck)
        }
        for cancel in overdue { cancel() }
        guard !stuck.isEmpty else { return }
        for name in stuck {
            print("✘ Test \(name) is not done within its time limit, and cannot be cancelled: the run ends.")
        }
        fflush(nil)
        _exit(1)
    }
}
