import Reactor
import TestSupport

/// What a simulated agent watches: its sources, which of them are down, and what each answers.
final class SimulatedSources: @unchecked Sendable {  // touched on one loop only
    private let clock: LoopClock
    private let wall: SteppedWallClock
    private var random: SeededGenerator
    private var names: [String] = []
    private var periods: [String: Int] = [:]
    private var down: [String: LoopInstant] = [:]
    private var born = 0
    private var number = 0

    init(on clock: LoopClock, wall: SteppedWallClock, seed: UInt64) {
        (self.clock, self.wall) = (clock, wall)
        random = SeededGenerator(seed: seed)
        for _ in 0...random.next() % 2 { add() }
        addSlow()
    }

    private func chance(_ one: UInt64) -> Bool { random.next() % one == 0 }

    /// The file that says so.
    var configuration: String {
        let polled = names.map {
            #"{"name": "\#($0)", "url": "http://cats.test/\#($0)", "every": "\#(periods[$0] ?? 300)ms", "timeout": "500ms", "#
                + #""value": "/v", "text": null, "time": "/at"}"#
        }
        let all = polled + [#"{"name": "piped", "kind": "stdin", "value": "/v", "text": null}"#]
        return "{\"sources\": [\(all.joined(separator: ", "))]}"
    }

    private func add() { add([200, 300, 500, 1_000].randomElement(using: &random)) }

    /// One that is polled so seldom that the log has let go of its lines before there are others.
    private func addSlow() { add([2_000, 5_000, 5_000, 10_000].randomElement(using: &random)) }

    private func add(_ period: Int?) {
        born += 1
        names.append("s\(born)")
        periods["s\(born)"] = period
    }

    /// How often one is polled, or was; zero of what is not.
    func period(of name: String) -> Duration { .milliseconds(periods[name] ?? 0) }

    /// Whether it is none of those that are not watched any more.
    func isWatched(_ name: String) -> Bool { periods[name] == nil || names.contains(name) }

    /// Has other ones be watched.
    ///
    /// - Returns: which.
    func change() -> String {
        switch random.next() % 4 {
        case 0: if chance(3) { addSlow() } else { add() }
        case 1 where names.count > 1: names.remove(at: Int(random.next() % UInt64(names.count)))
        case 2:
            // Windows of a slow one would begin anew.
            if let name = names.randomElement(using: &random), period(of: name) <= .seconds(1) {
                periods[name] = Int(100 + random.next() % 900)
            }
        default: break
        }
        if names.count > 3 { names.removeFirst() }
        return names.joined(separator: ", ")
    }

    /// Has one fail for some time.
    ///
    /// - Returns: which.
    func fail(for time: Duration) -> String? {
        guard let name = names.randomElement(using: &random) else { return nil }
        down[name] = clock.now.advanced(by: time)
        return name
    }

    func mendAll() { down = [:] }

    func isDown(_ name: String) -> Bool { down[name].map { $0 > clock.now } ?? false }

    /// A document that nobody has had before, and its number.
    func document(isAnswer: Bool) -> (number: Int, text: String) {
        number += 1
        let value = Int.random(in: 0...999, using: &random)
        let pad = chance(3) ? Int.random(in: 0...2_500, using: &random) : 20
        let text = #"{"n":\#(number),"v":\#(value),"pad":"\#(String(repeating: "a", count: pad))""#
        return (number, text + (isAnswer ? #","at":\#(moment())}"# : "}"))
    }

    /// When something happened, in seconds: now, or some time ago, in a window that is not about to be past.
    private func moment() -> String {
        let now = wall.now.microseconds
        let isNearEdge = !(100_000...900_000).contains(now % 1_000_000)
        guard chance(6), !isNearEdge else { return "\(now / 1_000_000).\(Self.sixDigits(now % 1_000_000))" }
        let then = now - Int64.random(in: 0...5_900_000, using: &random)
        return "\(then / 1_000_000).\(Self.sixDigits(then % 1_000_000))"
    }

    private static func sixDigits(_ number: Int64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }
}
