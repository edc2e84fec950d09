internal import Reactor

/// The sources of a store, and their states.
struct SourceTable: Sendable {
    private struct Source: Sendable {
        let name: String
        /// The agent of a fleet that it belongs to, by index; −1 for our own sources.
        var owner: Int32 = -1
        /// `"type":"…","source":"…","series":"…`, without the closing quote.
        var prefix: [UInt8]
        var status: SourceStatus
        /// The meaning of its values, and the names of its bands as in lines.
        var bands: Bands?
        /// See `SourceDescription.keep`.
        var keep: Duration?
        /// Whether it is unlisted until it is registered again.
        var isRetired = false
        /// The time when it was released; nil while more data may come.
        var releasedAt: LoopInstant?
        /// The time of its last success, by a clock that does not step; nil if none.
        var heard: Timestamp?
        /// The last line included in its state, as another agent's `stats` gives it; older lines do not change it.
        var asOf = 0
        /// Whether data of a relayed feed has come since its last latency line.
        var hasNewData = false
        /// Whether it has ended by itself.
        var hasEnded = false
        /// Whether only an endpoint of a relayed feed names it, so that it is listed with its first line.
        var isImplied = false
        /// Whether it has given a complete answer.
        var givesWholeAnswers = false
        var answers = CodeTally()
        var errors = CodeTally()
    }

    struct Bands: Sendable {
        let scale: BandScale
        /// The names of the bands as JSON, quotes included.
        let labels: [Bytes]

        init(_ scale: BandScale) {
            self.scale = scale
            labels = scale.bands.map { Bytes(LineWriter.quoted($0.name)) }
        }
    }

    /// By index; nil for a free index.
    private var sources: [Source?] = []
    private var free: [Int] = []
    private var indices: [String: Int] = [:]
    /// Indices by the part of the name before the first dot, which in a fleet is the agent's name.
    private var heads: [String: [Int]] = [:]
    /// In the order they were first registered.
    private var order: [Int] = []
    /// In the order they were released.
    private var released: [Int] = []
    /// The number of sources that only endpoints name.
    private var implied = 0
    private var messageBytes = 0

    // Bound: name and type of a source | 1,024 bytes each | cut
    /// The size of reserved memory for names depends on this; real names are far shorter.
    private static let longestName = 1_024
    // Unit of a source: 32 bytes; cut.
    static let longestUnit = 32
    // Bound: a store's messages of failing sources | 1,000 characters each, 4 MiB in all; codes 64 bytes | cut; left
    //   out of `stats`
    private static let mostMessages = 4 << 20
    private static let longestCode = 64

    /// The states of the sources that are not retired, in the order they were first registered.
    var statuses: [SourceStatus] {
        order.compactMap { index in sources[index].flatMap { $0.isRetired ? nil : $0.status } }
    }

    /// The number of sources that were released and not forgotten yet.
    var releasedCount: Int { released.count }

    /// A source whose name starts with this agent's name and a dot.
    func source(headedBy agent: String) -> SourceID? { heads[agent]?.first.map { SourceID(index: $0) } }

    @inline(__always) func state(of source: SourceID) -> SourceStatus.State? { sources[source.index]?.status.state }
    @inline(__always) func name(of index: Int) -> String { sources[index]?.name ?? "" }
    /// `"type":"…","source":"…","series":"…`, without the closing quote.
    @inline(__always) func prefix(of index: Int) -> [UInt8] { sources[index]?.prefix ?? [] }
    /// The same with another type, if any.
    func prefix(of index: Int, type: String?) -> [UInt8] {
        type.map { Self.prefix(type: $0, source: name(of: index)) } ?? prefix(of: index)
    }
    @inline(__always) func owner(of source: Int) -> Int32 { sources[source]?.owner ?? -1 }
    mutating func setOwner(_ owner: MemberID, of source: SourceID) { sources[source.index]?.owner = Int32(owner.index) }
    /// The sources of an agent with this name.
    func sources(of owner: MemberID, named name: String) -> [SourceID] {
        (heads[name] ?? []).filter { self.owner(of: $0) == owner.index }.map { SourceID(index: $0) }
    }
    func type(of source: SourceID) -> String? { sources[source.index]?.status.type }
    func bands(of index: Int) -> Bands? { sources[index]?.bands }
    func rhythm(of index: Int) -> Rhythm { sources[index]?.status.rhythm ?? .stream }

