import Feed
import Reactor
import TestSupport
import Testing

/// What is made of an agent that says whatever it likes, held to what must be true of any.
@Suite(.limited) struct FleetMemberChaosTests {
    private static let width = Duration.seconds(10)

    /// What one run came to, by what was said of it.
    private struct Account {
        var passed: [ClosedRange<Int>] = []
        var lost: [ClosedRange<Int>] = []
        /// Numbers of window lines, of which nothing is said.
        var passedOver: Set<Int> = []
    }

    /// Lines that no agent in its right mind would write, each of which the decoder takes.
    private struct Speaker {
        var random: SeededGenerator
        let runs: [String]
        var wall = PeerScript.start
        private var run = ""
        private var next: [String: Int] = [:]

        init(seed: UInt64, runs count: Int) {
            random = SeededGenerator(seed: seed)
            runs = (0..<count).map { "run\($0)" }
        }

        private mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
        private mutating func one<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

        private mutating func time() -> String {
            switch below(12) {
            case 0: one(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59Z"])
            case 1: PeerScript.time(wall + .seconds(Int.random(in: -8_000...8_000, using: &random)))
            default: PeerScript.time(wall - .milliseconds(below(3_000)))
            }
        }

        /// A number near where the run is, or near the end of all numbers.
        private mutating func number(near: Int) -> Int {
            switch below(10) {
            case 0 where below(12) == 0: one([1, .max, .max - 1, .max - 2, 1 << 53])
            case 0...3: max(1, near.subtractingSaturated(below(20)))
            default: max(1, near.addingSaturated(below(20)))
            }
        }

        private mutating func name() -> String {
            one([
                "fact", "fact", "fact", "b", "c", "d", "e", "web2.fact", "catwatch", "", "a b", "x/y", #"\u202e"#, "é",
            ])
        }

        private mutating func members() -> String {
            let name = name()
            switch below(9) {
            case 0: return #""type":"memory","source":"catwatch","rss_bytes":1,"peak_bytes":1,"private_bytes":1"#
            case 1:
                return
                    #""type":"window","source":"fact","series":"fact","start":"\#(time())","seconds":10,"last":1,"last_seq":1,"count":1,"min":1,"max":1,"mean":1"#
            case 2: return #""type":"latest","source":"fact""#
            case 3: return #""type":"lost","source":"a.catwatch","from":1,"to":\#(number(near: 5))"#
            case 4:
                let run = one(runs + ["never"])
                return
                    #""type":"restart","source":"catwatch","last_run":"\#(run)","last_seq":\#(number(near: next[run] ?? 1))"#
            case 5: return #""type":"error","source":"\#(name)","code":"dns","message":"no""#
            default:
                return
                    #""type":"\#(one(["fact", "fact", "two words", ""]))","source":"\#(name)","series":"\#(one([name, name + "/k", "other"]))","value":1"#
            }
        }

        /// The next line, or nil when it was nothing that is a line; and how often the clock here is stepped is up to chance too.
        mutating func line() -> Line? {
            if below(40) == 0 { wall = wall + .seconds(Int.random(in: -7_200...7_200, using: &random)) }
            wall = wall + .milliseconds(below(500))
            let text: String
            switch run.isEmpty ? 0 : below(14) {
            case 0:
                run = one(runs)
                text =
                    #"{"type":"hello","time":"\#(time())","format":1,"run":"\#(run)","first_seq":1,"next_seq":\#(number(near: 1))}"#
            case 1:
                let from = number(near: next[run] ?? 1)
                text =
                    #"{"type":"gap","time":"\#(time())","from":\#(from),"to":\#(max(from, number(near: from))),"reason":"slow_reader"}"#
            case 2:
                text =
                    #"{"type":"bye","time":"\#(time())","run":"\#(one(runs))","last_seq":\#(number(near: 9)),"reason":"x"}"#
            case 3:
                let sources = (0..<below(8)).map { _ in #"{"source":"\#(name())","state":"ok","type":"t"}"# }
                let more = below(3) == 0 ? #","more_sources":\#(Int.max)"# : ""
                text =
                    #"{"type":"stats","time":"\#(time())","as_of":0,"sources":[\#(sources.joined(separator: ","))]\#(more)}"#
            default:
                let near = next[run] ?? 1
                let number = below(4) == 0 ? number(near: near) : near
                if number < 1 << 60 { next[run] = number + 1 }
                text = #"{"seq":\#(number),"time":"\#(time())",\#(members())}"#
            }
            let quoted = text.replacing("\"\"", with: "\"")
            return (try? PeerScript.decoded(text)) ?? (try? PeerScript.decoded(quoted))
        }
    }

    private static func count(_ ranges: [ClosedRange<Int>]) -> Int {
        ranges.reduce(0) { $0.addingSaturated($1.upperBound - $1.lowerBound).addingSaturated(1) }
    }

    @Test(arguments: 0..<UInt64(LongRun.rounds(short: 8, long: 24)))
    func eachNumberIsPassedOnOnceInOrderOrLost(_ seed: UInt64) throws {
        // Of no more runs than are remembered everything holds; of more, the bounds.
        let isForgotten = seed % 4 == 3
        var speaker = Speaker(seed: seed, runs: isForgotten ? 12 : RunMarks.most)
        var member = FleetMember("web1", width: Self.width, mostSources: 4)
        var accounts: [String: Account] = [:]
        var first: [String: Int] = [:]
        var (current, complaints, passed, lost) = ("", 0, 0, 0)
        for _ in 0..<600 {
            guard let line = speaker.line() else { continue }
            var items: [FleetMember.Item] = []
            let before = current.isEmpty ? nil : member.marks[current]
            member.process(line, wall: speaker.wall, into: &items)
            if speaker.random.next() % 4 == 0 { member.flushMissing(into: &items) }
            switch line.body {
            case .hello(let hello):
                current = hello.run
                // Of the first run nothing is known to be missing.
                if first.isEmpty { first[current] = 0 } else if first[current] == nil { first[current] = 1 }
            case .window, .unknown:
                if line.seq ?? 0 > before ?? 0 {
                    accounts[current, default: Account()].passedOver.insert(line.seq ?? 0)
                }
            default: break
            }
            for item in items {
                switch item {
                case .line(_, let place, let clock):
                    #expect(place.run == current)
                    accounts[place.run, default: Account()].passed.append(place.sequence...place.sequence)
                    passed += 1
                    let time = try #require(clock)
                    #expect(time.microseconds <= speaker.wall.microseconds + Self.width.microseconds, "seed \(seed)")
                case .lost(let run, let numbers):
                    accounts[run, default: Account()].lost.append(numbers)
                    lost = lost.addingSaturated(numbers.upperBound - numbers.lowerBound).addingSaturated(1)
                case .report(.error(let failure)):
                    complaints += 1
                    #expect(failure.message.hasPrefix("web1 ") && failure.message.utf8.count < 400)
                case .stats(let stats): #expect(stats.sources.count <= 4 && stats.moreSources >= 0)
                case .kept(_, let place, _): #expect(place.run == current, "seed \(seed)")
                case .windows(let kept): #expect(kept.run == current, "seed \(seed)")
                case .breach, .report: Issue.record("seed \(seed): \(item)")
                }
            }
            #expect(member.marks.places.count <= RunMarks.most)
            #expect(Set(member.marks.places.map(\.run)).count == member.marks.places.count)
        }
        var rest: [FleetMember.Item] = []
        member.flushMissing(into: &rest)
        for case .lost(let run, let numbers) in rest {
            accounts[run, default: Account()].lost.append(numbers)
            lost = lost.addingSaturated(numbers.upperBound - numbers.lowerBound).addingSaturated(1)
        }
        #expect(complaints <= 7, "seed \(seed)")
        #expect(member.lost == lost, "seed \(seed)")
        #expect(passed > 10, "seed \(seed) says too little: \(passed)")
        if isForgotten { return }
        for (run, account) in accounts {
            let told = (account.passed + account.lost).sorted { $0.lowerBound < $1.lowerBound }
            #expect(
                account.passed.map(\.lowerBound) == account.passed.map(\.lowerBound).sorted(), "seed \(seed) \(run)")
            guard var next = first[run] == 0 ? told.first?.lowerBound : 1 else { continue }
            for range in told {
                // Neither twice, nor left out without a word.
                #expect(range.lowerBound >= next, "seed \(seed): \(run) has \(next - 1) and again \(range)")
                guard range.lowerBound >= next, range.lowerBound - next <= account.passedOver.count else {
                    Issue.record("seed \(seed): of \(run) nothing is said of \(next)..<\(range.lowerBound)")
                    return
                }
                for number in next..<range.lowerBound {
                    #expect(account.passedOver.contains(number), "seed \(seed): nothing is said of \(number) of \(run)")
                }
                next = range.upperBound + 1
            }
            let mark = try #require(member.marks[run])
            #expect(mark >= next - 1 && mark < .max)
            for number in next..<max(next, mark + 1) { #expect(account.passedOver.contains(number), "seed \(seed)") }
        }
    }
}
