import Feed
import Glibc
import Inputs
import Reactor
import TestSupport

/// Bytes as a stream that is read a piece at a time.
final class ByteSource: ByteStream {
    private let bytes: [UInt8]
    private let piece: Int
    private let end: SystemError?
    /// How much was read.
    private(set) var place = 0

    init(_ bytes: [UInt8], piece: Int = .max, end: SystemError? = nil) {
        (self.bytes, self.piece, self.end) = (bytes, piece, end)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if place == bytes.count, let end { throw end }
        let count = min(piece, buffer.count, bytes.count - place)
        buffer.copyBytes(from: bytes[place..<place + count])
        place += count
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        throw SystemError(code: EBADF, call: "write")
    }
    func waitUntilReadable() async throws(CancellationError) {}
    func waitUntilWritable() async throws(CancellationError) {}
    func waitUntilHungUp() async throws(CancellationError) {}
    func close() {}
}

/// A recording that is played back in virtual time, and what a reader that must get everything has of it.
final class ReplayStage: @unchecked Sendable {  // touched on one loop only
    struct Got: Sendable {
        /// When it came, since the start.
        var after: Duration
        /// What the store's clock showed then.
        var clock: Timestamp
        var text: String

        /// What is behind `"KEY":`, up to the next comma or brace.
        func raw(_ key: String) -> String? {
            guard let found = text.range(of: "\"\(key)\":") else { return nil }
            return String(text[found.upperBound...].prefix { $0 != "," && $0 != "}" })
        }

        var seq: Int? { raw("seq").flatMap { Int($0) } }
    }

    let loop: EventLoop
    let clock: ReplayClock
    let store: EventStore
    private(set) var got: [Got] = []
    private(set) var said: [String] = []
    private(set) var isCutShort = false
    private let start: LoopInstant
    /// How many events are taken.
    private let most: Int

    /// When the recordings of tests begin.
    static let began = Timestamp(seconds: 1_600_000_000)

    init(on loop: EventLoop, speed: ReplaySpeed, _ adjust: (inout FeedState.Limits) -> Void = { _ in }) {
        self.loop = loop
        start = loop.clock.now
        let wall = SteppedWallClock(following: loop.clock, startingAt: Timestamp(seconds: 1_800_000_000))
        clock = ReplayClock(on: loop, before: wall, speed: speed)
        var limits = FeedState.Limits()
        adjust(&limits)
        most = limits.data ?? .max
        store = EventStore(
            on: loop, wall: clock, identity: AgentIdentity(run: "own", version: "1", started: wall.now), limits: limits,
            isRecording: true)
    }

    /// Plays it back to its end, and reads all of it.
    ///
    /// - Parameter pause: how long the reader is away after each delivery.
    func play(_ stream: any ByteStream, from: Timestamp? = nil, reading pause: Duration = .zero) async throws {
        let stream = LoopBound(stream)
        let input = ReplayInput("the file", from: from, store: store, clock: clock, on: loop) { text, _ in
            self.said.append(text)
        } open: {
            stream
        }
        let (reader, greeting) = await store.open("reader", holdsInputs: true)
        note(greeting)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await input.run()
                self.isCutShort = await input.isCutShort
                await self.store.finish("end")
            }
            group.addTask {
                while true {
                    switch try await self.store.next(for: reader) {
                    case .lines(let span): self.note(span.withUnsafeBytes { Array($0) })
                    case .gap(let line), .greeting(let line), .ended(let line, _): self.note(line)
                    case .kept, .interrupted: break
                    case .end(let line): return self.note(line)
                    }
                    if pause > .zero { try await self.loop.sleep(for: pause) }
                }
            }
            // Whichever is first: an input that has ended ends the reader, one whose lines nobody takes is cancelled.
            try await group.next()
            if await store.counts.data >= most { group.cancelAll() }
            try await group.waitForAll()
        }
    }

    private func note(_ bytes: [UInt8]) {
        for line in bytes.split(separator: 0x0A) {
            got.append(
                Got(
                    after: start.duration(to: loop.clock.now), clock: clock.now,
                    text: String(decoding: line, as: UTF8.self)))
        }
    }

    /// The lines that have numbers.
    var numbered: [Got] { got.filter { $0.seq != nil } }
    var gaps: [String] {
        got.filter { $0.text.hasPrefix("{\"type\":\"gap\"") }.map { "\($0.raw("from") ?? "")-\($0.raw("to") ?? "")" }
    }
    var runs: [String] { got.filter { $0.text.hasPrefix("{\"type\":\"hello\"") }.compactMap { $0.raw("run") } }
}

/// Lines as an agent writes them.
enum Recorded {
    static func time(_ seconds: Double) -> String {
        let quoted = LineWriter.bytes(atMost: 29) { writer in
            var text = TimestampText()
            text.write(ReplayStage.began + .seconds(seconds), to: &writer)
        }
        return String(decoding: quoted, as: UTF8.self)
    }

    static func hello(_ run: String = "r1", at seconds: Double = 0, first: Int = 1) -> String {
        """
        {"type":"hello","time":\(time(seconds)),"format":1,"run":"\(run)","filtered":false,"interval_s":10,"history_s":120,\
        "first_seq":\(first),"next_seq":\(first),"host":{"name":"h"},"app":{"name":"catwatch"}}

        """
    }

    static func data(_ seq: Int, at seconds: Double, _ source: String = "fact", value: Int? = nil) -> String {
        """
        {"seq":\(seq),"time":\(time(seconds)),"type":"fact","source":"\(source)","series":"\(source)","value":\
        \(value ?? seq),"text":"no. \(seq)","data":{"n":\(seq)}}

        """
    }

    static func latency(_ seq: Int, at seconds: Double) -> String {
        """
        {"seq":\(seq),"time":\(time(seconds)),"type":"latency","source":"fact","endpoint":"GET http://a/b","status":200,\
        "ms":12.5,"dns_ms":0,"connect_ms":0,"tls_ms":0,"wait_ms":12,"receive_ms":0.5,"bytes":10,"reused":true,"late_ms":0}

        """
    }

    static func bye(_ run: String = "r1", at seconds: Double, last: Int, _ reason: String = "end") -> String {
        "{\"type\":\"bye\",\"time\":\(time(seconds)),\"run\":\"\(run)\",\"last_seq\":\(last),\"reason\":\"\(reason)\"}\n"
    }
}

extension StringProtocol {
    /// Where a text is first.
    fileprivate func range(of text: String) -> Range<Index>? {
        var place = startIndex
        while place < endIndex {
            if self[place...].hasPrefix(text) { return place..<index(place, offsetBy: text.count) }
            place = index(after: place)
        }
        return nil
    }
}
