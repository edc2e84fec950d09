internal import Reactor
internal import WebSocket

/// A client of `/aqi`, from the handshake on. Used on the loop's thread only.
final class AirQualitySession {
    private let order: AirQualityOrder
    private let stream: any ByteStream
    private let loop: EventLoop
    private let air: SharedAirQuality
    private let hasUnsent: Wakeup
    private var timer: LoopTimer?
    private var decoder = FrameDecoder(role: .server, limit: 64 << 10)
    private var walk: AirQuality?
    private var sent = 0
    private var begin = LoopInstant(nanoseconds: 0)
    private var unsent: [UInt8] = []
    private var isOver = false
    /// Whether to close the connection once everything is sent.
    private var isEnding = false
    private var isMute = false

    // Bound: bytes waiting for a WebSocket client of the stand-in | 256 KiB of messages, 512 KiB with answers to pings
    //   | it misses messages
    private static let mostUnsent = 256 << 10
    /// Messages that are due more often are sent together.
    private static let shortestPause = Duration.milliseconds(5)

    init(_ order: AirQualityOrder, over stream: any ByteStream, on loop: EventLoop, _ air: SharedAirQuality) {
        self.order = order
        self.stream = stream
        self.loop = loop
        self.air = air
        hasUnsent = Wakeup(loop: loop)
        if order.rate > 1 || order.isSingle { walk = air.fresh }
    }

    /// Sends until either side closes the connection.
    func run() async {
        begin = loop.clock.now
        sendFault()
        tick()
        let session = LoopBound(self)
        await withTaskGroup { group in
            group.addTask { await session.value.receive() }
            group.addTask { await session.value.sendWhatIsLeft() }
        }
    }

    /// Closes the connection.
    ///
    /// - Parameter telling: whether to send a close frame, if there is room for one.
    func close(telling: Bool = false) {
        guard !isOver else { return }
        if telling, unsent.isEmpty, !isEnding {
            FrameEncoder.appendClose(.goingAway, key: nil, to: &unsent)
            flush()
            guard !isOver else { return }
        }
        isOver = true
        stream.close()
        hasUnsent.open()
        if let timer { loop.cancel(timer) }
    }

    // MARK: Receiving

    private func receive() async {
        let buffer = ReadBuffer(count: 4_096)
        do {
            while !isOver {
                guard let count = try stream.read(into: buffer.memory) else {
                    try await stream.waitUntilReadable()
                    continue
                }
                if count == 0 { break }
                handle(UnsafeRawBufferPointer(rebasing: buffer.memory[..<count]))
                if count == buffer.memory.count { try await loop.sleep(for: .zero) }
            }
        } catch {}  // it is gone
        close()
    }

    private func handle(_ bytes: UnsafeRawBufferPointer) {
        guard !isMute else { return }
        var input = bytes
        do throws(WebSocketFault) {
            while !isOver, let item = try decoder.next(from: &input) {
                switch item {
                case .text, .binary, .pong: continue
                case .ping(let payload): send(.pong, payload)
                case .close(let code, _): end(code ?? .normal)
                }
            }
        } catch {
            end(error.closeCode, error.message)
        }
    }

    // MARK: Sending

    private func tick() {
        timer = nil
        guard !isOver, !isEnding, !isMute else { return }
        let now = loop.clock.now
        let due = Int(begin.duration(to: now).nanoseconds * Int64(order.rate) / 1_000_000_000) + 1
        while sent < due, !isOver, !isEnding, !isMute {
            sent += 1
            endByFault()
            if !isOver, !isEnding, !isMute, unsent.count < Self.mostUnsent { sendMessage() }
        }
        guard !isOver, !isEnding, !isMute else { return }
        let next = begin.advanced(by: .nanoseconds(Int64(sent) * 1_000_000_000 / Int64(order.rate)))
        timer = loop.schedule(at: max(next, now.advanced(by: Self.shortestPause))) { [unowned self] in tick() }
    }

    private func sendMessage() {
        if sent > 1 { walk?.advance() }
        let air = walk ?? self.air.now
        let message = order.isSingle ? air.json(of: (sent - 1) % AirQuality.cities.count) : air.json
        switch order.fault {
        case .fragmented(let size): sendFragments(message, size)
        case .text:
            send(.text, Array("<html>not JSON</html>".utf8))
            send(.text, message)
        default: send(.text, message)
        }
    }

    private func sendFragments(_ message: [UInt8], _ size: Int) {
        var rest = message[...]
        var opcode = Opcode.text
        while rest.count > size {
            FrameEncoder.append(opcode, rest.prefix(size), isFinal: false, key: nil, to: &unsent)
            FrameEncoder.append(.ping, [1], key: nil, to: &unsent)
            rest = rest.dropFirst(size)
            opcode = .continuation
        }
        FrameEncoder.append(opcode, rest, key: nil, to: &unsent)
        flush()
    }

    /// Sends a fault that occurs at once.
    private func sendFault() {
        switch order.fault {
        case .large(let bytes):
            unsent += [0x81, 127] + withUnsafeBytes(of: UInt64(bytes).bigEndian) { Array($0) }
            unsent += [UInt8](repeating: UInt8(ascii: " "), count: min(bytes, 1_000))
        case .utf8: FrameEncoder.append(.text, [0x22, 0xC3, 0x28, 0x22], key: nil, to: &unsent)
        case .masked: FrameEncoder.append(.text, Array("[]".utf8), key: 0x0102_0304, to: &unsent)
        case .garbage: unsent += HostileJSON.noise
        default: return
        }
        flush()
    }

    /// Triggers a fault that occurs after some messages; `sent` includes the one that is due.
    private func endByFault() {
        switch order.fault {
        case .close(let code, let reason, let after) where sent > after:
            end(CloseCode(rawValue: code), reason)
        case .drop(let after) where sent > after: close()
        case .silence(let after) where sent > after: isMute = true
        default: return
        }
    }

    private func send(_ opcode: Opcode, _ payload: [UInt8]) {
        guard !isEnding, unsent.count < 2 * Self.mostUnsent else { return }  // a client that pings and does not read
        FrameEncoder.append(opcode, payload, key: nil, to: &unsent)
        flush()
    }

    /// Sends a close frame, and closes once that is sent, without waiting for an answer.
    private func end(_ code: CloseCode, _ reason: String = "") {
        guard !isEnding else { return }
        FrameEncoder.appendClose(code, reason, key: nil, to: &unsent)
        isEnding = true
        flush()
    }

    private func flush() {
        guard !isOver else { return }
        do {
            while !unsent.isEmpty {
                let count = try unsent.withUnsafeBytes { try stream.write($0) }
                guard count > 0 else { return hasUnsent.signal() }
                unsent.removeFirst(count)
            }
        } catch {
            return close()
        }
        if isEnding { close() }
    }

    private func sendWhatIsLeft() async {
        while !isOver {
            guard (try? await hasUnsent.wait()) != nil else { return }
            while !unsent.isEmpty, !isOver {
                guard (try? await stream.waitUntilWritable()) != nil else { return }
                flush()
            }
        }
    }
}
