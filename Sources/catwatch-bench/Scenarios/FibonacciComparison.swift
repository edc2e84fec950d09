internal import Glibc
internal import Inputs
internal import Reactor

/// F(0)…F(10,000) as decimals, by a source's run and by Python's integers, one after the other in each run.
///
/// Measures the thread's processor time on both sides, without the start of either program.
enum FibonacciComparison: Scenario {
    static let name = "fibonacci"
    static let summary = "F(0)…F(10,000) as decimals, compared with Python's integers"

    private static let last = 10_000
    private static let python = "/usr/bin/python3"
    /// Prints the seconds it took, the number of digits, and the last number.
    private static let script = """
        import sys, time
        if hasattr(sys, "set_int_max_str_digits"): sys.set_int_max_str_digits(0)
        digits, text, a, b = 0, "", 0, 1
        start = time.thread_time()
        for _ in range(\(last) + 1):
            text = str(a)
            digits += len(text)
            a, b = b, a + b
        print(time.thread_time() - start, digits, text)
        """

    private struct Outcome {
        var milliseconds: Double
        var digits: Int
        var lastNumber: String
    }

    static func measure(_ setting: Setting) throws -> [Figure] {
        guard access(python, X_OK) == 0 else { return [.noPeer("ratio to Python")] }
        var ours = Figure(name: "catwatch", unit: "ms", runs: [])
        var theirs = Figure(name: "Python", unit: "ms", runs: [])
        var ratio = Figure(name: "ratio to Python", unit: "", runs: [], limit: .atMost(1))
        for _ in 0..<setting.runs {
            let other = try setting.withFolder { try compute(inPython: $0) }
            let own = compute()
            guard own.digits == other.digits, own.lastNumber == other.lastNumber else {
                throw BenchError("the two do not agree: \(own.digits) and \(other.digits) digits")
            }
            ours.runs.append(own.milliseconds)
            theirs.runs.append(other.milliseconds)
            ratio.runs.append(own.milliseconds / other.milliseconds)
        }
        return [ratio, ours, theirs]
    }

    private static func compute() -> Outcome {
        let run = FibonacciRun(through: last)
        var outcome = Outcome(milliseconds: 0, digits: 0, lastNumber: "")
        let start = processorTime
        while !run.isFinished {
            run.advance()
            run.visit { n, decimals in
                outcome.digits += decimals.count
                if n == last { outcome.lastNumber = String(decoding: decimals, as: UTF8.self) }
            }
        }
        outcome.milliseconds = (processorTime - start).milliseconds
        return outcome
    }

    private static func compute(inPython folder: String) throws -> Outcome {
        let process = try ChildProcess(python, ["-c", script], folder: folder)
        defer { process.end() }
        var output: [UInt8] = []
        process.read(until: .now + .seconds(60)) { bytes in
            output += bytes
            return false
        }
        let words = String(decoding: output, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 3, let seconds = Double(words[0]), let digits = Int(words[1]), seconds > 0 else {
            throw process.failure("did not print what was asked for")
        }
        return Outcome(milliseconds: seconds * 1_000, digits: digits, lastNumber: String(words[2]))
    }

    /// The calling thread's processor time.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