    /// The state of a source that is listed.
    func status(of source: SourceID) -> SourceStatus? {
        sources[source.index].flatMap { $0.isRetired ? nil : $0.status }
    }

    /// Adds a source, or replaces the description of the one with this name.
    mutating func register(_ description: SourceDescription, at time: Timestamp) -> SourceID {
        let status = Self.status(description, since: time)
        let name = status.source
        var source = Source(
            name: name, prefix: Self.prefix(type: status.type ?? name, source: name), status: status,
            bands: description.bands.map { Bands($0) }, keep: description.keep)
        guard let index = indices[name], let known = sources[index] else { return add(source) }
        if known.releasedAt != nil { released.removeAll { $0 == index } }
        (source.owner, source.answers, source.errors) = (known.owner, known.answers, known.errors)
        source.givesWholeAnswers = known.givesWholeAnswers
        setFailure(nil, of: index)
        sources[index] = source
        return SourceID(index: index)
    }

    /// The status of a source that has just been described, with its texts cut.
    private static func status(_ description: SourceDescription, since time: Timestamp) -> SourceStatus {
        SourceStatus(
            source: LineEncoder.cut(description.name, at: longestName), state: .starting, since: time,
            type: LineEncoder.cut(description.type, at: longestName),
            unit: description.unit.map { LineEncoder.cut($0, at: longestUnit) }, bands: description.bands,
            valuePointer: description.valuePointer, rhythm: description.rhythm)
    }

    private mutating func add(_ source: Source) -> SourceID {
        let index = free.popLast() ?? sources.count
        indices[source.name] = index
        order.append(index)
        if let head = AgentName.split(source.name)?.agent { heads[head, default: []].append(index) }
        if index < sources.count { sources[index] = source } else { sources.append(source) }
        return SourceID(index: index)
    }

    // MARK: Sources of a relayed feed

    /// Returns the source with this name, added if it is new; nil when the limit is reached.
    ///
    /// - Parameter isListed: false for a source that only an endpoint names. There may be as many of these again.
    mutating func find(
        _ name: String, isListed: Bool, at time: Timestamp, atMost limit: Int
    ) -> SourceID? {
        if let known = source(named: name) {
            if isListed, sources[known.index]?.isImplied == true {
                sources[known.index]?.isImplied = false
                sources[known.index]?.isRetired = false
                implied -= 1
            }
            return known
        }
        guard (isListed ? sources.count - implied : implied) < limit else { return nil }
        if !isListed { implied += 1 }
        let name = LineEncoder.cut(name, at: Self.longestName)
        let status = SourceStatus(source: name, state: .starting, since: time)
        return add(
            Source(
                name: name, prefix: [], status: status, isRetired: !isListed,
                isImplied: !isListed))
    }

    /// Replaces the list of sources by an agent's; removes the descriptions of all others.
    ///
    /// - Parameters:
    ///   - asOf: the last line that the list includes.
    ///   - heard: the time of the last success for sources that are ok and of which nothing else is known.
    /// - Returns: whether a description has changed, and the number of sources without room.
    mutating func list(
        _ said: [SourceStatus], asOf: Int, heard: Timestamp?, at time: Timestamp,
        atMost limit: Int
    ) -> (isNews: Bool, refused: Int) {
        var (isNews, refused) = (false, 0)
        var listed: Set<Int> = []
        for var status in said {
            guard let id = find(status.source, isListed: true, at: time, atMost: limit),
                let known = sources[id.index]
            else {
                refused += 1
                continue
            }
            listed.insert(id.index)
            status.source = known.name
            status.type = status.type.map { LineEncoder.cut($0, at: Self.longestName) }
            if known.isRetired || !status.isDescribed(like: known.status) { isNews = true }
            status.since = status.since ?? (known.status.state == status.state ? known.status.since : time)
            sources[id.index]?.asOf = status.isWhole ? asOf : 0
            let failure = status.failure ?? (status.state == .failing ? known.status.failure : nil)
            status.failure = known.status.failure
            sources[id.index]?.status = status
            setFailure(failure, of: id.index)
            sources[id.index]?.isRetired = false
            sources[id.index]?.heard = status.answered ?? known.heard ?? (status.state == .ok ? heard : nil)
        }
        for index in sources.indices where !listed.contains(index) && sources[index]?.isRetired == false {
            guard let status = sources[index]?.status else { continue }
            sources[index]?.status = SourceStatus(
                source: status.source, state: status.state, since: status.since, failure: status.failure,
                answered: status.answered)
            sources[index]?.asOf = 0
            sources[index]?.isRetired = true
            isNews = true
        }
        return (isNews, refused)
    }

