import Reactor
import TestSupport
import Testing

@testable import Feed

@Suite(.limited) struct LineEncoderTests {
    private let time = Timestamp(microseconds: 1_735_787_045_678_901)
    static let hostile = "a\"b\\c\n\u{1}\u{7F}\u{202E}\u{1B}[2J</script>é🐈"

    /// One line, which must keep to what was reserved, be one line, and have the keys of the schema.
    private func line(
        atMost most: Int, _ encode: (inout LineEncoder, LineWriter) -> LineWriter
    ) throws -> Line {
        var encoder = LineEncoder()
        let bytes = try #require(GuardedMemory.bytes(atMost: most) { $0 = encode(&encoder, $0) })
        #expect(bytes.last == 0x0A && bytes.count { $0 == 0x0A } == 1)
        #expect(try LineSchema().faults(of: bytes) == [])
        return try LineDecoder.decode(bytes[...])
    }

    private static let sample = LatencySample(
        endpoint: "GET https://catfact.ninja/fact", status: 200, ms: 132.412, dns: 1.1, connect: 20.3, tls: 41,
        wait: 69.5, receive: 0.5, bytes: 178, reused: true, late: 0.2)

    @Test(arguments: ["fact", "", hostile, String(repeating: "\u{1}", count: 1_000)])
    func writesLatencies(source: String) throws {
        var sample = Self.sample
        sample.endpoint = "GET \(source)"
        let line = try line(
            atMost: LineEncoder.most(source.utf8.count, sample.endpoint.utf8.count)
        ) { $0.line(sample, sequence: 2, time: time, source: source, to: $1) }
        #expect(line == Line(seq: 2, time: time, type: "latency", source: source, body: .latency(sample)))
    }

