import TestSupport
import Testing
import WebSocket

@Suite(.limited) struct FrameDecoderTests {
    /// RFC 6455, section 5.7, and what it leaves out.
    static let fromServer: [(name: String, bytes: [UInt8], steps: [DecoderTrace.Step])] = [
        ("a text", [0x81, 0x05] + Array("Hello".utf8), [.text("Hello")]),
        ("fragments", [0x01, 0x03] + Array("Hel".utf8) + [0x80, 0x02] + Array("lo".utf8), [.text("Hello")]),
        ("a ping", [0x89, 0x05] + Array("Hello".utf8), [.ping(Array("Hello".utf8))]),
        ("a pong without payload", [0x8A, 0x00], [.pong([])]),
        ("an empty text", [0x81, 0x00], [.text("")]),
        ("an empty fragment", [0x02, 0x00, 0x80, 0x01, 7], [.binary([7])]),
        (
            "126 bytes", [0x82, 126, 0, 126] + [UInt8](repeating: 1, count: 126),
            [.binary(.init(repeating: 1, count: 126))]
        ),
        (
            "65,536 bytes", [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0] + [UInt8](repeating: 2, count: 65_536),
            [.binary(.init(repeating: 2, count: 65_536))]
        ),
        (
            "a ping and a pong between fragments",
            [0x01, 0x01, 0xC3, 0x89, 0x01, 9, 0x00, 0x01, 0xA9, 0x8A, 0x00, 0x80, 0x00],
            [.ping([9]), .pong([]), .text("é")]
        ),
        ("a close without a code", [0x88, 0x00], [.close(nil, "")]),
        ("a close", [0x88, 0x05, 0x03, 0xE9] + Array("bye".utf8), [.close(1001, "bye")]),
        ("nothing after a close", [0x88, 0x00, 0xFF, 0xFF, 0xFF, 0x81], [.close(nil, "")]),
        ("two messages", [0x81, 0x01, 0x61, 0x82, 0x01, 0x62], [.text("a"), .binary([0x62])]),
    ]

    @Test(arguments: fromServer.indices)
    func readsExamples(index: Int) {
        let example = Self.fromServer[index]
        let trace = DecoderTrace(role: .client, example.bytes)
        #expect(trace.steps == example.steps && trace.fault == nil && !trace.isInside, "\(example.name)")
    }

    @Test func readsEveryPrefixAndEverySplit() {
        for example in Self.fromServer where example.bytes.count < 200 {
            let bytes = example.bytes
            for end in 0..<bytes.count {
                let prefix = DecoderTrace(role: .client, Array(bytes[..<end]))
                #expect(prefix.fault == nil && example.steps.starts(with: prefix.steps), "\(example.name), \(end)")
                let split = DecoderTrace(role: .client, [bytes[..<end], bytes[end...]])
                #expect(split.steps == example.steps && split.fault == nil, "\(example.name), \(end)")
            }
            let single = DecoderTrace(role: .client, bytes.indices.map { bytes[$0...$0] })
            #expect(single.steps == example.steps, "\(example.name)")
        }
    }

    @Test func readsTheMaskedExampleAsAServer() {
        let bytes: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        for end in bytes.indices {
            #expect(DecoderTrace(role: .server, [bytes[..<end], bytes[end...]]).steps == [.text("Hello")])
        }
    }