    // MARK: -

    /// The registered source with this name.
    func source(named name: String) -> SourceID? {
        indices[LineEncoder.cut(name, at: Self.longestName)].map { SourceID(index: $0) }
    }

    /// Replaces a source's description, keeps everything else, and lists it; returns whether that changes anything.
    mutating func describe(_ source: SourceID, as description: SourceDescription, at time: Timestamp) -> Bool {
        guard let known = sources[source.index] else { return false }
        if !known.isRetired, Self.status(description, since: time).isDescribed(like: known.status) { return false }
        _ = register(description, at: time)
        sources[source.index]?.status.state = known.status.state
        sources[source.index]?.status.since = known.status.since
        setFailure(known.status.failure, of: source.index)
        sources[source.index]?.status.answered = known.status.answered
        sources[source.index]?.heard = known.heard
        return true
    }

    mutating func retire(_ source: SourceID) { sources[source.index]?.isRetired = true }

    func isRetired(_ source: SourceID) -> Bool { sources[source.index]?.isRetired == true }

    /// Whether no more data comes from it, and it is only remembered.
    func isReleased(_ source: SourceID) -> Bool { sources[source.index]?.releasedAt != nil }

    /// Retires a source for good, because no more data comes from it.
    mutating func release(_ source: SourceID, at now: LoopInstant) {
        retire(source)
        guard let known = sources[source.index], known.releasedAt == nil else { return }
        sources[source.index]?.releasedAt = now
        released.append(source.index)
    }

    /// Lists a source again with its description, because more data has come from it.
    ///
    /// - Returns: whether it was retired.
    mutating func revive(_ source: SourceID) -> Bool {
        guard isRetired(source) else { return false }
        if isReleased(source) { released.removeAll { $0 == source.index } }
        sources[source.index]?.releasedAt = nil
        sources[source.index]?.isRetired = false
        return true
    }

    /// The sources released first, at most `count`, and before `time`; in the order of their release.
    func released(atMost count: Int = .max, before time: LoopInstant? = nil) -> ArraySlice<Int> {
        guard let time else { return released.prefix(count) }
        return released.prefix(count).prefix { index in sources[index]?.releasedAt.map { $0 < time } ?? true }
    }

    /// Forgets sources, whose indices are reused.
    mutating func remove(_ gone: Set<Int>) {
        for index in gone {
            setFailure(nil, of: index)
            if let name = sources[index]?.name {
                indices[name] = nil
                if let head = AgentName.split(name)?.agent {
                    heads[head]?.removeAll { $0 == index }
                    if heads[head]?.isEmpty == true { heads[head] = nil }
                }
            }
            sources[index] = nil
            free.append(index)
        }
        order.removeAll { gone.contains($0) }
        released.removeAll { gone.contains($0) }
    }

    mutating func setState(_ state: SourceStatus.State, of source: SourceID, _ wall: Timestamp) {
        guard self.state(of: source) != state else { return }
        sources[source.index]?.status.state = state
        sources[source.index]?.status.since = wall
        if state != .failing { setFailure(nil, of: source.index) }
    }

    /// Whether a line is not included in the state that another agent has given for a source.
    @inline(__always)
    func isNews(_ sequence: Int, of source: SourceID) -> Bool { sequence > sources[source.index]?.asOf ?? 0 }

    /// Sets a source's state to the one in another agent's `stats`.
    mutating func setState(_ status: SourceStatus, of source: SourceID, at time: Timestamp) {
        setState(status.state, of: source, status.since ?? time)
        if let failure = status.failure { setFailure(failure, of: source.index) }
        if let answered = status.answered { sources[source.index]?.status.answered = answered }
    }

