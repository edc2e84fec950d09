package import Reactor

/// What is done with the lines of one agent of a fleet, whatever way they come: they are checked, told from those that were here
/// already, and those that are missing are named. Nothing in them is trusted.
///
/// It has neither clock nor descriptor, and numbers nothing: the store does, with what comes of this.
package struct FleetMember: Sendable {
    /// What a line comes to.
    package enum Item: Sendable {
        /// A line to be numbered here; its source is one of the agent's own, without the agent's name.
        case line(Line, LineID, clock: Timestamp?)
        /// These lines of the agent's never came, or could not be taken.
        case lost(run: String, ClosedRange<Int>)
        /// How its sources are now.
        case stats(Line.Stats)
        /// Something that a person should know, said once.
        case complaint(Failure)
        /// Nothing more of this connection is to be taken, for this reason.
        case breach(String)
    }

    /// What is wrong with a line; each kind is told once.
    enum Refusal: Hashable {
        case unreadable, newer, unknown, fleet, name, series, ownName, sources, value, number, taken
    }

    package let name: String
    package private(set) var clock: MemberClock
    package private(set) var marks: RunMarks
    /// How it is with it.
    package var state = MemberState()
    /// The message of a stream that its newest lines came by; nil when they came by none.
    private var message: Int?
    /// Whose lines come: the run that it greeted with, or that the message says.
    private var run: String?
    /// Numbered lines that were here already.
    package private(set) var repeated = 0
    /// Lines that never came, or could not be taken.
    package private(set) var lost = 0
    /// The run in which it was heard of first; empty when a journal knows of it. What is missing of a later one is lost.
    private var firstRun: String?
    /// What is missing and was not said yet: lines that follow may be missing as well.
    private var missing: (run: String, numbers: ClosedRange<Int>)?
    private var told: Set<Refusal> = []
    /// Its sources that there is room for, as it calls them.
    package private(set) var sources: Set<String> = []
    private let mostSources: Int
    /// How often it was news how its sources are, and when that is, or was, told last.
    private var news: (count: Int, told: LoopInstant)?

    /// How often that is told at once; and how much later after the last time from then on.
    private static let promptNews = 8
    private static let newsPeriod = Duration.seconds(60)

    /// - Parameters:
    ///   - width: how wide windows are here.
    ///   - mostSources: how many sources it may have.
    ///   - positions: what has been taken of it before, the newest run last.
    package init(_ name: String, width: Duration, mostSources: Int = 100, after positions: [AgentPosition] = []) {
        self.name = name
        self.mostSources = mostSources
        clock = MemberClock(width: width)
        marks = RunMarks()
        resume(after: positions)
    }

    /// Nothing has come of it here: that has been taken before.
    mutating func resume(after positions: [AgentPosition]) {
        guard run == nil, let newest = positions.last else { return }
        marks = RunMarks(positions.map(\.line))
        position = newest
        firstRun = ""
    }

    /// Behind which line it is to go on; nil when it is to begin with whatever there is.
    package var place: LineID? { marks.places.last }

    /// The newest line that was taken of its newest run, and by which message; nil before there was one. That may be a window.
    private(set) var position: AgentPosition?

    /// Says what is wrong with it, if that is the first of its kind.
    private mutating func complain(
        _ refusal: Refusal, _ message: @autoclosure () -> String, into items: inout [Item]
    ) {
        guard told.insert(refusal).inserted else { return }
        items.append(.complaint(Failure(.protocol, "\(name) \(message())")))
    }

    /// Takes a line.
    ///
    /// - Parameters:
    ///   - wall: the time here, which a line is taken at that is more than a window ahead of it.
    ///   - heard: when it came, if it has lain somewhere since.
    ///   - items: gets what it comes to.
    package mutating func take(_ line: Line, wall: Timestamp, heard: Timestamp? = nil, into items: inout [Item]) {
        // One that comes again tells of a time that is over.
        if let run, let sequence = line.seq, let mark = marks[run], sequence <= mark {
            repeated += 1
            // Others may have spoken in front of it, where all is read again.
            return marks.advance(to: LineID(run, mark))
        }
        state.hear(line, at: heard ?? wall, wall: wall)
        switch line.body {
        case .hello(let hello): begin(hello, into: &items)
        case .stats(let stats): list(stats, into: &items)
        case .gap(let gap):
            guard let run else { return }
            miss(through: gap.to, of: run, from: gap.from, into: &items)
        case .bye(let bye):
            guard let run, bye.run == run, let last = bye.lastSeq, marks[run] != nil else { return }
            miss(through: last, of: run, from: 1, into: &items)
        case .refusal: break
        default:
            guard let run, let sequence = line.seq else { return }
            guard sequence < .max else { return complainOfNumber(into: &items) }
            take(line, LineID(run, sequence), wall, into: &items)
        }
    }

    /// A line that is none: its number, which nobody knows, is missing.
    package mutating func take(_ fault: LineFault, into items: inout [Item]) {
        guard case .format = fault.reason else {
            return complain(.unreadable, "sends what is no line of this version: \(fault)", into: &items)
        }
        // Its other lines may mean something else, whatever they look like.
        complain(.newer, "is not read: \(fault.reason)", into: &items)
        items.append(.breach("\(fault.reason)"))
    }

    /// Nothing follows for now: says what is missing so far.
    package mutating func settle(into items: inout [Item]) {
        guard let (run, numbers) = missing else { return }
        missing = nil
        items.append(.lost(run: run, numbers))
    }

    // MARK: Runs and numbers

    private mutating func begin(_ new: Line.Hello, into items: inout [Item]) {
        guard !new.isFleet else {
            complain(.fleet, "is a fleet itself, and no member of one: attach to it alone", into: &items)
            return items.append(.breach("it is a fleet itself"))
        }
        hear(of: new.run)
    }

    /// The lines that follow are of this message's run, also where no greeting says so.
    mutating func hear(of message: StreamMessage) {
        self.message = message.sequence
        if state.link == .unfit { state.link = .none }
        hear(of: message.run)
    }

    mutating func hear(of run: String) {
        guard self.run != run else { return }
        self.run = run
        if firstRun == nil { firstRun = run }
        // What is missing of the first run that is heard of was before our time.
        if run != firstRun, marks[run] == nil { marks.advance(to: LineID(run, 0)) }
    }

    /// It has said nothing for longer than anybody looks back; that was the last line of it.
    package mutating func recall(_ place: LineID) {
        guard place.sequence < .max else { return }
        marks.advance(to: place)
        if firstRun == nil { firstRun = place.run }
    }

    private mutating func take(_ line: Line, _ place: LineID, _ wall: Timestamp, into items: inout [Item]) {
        let mark = marks[place.run] ?? place.sequence - 1
        if let newest = marks.places.last, newest.run != place.run, marks[place.run] != nil { state.contest(at: wall) }
        if place.sequence > mark + 1 { lose(mark + 1...place.sequence - 1, of: place.run, into: &items) }
        marks.advance(to: place)
        position = AgentPosition(name, place, stream: message)
        let isData = if case .data = line.body { true } else { false }
        clock.hear(line.time, isData: isData, wall: wall)
        if case .window = line.body { return }  // they are computed here
        if let (refusal, message) = refusal(of: line) {
            complain(refusal, message, into: &items)
            return lose(place.sequence...place.sequence, of: place.run, into: &items)
        }
        if case .restart(let restart) = line.body { notice(restart, into: &items) }
        settle(into: &items)
        items.append(.line(line, place, clock: clock.time))
    }

    /// Those of its sources that may be called so, and that there is room for.
    private mutating func list(_ said: Line.Stats, into items: inout [Item]) {
        settle(into: &items)
        var stats = said
        var named: Set<String> = []
        stats.sources = stats.sources.filter { PeerName.isValid($0.source) && named.insert($0.source).inserted }
        for index in stats.sources.indices where stats.sources[index].type.map({ !PeerName.isValid($0) }) == true {
            stats.sources[index].type = nil
        }
        // Only one that says all of them says that others are gone.
        if stats.moreSources == 0, stats.sources.count == said.sources.count {
            sources.formIntersection(named)
        }
        stats.sources = stats.sources.filter { addSource($0.source) }
        if stats.sources.count < said.sources.count {
            stats.moreSources = stats.moreSources.addingSaturated(said.sources.count - stats.sources.count)
        }
        items.append(.stats(stats))
    }

    private mutating func addSource(_ source: String) -> Bool {
        if sources.contains(source) { return true }
        guard sources.count < mostSources else { return false }
        sources.insert(source)
        return true
    }

    /// The agent's journal says how far it has the run before: what was not taken of that never will be.
    private mutating func notice(_ restart: Restart, into items: inout [Item]) {
        guard let run = restart.lastRun, RunName.isValid(run), let last = restart.lastSequence, marks[run] != nil else {
            return
        }
        miss(through: last, of: run, from: 1, into: &items)
    }

    private mutating func miss(through last: Int, of run: String, from first: Int, into items: inout [Item]) {
        let next = marks[run].map { $0 + 1 } ?? first
        guard last < .max else { return complainOfNumber(into: &items) }
        guard last >= next else { return }
        marks.advance(to: LineID(run, last))
        lose(next...last, of: run, into: &items)
    }

    /// The greatest number there is has none behind it, and lines up to it would never end.
    private mutating func complainOfNumber(into items: inout [Item]) {
        complain(.number, "counts up to \(Int.max), which is no number of a line: it is not taken", into: &items)
    }

    /// A line that was taken cannot be kept, as its source's name is somebody else's.
    mutating func refuse(_ place: LineID, of source: String) -> [Item] {
        var items: [Item] = []
        let taken = "\(name).\(source)"
        complain(.taken, "has a source that another one here is called like: \(taken)", into: &items)
        lose(place.sequence...place.sequence, of: place.run, into: &items)
        settle(into: &items)
        return items
    }

    private mutating func lose(_ numbers: ClosedRange<Int>, of run: String, into items: inout [Item]) {
        lost = lost.addingSaturated(numbers.upperBound - numbers.lowerBound).addingSaturated(1)
        if let (before, earlier) = missing {
            if before == run, earlier.upperBound + 1 == numbers.lowerBound {
                missing = (run, earlier.lowerBound...numbers.upperBound)
                return
            }
            settle(into: &items)
        }
        missing = (run, numbers)
    }

    // MARK: News

    /// Its sources are otherwise than they were: when readers are to be told. It may say so as often as it likes, and all of
    /// them are told of all sources.
    mutating func newsTime(at now: LoopInstant) -> LoopInstant {
        guard let last = news else {
            news = (1, now)
            return now
        }
        guard last.told <= now else { return last.told }
        let pause = last.count < Self.promptNews ? Duration.seconds(1) : Self.newsPeriod
        let told = max(now, last.told.advanced(by: pause))
        news = (last.count.addingSaturated(1), told)
        return told
    }

    // MARK: What a line may say

    /// What is wrong with a line that an agent would not send; nil when nothing is.
    private mutating func refusal(of line: Line) -> (Refusal, message: String)? {
        func shown(_ text: String) -> String { "\"\(Sanitizer.visible(text, limit: 64))\"" }
        if case .unknown = line.body {
            return (.unknown, "sends lines of a type that this version does not know, as \(shown(line.type))")
        }
        switch line.body {
        case .lost, .peer: return (.fleet, "sends what only a fleet says")
        case .latency where line.hasNoTime: return (.value, "says that an answer took a time that is none")
        default: break
        }
        guard let source = line.source, PeerName.isValid(source) else {
            return (.name, "names a source as no source is called: \(shown(line.source ?? ""))")
        }
        if case .data(let data) = line.body {
            guard PeerName.isValid(line.type) else {
                return (.name, "has lines of a type as no type is called: \(shown(line.type))")
            }
            guard source != EventStore.ownName else {
                return (.ownName, "sends data in the name of the agent itself")
            }
            guard data.series.utf8.elementsEqual(source.utf8) || Self.key(of: data.series, in: source) != nil else {
                return (.series, "sends a series that is not of its source \(shown(source)): \(shown(data.series))")
            }
        }
        guard addSource(source) else {
            return (.sources, "has more than \(mostSources) sources: lines of further ones are lost")
        }
        return nil
    }

    /// What comes behind the source and a slash in a series' name; nil for the source's own, and for another source's.
    static func key(of series: String, in source: String) -> Substring? {
        let (series, source) = (series.utf8, source.utf8)
        guard series.count > source.count, series.starts(with: source) else { return nil }
        let slash = series.index(series.startIndex, offsetBy: source.count)
        return series[slash] == UInt8(ascii: "/") ? Substring(series[series.index(after: slash)...]) : nil
    }
}