    /// What must be refused, at which byte at the latest (the rest is not looked at), and with which code.
    static let faults: [(name: String, role: Role, bytes: [UInt8], code: UInt16)] = [
        ("a reserved bit", .client, [0xC1], 1002), ("another", .client, [0xA1], 1002),
        ("the third", .client, [0x91], 1002),
        ("a reserved kind", .client, [0x83], 1002), ("a reserved control", .client, [0x8B], 1002),
        ("a masked frame of a server", .client, [0x81, 0x85], 1002),
        ("an unmasked frame of a client", .server, [0x81, 0x05], 1002),
        ("a fragmented ping", .client, [0x09], 1002), ("a fragmented close", .client, [0x08], 1002),
        ("a long ping", .client, [0x89, 126], 1002), ("a longer close", .client, [0x88, 127], 1002),
        ("a continuation of nothing", .client, [0x80], 1002),
        ("a text within a text", .client, [0x01, 0x01, 0x61, 0x81], 1002),
        ("a continuation of what is complete", .client, [0x81, 0x00, 0x80], 1002),
        ("2^63 bytes", .client, [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002),
        ("2^63 - 1 bytes", .client, [0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], 1009),
        ("one byte too many", .client, [0x82, 126, 0x04, 0x01], 1009),
        (
            "one byte too many, in a fragment", .client,
            [0x02, 126, 0x04, 0x00] + .init(repeating: 0, count: 1_024) + [0x80, 1], 1009
        ),
        ("a length of 125 in two bytes", .client, [0x82, 126, 0, 125], 1002),
        ("a length of 65,535 in eight", .client, [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 1002),
        ("half a close code", .client, [0x88, 1, 3], 1002),
        ("the close code 999", .client, [0x88, 2, 3, 231], 1002),
        ("the close code 1005", .client, [0x88, 2, 3, 237], 1002),
        ("the close code 1015", .client, [0x88, 2, 3, 247], 1002),
        ("the close code 2999", .client, [0x88, 2, 11, 183], 1002),
        ("the close code 5000", .client, [0x88, 2, 19, 136], 1002),
        ("a reason that is not UTF-8", .client, [0x88, 3, 3, 232, 0xFF], 1007),
        ("a byte that no text has", .client, [0x81, 0x05, 0x61, 0xFF], 1007),
        ("a surrogate, before its third byte", .client, [0x81, 0x05, 0xED, 0xA0], 1007),
        ("an overlong form, before its third byte", .client, [0x81, 0x05, 0xE0, 0x80], 1007),
        ("a wrong byte in a later fragment", .client, [0x01, 0x01, 0xC3, 0x00, 0x05, 0x28], 1007),
        ("text that ends within a character", .client, [0x81, 0x01, 0xC3], 1007),
        ("text whose last fragment ends within one", .client, [0x01, 0x01, 0x61, 0x80, 0x01, 0xC3], 1007),
    ]

    @Test(arguments: faults.indices)
    func refusesAtOnce(index: Int) {
        let example = Self.faults[index]
        let before = DecoderTrace(role: example.role, limit: 1_024, Array(example.bytes.dropLast()))
        #expect(before.fault == nil, "\(example.name)")
        let trace = DecoderTrace(role: example.role, limit: 1_024, example.bytes)
        #expect(trace.fault?.closeCode.rawValue == example.code, "\(example.name)")
        let single = DecoderTrace(
            role: example.role, limit: 1_024, example.bytes.indices.map { example.bytes[$0...$0] })
        #expect(single.fault == trace.fault, "\(example.name)")
    }

    @Test(arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1011, 1014, 3000, 4999] as [UInt16])
    func takesCloseCodesThatMeanSomething(code: UInt16) {
        let bytes = [0x88, 0x02, UInt8(code >> 8), UInt8(code & 0xFF)]
        #expect(DecoderTrace(role: .client, bytes).steps == [.close(code, "")])
    }

    /// Of parts with something in them the message's own limit is the end.
    @Test func emptyPartsHaveABoundToo() {
        let message = [[0x01, 0x00]] + [[UInt8]](repeating: [0x00, 0x00], count: 1_023)
        let end: [UInt8] = [0x80, 0x00]
        let most = DecoderTrace(role: .client, limit: 10, message.joined() + end + message.joined() + end)
        #expect(most.steps == [.text(""), .text("")] && most.fault == nil)
        #expect(DecoderTrace(role: .client, limit: 10, message.joined() + [0, 0]).fault?.closeCode == .tooBig)
    }

    @Test func repeatsItsFault() {
        var decoder = FrameDecoder(role: .client, limit: 10)
        var faults: [WebSocketFault] = []
        for bytes in [[0x83], [0x81, 0x00]] as [[UInt8]] {
            bytes.withUnsafeBytes { bytes in
                var input = bytes
                do throws(WebSocketFault) {
                    _ = try decoder.next(from: &input)
                } catch {
                    faults.append(error)
                }
            }
        }
        #expect(faults.count == 2 && faults.first == faults.last)
    }

    // MARK: Against a twin

    /// What is sent, and what should come of it.
    private static func conversation(
        _ random: inout SeededGenerator, masked: Bool
    ) -> (bytes: [UInt8], steps: [DecoderTrace.Step]) {
        var bytes: [UInt8] = []
        var steps: [DecoderTrace.Step] = []
        func key() -> UInt32? { masked ? random.next() : nil }
        func control() {
            let payload = (0..<Int.random(in: 0...125, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let isPing = Bool.random(using: &random)
            FrameEncoder.append(isPing ? .ping : .pong, payload, key: key(), to: &bytes)
            steps.append(isPing ? .ping(payload) : .pong(payload))
        }
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            if Int.random(in: 0..<3, using: &random) == 0 { control() }
            let isText = Bool.random(using: &random)
            let size = [0, 5, 125, 126, 300, 70_000].randomElement(using: &random) ?? 0
            var payload: [UInt8] = []
            while payload.count < size {
                let text = ["a", "é", "€", "😀", "plain words "].randomElement(using: &random) ?? ""
                payload += isText ? Array(text.utf8) : [UInt8.random(in: 0...255, using: &random)]
            }
            var rest = payload[...]
            var opcode = isText ? Opcode.text : .binary
            while Int.random(in: 0..<3, using: &random) > 0 {
                let part = rest.prefix(Int.random(in: 0...max(1, rest.count), using: &random))
                FrameEncoder.append(opcode, part, isFinal: false, key: key(), to: &bytes)
                rest = rest.dropFirst(part.count)
                opcode = .continuation
                if Int.random(in: 0..<3, using: &random) == 0 { control() }
            }
            FrameEncoder.append(opcode, rest, key: key(), to: &bytes)
            steps.append(isText ? .text(String(decoding: payload, as: UTF8.self)) : .binary(payload))
        }
        if Bool.random(using: &random) {
            FrameEncoder.appendClose(.goingAway, "enough", key: key(), to: &bytes)
            steps.append(.close(1001, "enough"))
        }
        return (bytes, steps)
    }

    private static func pieces(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [ArraySlice<UInt8>] {
        var rest = bytes[...]
        var pieces: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            let longest = [1, 3, 20, 5_000].randomElement(using: &random) ?? 1
            let piece = rest.prefix(Int.random(in: 1...longest, using: &random))
            pieces.append(piece)
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    @Test(arguments: Role.allCases)
    func givesBackWhatWasEncoded(role: Role) {
        for seed in 1...UInt64(LongRun.rounds(short: 8, long: 2_000)) {
            var random = SeededGenerator(seed: seed)
            let (bytes, steps) = Self.conversation(&random, masked: role == .server)
            let trace = DecoderTrace(role: role, limit: 1 << 17, Self.pieces(bytes, &random))
            #expect(trace.steps == steps && trace.fault == nil && !trace.isInside, "seed \(seed)")
        }
    }

    /// Damaged bytes: it comes to the same however they are cut, and holds no more than it may.
    @Test(arguments: Role.allCases)
    func makesTheSameOfDamageHoweverItIsCut(role: Role) {
        var faults = 0
        for seed in 1...UInt64(LongRun.rounds(short: 60, long: 20_000)) {
            var random = SeededGenerator(seed: seed)
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let payload = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                    UInt8.random(in: 0x61...0x7A, using: &random)
                }
                let opcode = Opcode.allCases.filter { $0 != .close }.randomElement(using: &random) ?? .text
                FrameEncoder.append(opcode, payload, key: role == .server ? random.next() : nil, to: &bytes)
            }
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            let whole = DecoderTrace(role: role, limit: 30, bytes)
            let cut = DecoderTrace(role: role, limit: 30, Self.pieces(bytes, &random))
            #expect(whole == cut, "seed \(seed)")
            faults += whole.fault == nil ? 0 : 1
        }
        #expect(faults > 0)
    }
}