    /// Escaped, the longer text has more bytes than the room for keys and numbers.
    @Test(arguments: ["", String(repeating: "\u{1}", count: 150)])
    func keepsToItsReserveWithTheLongestNumbersAndTexts(text: String) throws {
        let most = 1e12 - 0.0001
        let sample = LatencySample(
            endpoint: text, status: .min, ms: most, dns: most, connect: most, tls: most, wait: most, receive: most,
            bytes: .max, reused: false, late: most)
        var counts = StoreCounts()
        counts.readers = .max
        counts.gaps = .max
        counts.stalledReaders = .max
        counts.late = .max
        counts.future = .max
        counts.series = .max
        counts.refusedSeries = .max
        counts.refusedEndpoints = .max
        let output = Line.Output(output: text, state: text, behind: .min, durable: .max)
        let host = AgentIdentity.Host(name: text, device: text, os: text, kernel: text, arch: text)
        let peer = Line.Peer(
            state: text, since: time, heard: time, run: text, host: host,
            app: Line.App(name: text, version: text, started: time), skew: -2.2250738585072014e-308, lost: .max)
        expectRoom(for: sample)
        expectRoom(for: MemorySample(resident: .min, peak: .min, privateBytes: .min))
        expectRoom(for: Failure(.init(rawValue: text), text, endpoint: text, attempt: .min, retryIn: .seconds(1 << 50)))
        expectRoom(for: Progress(done: .min, total: .min, page: .min))
        expectRoom(for: Recovery(down: .seconds(1e9), attempts: .min))
        expectRoom(for: Restart(lastRun: text, lastSequence: .min, ended: text))
        expectRoom(for: Lost(run: text, numbers: .min ... .max))
        expectRoom(for: peer)
        for outputs in 0..<20 {
            expectRoom(
                for: Line.Agent(
                    AgentSample(loopLag: most, cpu: most), counts, events: .min,
                    outputs: Array(repeating: output, count: outputs)))
        }
        var encoder = LineEncoder()
        let time = time
        let window = Window(
            index: 1, value: -2.2250738585072014e-308, time: Timestamp(microseconds: .min), sequence: .max)
        #expect(
            GuardedMemory.bytes(atMost: LineEncoder.most(0)) { writer in
                writer = encoder.window(
                    window, width: .max, sequence: .max, time: time, names: .init(start: nil, count: 0), to: writer)
            } != nil)
    }

    private func expectRoom(for body: some LineBody) {
        var encoder = LineEncoder()
        encoder.setTail(Array(",\"agent\":\"a\"".utf8))
        let time = time
        let line = GuardedMemory.bytes(atMost: encoder.most(body, source: "")) { writer in
            writer = encoder.line(body, sequence: .max, time: time, source: "", to: writer)
        }
        #expect(line != nil, "\(body)")
    }

    @Test func reservesEnoughForTheLongestBand() {
        let time = Timestamp(microseconds: .max)
        let band = Bytes(repeating: UInt8(ascii: "b"), count: 386)
        var window = Window(
            index: 1, value: -2.2250738585072014e-308, time: Timestamp(microseconds: .min), sequence: .max)
        window.trend = .deteriorating
        var encoder = LineEncoder()
        #expect(
            GuardedMemory.bytes(atMost: LineEncoder.mostWindow(names: 0, band: band.count)) { writer in
                writer = encoder.window(
                    window, width: .max, sequence: .max, time: time, names: .init(start: nil, count: 0), band: band,
                    to: writer)
            } != nil)
    }

    @Test func writesMemory() throws {
        let sample = MemorySample(resident: 14_680_064, peak: 15_728_640, privateBytes: .max)
        let line = try line(
            atMost: LineEncoder.most(8)
        ) { $0.line(sample, sequence: .max, time: time, source: "catwatch", to: $1) }
        #expect(line == Line(seq: .max, time: time, type: "memory", source: "catwatch", body: .memory(sample)))
    }

    @Test(arguments: [
        Failure(.timeout, "no answer from catfact.ninja within 10 s"),
        Failure(.connect, hostile, endpoint: hostile, attempt: 3, retryIn: .milliseconds(4_180)),
        Failure(.init(rawValue: hostile), "", attempt: .max, retryIn: .zero),
        Failure(.status, "", endpoint: ""),
    ])
    func writesFailures(failure: Failure) throws {
        let most = LineEncoder.most(
            4, failure.endpoint?.utf8.count ?? 0, failure.code.rawValue.utf8.count, failure.message.utf8.count)
        let line = try line(atMost: most) {
            $0.line(failure, sequence: 5, time: time, source: "fact", to: $1)
        }
        #expect(line == Line(seq: 5, time: time, type: "error", source: "fact", body: .error(failure)))
    }

    @Test func saysThatARetryThatIsDueComesAtOnce() throws {
        let failure = Failure(.reset, "", retryIn: .milliseconds(-3))
        let line = try line(
            atMost: LineEncoder.most(20)
        ) { $0.line(failure, sequence: 1, time: time, source: "fact", to: $1) }
        #expect(line.body == .error(Failure(.reset, "", retryIn: .zero)))
    }

    @Test(arguments: [98, nil] as [Int?])
    func writesProgress(total: Int?) throws {
        let progress = Progress(done: 60, total: total, page: 2)
        let line = try line(atMost: LineEncoder.most(6)) {
            $0.line(progress, sequence: 6, time: time, source: "breeds", to: $1)
        }
        #expect(line == Line(seq: 6, time: time, type: "progress", source: "breeds", body: .progress(progress)))
    }

    @Test(arguments: [
        (Duration.milliseconds(13_204), 6, "13.204"), (.zero, 1, "0"), (.microseconds(1_999_500), 2, "2"),
        (.seconds(-3), .max, "0"),
    ])
    func writesRecoveriesToTheMillisecond(down: Duration, attempts: Int, text: String) throws {
        var encoder = LineEncoder()
        let bytes = try #require(
            GuardedMemory.bytes(atMost: LineEncoder.most(4)) {
                $0 = encoder.line(
                    Recovery(down: down, attempts: attempts), sequence: 7, time: time, source: "fact", to: $0)
            })
        let expected = #"{"seq":7,"time":"2025-01-02T03:04:05.678901Z","type":"recovered","source":"fact","#
        #expect(String(decoding: bytes, as: UTF8.self) == expected + "\"down_s\":\(text),\"attempts\":\(attempts)}\n")
    }

    @Test(arguments: [
        Restart(), Restart(lastRun: "a-1", lastSequence: 0),
        Restart(lastRun: String(repeating: "r", count: 64), lastSequence: .max, ended: hostile),
    ])
    func writesWhatTheJournalHasOfTheRunBefore(restart: Restart) throws {
        let texts = (restart.lastRun ?? "").utf8.count + (restart.ended ?? "").utf8.count
        let line = try line(atMost: LineEncoder.most("catwatch".utf8.count, texts)) {
            $0.line(restart, sequence: 1, time: time, source: "catwatch", to: $1)
        }
        #expect(line == Line(seq: 1, time: time, type: "restart", source: "catwatch", body: .restart(restart)))
    }

    @Test(arguments: [10_000_000, 500_000, 1, 3_600_000_000] as [Int64])
    func writesWindows(width: Int64) throws {
        let index = time.microseconds / width
        let window = Window(index: index, value: 106.25, time: time, sequence: 41)
        let names = Array(#""source":"fact","series":"fact/\"é""#.utf8)
        let line = try names.withUnsafeBufferPointer { names in
            try self.line(
                atMost: LineEncoder.most(names.count)
            ) { $0.window(window, width: width, sequence: 42, time: time, names: names, to: $1) }
        }
        guard case .window(let read) = line.body else {
            Issue.record("\(line)")
            return
        }
        #expect(line.seq == 42 && line.time == time && line.type == "window" && line.source == "fact")
        #expect(read.series == "fact/\"é" && read.start == Timestamp(microseconds: index * width))
        #expect(read.width == .microseconds(width) && read.last == 106.25 && read.lastSeq == 41 && read.count == 1)
        #expect(read.min == 106.25 && read.max == 106.25 && read.mean == 106.25)
    }

    @Test(arguments: [
        [], [Line.Output(output: "stdout", state: "ok", behind: 0)],
        [
            Line.Output(output: hostile, state: hostile, behind: .max, durable: .max),
            Line.Output(output: String(repeating: "\u{2}", count: 500), state: "", behind: 3),
        ],
    ])
    func writesTheAgentsOwnLine(outputs: [Line.Output]) throws {
        var counts = StoreCounts()
        counts.data = 1
        counts.readers = 2
        counts.gaps = 3
        counts.stalledReaders = 8
        counts.late = 4
        counts.future = 5
        counts.series = 6
        counts.refusedSeries = 7
        let body = Line.Agent(AgentSample(loopLag: 0.3, cpu: 41), counts, events: 90, outputs: outputs)
        var tree: JSONTree?
        let line = try line(atMost: LineEncoder().most(body, source: "catwatch")) {
            let start = $1.next
            let end = $0.line(body, sequence: 91, time: time, source: "catwatch", to: $1)
            tree = JSONTree(Array(UnsafeBufferPointer(start: start, count: end.next - start - 1)))
            return end
        }
        guard case .agent(let agent) = line.body else {
            Issue.record("\(line)")
            return
        }
        #expect(line.seq == 91 && line.time == time && line.source == "catwatch")
        #expect(agent.events == 90 && agent.readers == 2 && agent.gaps == 3 && agent.late == 4)
        #expect(agent.series == 6 && agent.refusedSeries == 7 && agent.loopLag == 0.3 && agent.cpu == 41)
        #expect(tree?.values[7].raw == [UInt8(ascii: "8")] && tree?.values[9].raw == [UInt8(ascii: "5")])
        #expect(agent.outputs == outputs)
    }
}
