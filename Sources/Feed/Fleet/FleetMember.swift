package import Reactor

/// An agent of a fleet. It processes the agent's lines, however they arrive: checks them, recognises repeated ones, and
/// reports missing ones. Nothing in them is trusted.
///
/// It has neither clock nor descriptor, and assigns no sequence numbers: the store does that with the resulting items.
package struct FleetMember: Sendable {
    /// A result of processing a line.
    package enum Item: Sendable {
        /// A line that gets a sequence number here; its source is one of the agent's own, without the agent's name.
        case line(Line, LineID, clock: Timestamp?)
        /// A kept line; `isMissed` when it is newer than all numbered lines that came.
        case kept(Line, LineID, isMissed: Bool)
        /// Windows of a series, from before those that are computed here.
        case windows(Line.Kept)
        /// These lines of the agent never came, or were refused.
        case lost(run: String, ClosedRange<Int>)
        /// The state of its sources.
        case stats(Line.Stats)
        /// An event that the hub itself publishes about the agent, for a person.
        case report(Event.Body)
        /// The connection must end, for this reason.
        case breach(String)
    }

    /// The kinds of faults in a line; each kind is reported once.
    enum Refusal: Hashable {
        case unreadable, newer, fleet, name, series, ownName, sources, value, number, taken, conflict
        /// It has too many series; too many endpoints.
        case windows, endpoints
    }

    package let name: String
    /// `,"agent":"…"`
    let tail: [UInt8]
    /// The source that carries its lines; nil while none does.
    var way: SourceID?
    /// The subject of its messages where a broker carries them.
    var subject: String?
    /// Its series here. Their clock follows `clock` when the lines are published.
    var closings = WindowClosings()
    package private(set) var clock: MemberClock
    package private(set) var marks: RunMarks
    /// The agent's state.
    package var state = MemberState()
    /// The stream message that carried its newest lines; nil if none did.
    private var message: StreamMessage?
    /// When the newest message was stored, of all that were taken.
    private var newestStored: Timestamp?
    /// The hosts of its run, and of the run before that in the order of arrival.
    private var hosts = (current: "", earlier: "")
    /// The run of its lines: from its `hello`, or from the stream message.
    private var run: String?
    /// The number below which kept lines may come: the first of the connection's numbered lines; 0 once those come.
    private var keptEnd = 0
    /// The number of the last kept line that its `hello` announced; 0 for none.
    private var keptSequence = 0
    /// The last number that was given when the agent greeted: its line, or a `gap`, ends the replay.
    private var replayEnd = 0
    /// The number of the last kept line of the connection.
    private var lastKept = 0
    /// Whether the kept lines are here that were there when this process met the agent.
    package private(set) var knowsKept = false
    /// The number of numbered lines received again.
    package private(set) var repeated = 0
    /// The number of its lines of unknown types, which were passed over.
    package private(set) var unknown = 0
    /// The number of lines that never came, or were refused.
    package private(set) var lost = 0
    /// The first run heard from; empty when a journal knows the agent. Missing lines of later runs count as lost.
    private var firstRun: String?
    /// Missing lines not reported yet, because the next ones may be missing too.
    private var missing: (run: String, numbers: ClosedRange<Int>)?
    private var told: Set<Refusal> = []
    /// Those of its sources that fit the limit, under its own names.
    package private(set) var sources: Set<String> = []
    private let mostSources: Int
    /// The number of changes to its sources, and the time when readers are, or were, last notified of one.
    private var news: (count: Int, told: LoopInstant)?

    /// The number of changes reported promptly; later ones are reported at this interval.
    private static let promptNews = 8
    private static let newsPeriod = Duration.seconds(60)

    /// - Parameters:
    ///   - width: the width of a window here.
    ///   - mostSources: the most sources that it may have.
    ///   - positions: its positions so far, the newest run last.
    package init(_ name: String, width: Duration, mostSources: Int = 100, after positions: [MemberPosition] = []) {
        self.name = name
        tail = LineEncoder.tail(agent: name)
        self.mostSources = mostSources
        clock = MemberClock(width: width)
        marks = RunMarks()
        resume(after: positions)
    }

    /// Forgets what an input that has ended knew of it: by what subject its messages come, which run is refused, and which failures
    /// are reported.
    mutating func beginInput() {
        subject = nil
        (state.refusedRun, state.outage) = (nil, Outage())
    }

    /// Sets the positions received earlier, as long as nothing has arrived from it here.
    mutating func resume(after positions: [MemberPosition]) {
        guard run == nil, !positions.isEmpty else { return }
        marks = RunMarks(positions.map(\.line))
        newestStored = positions.compactMap(\.stored).max()
        firstRun = ""
    }

    /// The line after which to resume; nil to start with whatever exists.
    package var place: LineID? { marks.places.last }

    /// The position in its current run; nil before the first line.
    var position: MemberPosition? {
        guard let run, let sequence = marks[run] else { return nil }
        return MemberPosition(name, LineID(run, sequence), stored: message?.stored)
    }

    /// The name of the source that stands for the agent.
    var ownName: String { "\(name).\(EventStore.ownName)" }

    /// Whether a fault is the first of its kind, and so to be reported.
    mutating func isFirst(_ refusal: Refusal) -> Bool { told.insert(refusal).inserted }

    /// Reports a fault, if it is the first of its kind.
    private mutating func complain(
        _ refusal: Refusal, _ message: @autoclosure () -> String, into items: inout [Item]
    ) {
        guard isFirst(refusal) else { return }
        items.append(.report(.error(Failure(.protocol, "\(name) \(message())"))))
    }

    /// Processes a line.
    ///
    /// - Parameters:
    ///   - wall: the hub's time, which replaces the time of a line more than a window ahead of it.
    ///   - heard: the time of its arrival, if it waited somewhere since.
    ///   - items: receives the results.
    package mutating func process(_ line: Line, wall: Timestamp, heard: Timestamp? = nil, into items: inout [Item]) {
        // A repeated line says nothing about the present.
        if let run, let sequence = line.seq, let mark = marks[run], sequence <= mark {
            repeated += 1
            // Other runs may precede it where a stream is read again from its start.
            return marks.advance(to: LineID(run, mark))
        }
        state.hear(line, at: heard ?? wall, wall: wall)
        switch line.body {
        case .hello(let hello): begin(hello, into: &items)
        case .stats(var stats):
            // By our clock, as that of the agent may be another.
            for index in stats.sources.indices {
                stats.sources[index].answered = stats.sources[index].answered.map {
                    min($0 + ((heard ?? wall) - line.time), wall)
                }
            }
            list(stats, into: &items)
        case .gap(let gap):
            guard let run else { return }
            miss(through: gap.to, of: run, from: gap.from, into: &items)
        case .bye(let bye):
            guard let run, bye.run == run, let last = bye.lastSeq, marks[run] != nil else { return }
            miss(through: last, of: run, from: 1, into: &items)
        case .refusal: break
        case .kept(let kept): keep(kept, into: &items)
        default:
            guard let run, let sequence = line.seq else { return }
            guard sequence < .max else { return complainOfNumber(into: &items) }
            accept(line, LineID(run, sequence), wall, into: &items)
        }
    }

    /// Processes a faulty line: its sequence number is unknown, and so will be missing.
    package mutating func process(_ fault: LineFault, into items: inout [Item]) {
        // It may have been the first of its run, which then begins where the connection's lines do.
        if message == nil, let run, marks[run] == nil, keptEnd > 0 { marks.advance(to: LineID(run, keptEnd - 1)) }
        guard case .format = fault.reason else {
            return complain(.unreadable, "sends what is no line of this version: \(fault)", into: &items)
        }
        // Its other lines may have another meaning, whatever they look like.
        complain(.newer, "is not read: \(fault.reason)", into: &items)
        items.append(.breach("\(fault.reason)"))
    }

    /// Whether it has sent the lines that were there when it greeted, or has no connection of its own.
    var isReplayed: Bool {
        guard message == nil, let run else { return true }
        return replayEnd < keptEnd ? knowsKept || lastKept >= keptSequence : marks[run] ?? 0 >= replayEnd
    }

    /// Reports the missing lines so far, because no lines follow for now.
    package mutating func flushMissing(into items: inout [Item]) {
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
        hear(of: new.run, on: new.host.name)
        // One that resumes is asked for all kept lines up to where it resumes, also for those that the agent's log has.
        (keptEnd, lastKept, replayEnd) = (
            max(new.firstSeq, marks[new.run]?.addingSaturated(1) ?? 0), 0, new.nextSeq - 1
        )
        keptSequence = new.keptSeq ?? 0
    }

    /// Takes a kept line: before the numbered lines of a connection and below them, by ascending number, or in mid-stream
    /// where a stream carries them, or if it is of an earlier run. It changes no position, and nothing is lost where it is refused.
    private mutating func keep(_ kept: Line.Kept, into items: inout [Item]) {
        guard let run, kept.run == run, let sequence = kept.line.seq, let source = kept.line.source else { return }
        if !kept.windows.isEmpty {
            // Of values that are still to come as lines, they are computed here.
            if keptEnd > 0 && message == nil || sequence <= marks[run] ?? Int.max - 1 { items.append(.windows(kept)) }
            return
        }
        let mark = marks[run]
        let earlier = kept.earlier
        if sequence == 0 {
            guard earlier != nil else { return }
        } else if message == nil {
            guard sequence < keptEnd, sequence > lastKept else { return }
            lastKept = sequence
        } else {
            guard sequence <= mark ?? Int.max - 1 else { return }
        }
        if let (refusal, message) = fault(in: kept.line) { return complain(refusal, message, into: &items) }
        guard sources.contains(source) else { return }
        let isMissed = message == nil && sequence > mark ?? 0
        items.append(.kept(kept.line, earlier ?? LineID(run, sequence), isMissed: isMissed))
    }

    /// Starts the run of this message, which its lines belong to, even without a `hello`.
    ///
    /// - Returns: false for a repeat: its run is no longer known, and a later message was taken.
    mutating func begin(_ message: StreamMessage, _ lines: [Result<Line, LineFault>]) -> Bool {
        if message.isReread, marks[message.run] == nil, let newestStored, message.stored < newestStored {
            repeated += lines.count { (try? $0.get().seq) != nil }
            return false
        }
        self.message = message
        newestStored = max(newestStored ?? message.stored, message.stored)
        if state.link == .unfit { state.link = .none }
        hear(of: message.run, on: message.host)
        return true
    }

    private mutating func hear(of run: String, on host: String?) {
        guard self.run != run else { return }
        self.run = run
        hosts = (host ?? "", hosts.current)
        if firstRun == nil { firstRun = run }
        // Lines missing from the first run heard from are from before our time.
        guard run != firstRun, marks[run] == nil else { return }
        marks.advance(to: LineID(run, 0))
    }

    private mutating func accept(_ line: Line, _ place: LineID, _ wall: Timestamp, into items: inout [Item]) {
        let mark = marks[place.run] ?? place.sequence - 1
        if let newest = marks.places.last, newest.run != place.run, marks[place.run] != nil {
            contest(wall, into: &items)
        }
        if place.sequence > mark + 1 { lose(mark + 1...place.sequence - 1, of: place.run, into: &items) }
        marks.advance(to: place)
        (keptEnd, knowsKept) = (0, true)
        let isData = if case .data = line.body { true } else { false }
        clock.hear(line.time, isData: isData, wall: wall)
        switch line.body {
        case .window: return  // they are computed here
        case .unknown:
            // A later version's lines, which are about no series: other readers pass over them as well.
            unknown = unknown.addingSaturated(1)
            return
        default: break
        }
        if let (refusal, message) = refusal(of: line) {
            complain(refusal, message, into: &items)
            return lose(place.sequence...place.sequence, of: place.run, into: &items)
        }
        if case .restart(let restart) = line.body { notice(restart, into: &items) }
        flushMissing(into: &items)
        items.append(.line(line, place, clock: clock.time))
    }

    /// Records that two agents share this name, because lines of an earlier run have come.
    private mutating func contest(_ wall: Timestamp, into items: inout [Item]) {
        state.contest(at: wall)
        guard message != nil, !hosts.earlier.isEmpty else { return }
        let (one, other) = (Self.shown(hosts.earlier), Self.shown(hosts.current))
        complain(
            .conflict, "is the name of two agents, on the hosts \(one) and \(other): give one another --agent-name",
            into: &items)
    }

    /// Passes on its sources with valid names, up to the limit.
    private mutating func list(_ said: Line.Stats, into items: inout [Item]) {
        flushMissing(into: &items)
        var stats = said
        var named: Set<String> = []
        stats.sources = stats.sources.filter { NameRule.isValid($0.source) && named.insert($0.source).inserted }
        for index in stats.sources.indices where stats.sources[index].type.map({ !NameRule.isValid($0) }) == true {
            stats.sources[index].type = nil
        }
        // Only a complete list shows that other sources are gone.
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

    /// Handles the agent's report of its journal: lines of the previous run that have not arrived by then never will.
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
        marks.raise(to: LineID(run, last))
        lose(next...last, of: run, into: &items)
    }

    /// No number follows the greatest one, and lines up to it would never end.
    private mutating func complainOfNumber(into items: inout [Item]) {
        complain(.number, "counts up to \(Int.max), which is no number of a line: it is not taken", into: &items)
    }

    /// Refuses a line after the fact, because another source has its source's name.
    mutating func refuse(_ place: LineID, of source: String) -> [Item] {
        var items: [Item] = []
        let taken = "\(name).\(source)"
        complain(.taken, "has a source that another one here is called like: \(taken)", into: &items)
        lose(place.sequence...place.sequence, of: place.run, into: &items)
        flushMissing(into: &items)
        return items
    }

    private mutating func lose(_ numbers: ClosedRange<Int>, of run: String, into items: inout [Item]) {
        lost = lost.addingSaturated(numbers.upperBound - numbers.lowerBound).addingSaturated(1)
        if let (before, earlier) = missing {
            if before == run, earlier.upperBound + 1 == numbers.lowerBound {
                missing = (run, earlier.lowerBound...numbers.upperBound)
                return
            }
            flushMissing(into: &items)
        }
        missing = (run, numbers)
    }

    // MARK: News

    /// Returns the time to notify readers of a change to its sources. An agent may report changes at any rate, and each
    /// notifies all readers of all sources.
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

    /// The reason to refuse a line; nil when there is none.
    private mutating func refusal(of line: Line) -> (Refusal, message: String)? {
        if let fault = fault(in: line) { return fault }
        guard let source = line.source, addSource(source) else {
            return (.sources, "has more than \(mostSources) sources: lines of further ones are lost")
        }
        return nil
    }

    private static func shown(_ text: String) -> String { "\"\(Sanitizer.visible(text, limit: 64))\"" }

    /// The fault in a line that no agent would send; nil when there is none.
    private func fault(in line: Line) -> (Refusal, message: String)? {
        switch line.body {
        case .lost, .peer: return (.fleet, "sends what only a fleet says")
        case .latency where line.hasNoTime: return (.value, "says that an answer took a time that is none")
        default: break
        }
        guard let source = line.source, NameRule.isValid(source) else {
            return (.name, "names a source as no source is called: \(Self.shown(line.source ?? ""))")
        }
        if case .data(let data) = line.body {
            guard NameRule.isValid(line.type) else {
                return (.name, "has lines of a type as no type is called: \(Self.shown(line.type))")
            }
            guard source != EventStore.ownName else {
                return (.ownName, "sends data in the name of the agent itself")
            }
            guard SeriesName(data.series, of: source) != nil else {
                let (one, other) = (Self.shown(source), Self.shown(data.series))
                return (.series, "sends a series that is not of its source \(one): \(other)")
            }
        }
        return nil
    }
}