    /// Replaces a source's failure, with its texts cut, and without its message when there is no room.
    private mutating func setFailure(_ failure: SourceFailure?, of index: Int) {
        messageBytes -= sources[index]?.status.failure?.message?.utf8.count ?? 0
        var failure = failure
        if var new = failure {
            new.code = LineEncoder.cut(new.code, at: Self.longestCode)
            new.message = new.message.flatMap { $0.isEmpty ? nil : LineEncoder.message($0) }
            let bytes = new.message?.utf8.count ?? 0
            if messageBytes + bytes > Self.mostMessages { new.message = nil } else { messageBytes += bytes }
            failure = new
        }
        sources[index]?.status.failure = failure
    }

    /// Whether a relayed line is from a good answer: it is data, or the first latency line behind data.
    @inline(__always)
    mutating func isAnswer(_ kind: PlainLine.Kind, of source: SourceID) -> Bool {
        let hasNewData = sources[source.index]?.hasNewData == true
        if hasNewData != (kind == .data) { sources[source.index]?.hasNewData = kind == .data }
        return kind == .data || hasNewData
    }

    /// Sets the pointer to a source's values.
    mutating func setValuePointer(_ pointer: String, of source: SourceID) {
        sources[source.index]?.status.valuePointer = pointer
    }

    /// Records a source's success.
    ///
    /// - Parameter time: by a clock that does not step: the loop's, or that of the agent whose feed is relayed.
    /// - Parameter answered: the time of the answer by the wall clock, if it was one.
    @inline(__always)
    mutating func hear(from source: SourceID, at time: Timestamp, answered: Timestamp? = nil) {
        sources[source.index]?.heard = time
        if let answered { sources[source.index]?.status.answered = answered }
    }

    mutating func fail(_ source: SourceID, by failure: SourceFailure, at time: Timestamp) {
        setState(.failing, of: source, time)
        setFailure(failure, of: source.index)
    }

    /// Records that a source has ended by itself.
    mutating func setEnded(of source: SourceID) { sources[source.index]?.hasEnded = true }

    mutating func countAnswer(_ status: Int, from source: SourceID) {
        sources[source.index]?.answers.add(String(status))
    }

    /// Records that a source has given a complete answer.
    mutating func completeAnswer(of source: SourceID) { sources[source.index]?.givesWholeAnswers = true }

    /// Whether a source has given a complete answer, so that its lines tell which of its series are gone.
    func givesWholeAnswers(_ source: Int) -> Bool { sources[source]?.givesWholeAnswers == true }

    /// See `SourceDescription.keep`.
    func keep(_ source: Int) -> Duration? { sources[source]?.keep }

    mutating func countError(_ code: String, of source: SourceID) {
        sources[source.index]?.errors.add(code)
    }

    /// The metrics of all sources, retired ones included.
    ///
    /// - Parameter window: the width of windows of sources without a longer rhythm.
    func numbers(at time: Timestamp, window: Duration) -> [SourceNumbers] {
        sources.compactMap { source in
            guard let source else { return nil }
            let timeliness = Timeliness(
                state: source.status.state, code: source.status.failure?.code, rhythm: source.status.rhythm,
                silence: source.heard.map { max(.zero, time - $0) }, hasEnded: source.hasEnded, window: window)
            let span = WindowSpan(source.status.rhythm, interval: window, history: .zero)
            return SourceNumbers(
                name: source.name, state: source.status.state, timeliness: timeliness, window: span.width,
                isListed: !source.isRetired, answers: source.answers, errors: source.errors)
        }
    }

    /// `"type":"…","source":"…","series":"…`, without the closing quote.
    private static func prefix(type: String, source: String) -> [UInt8] {
        let most = 64 + LineWriter.mostEscaped(type.utf8.count + 2 * source.utf8.count)
        let names = LineWriter.bytes(atMost: most) { writer in
            writer.raw("\"type\":")
            writer.string(type)
            writer.string("source", source)
            writer.string("series", source)
        }
        return Array(names.dropLast())
    }
}
