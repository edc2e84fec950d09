internal import CMicroHTTPD
internal import Glibc
internal import Reactor
internal import WebSocket

/// One client of `/aqi`, from the handshake on: without tasks, as everything here, on the loop's thread alone.
final class AirQualitySession {
    private let order: AirQualityOrder
    private let socket: Int32
    private let handle: OpaquePointer
    private unowned let daemon: HTTPDaemon
    private var watch: Watch?
    private var timer: LoopTimer?
    private var decoder = FrameDecoder(role: .server, limit: 64 << 10)
    private var walk: AirQuality?
    private var sent = 0
    private var begin = LoopInstant(nanoseconds: 0)
    private var unsent: [UInt8] = []
    private var isOver = false
    /// Whether the connection ends once everything is sent.
    private var isEnding = false
    private var isMute = false

    /// What a client that does not read can have waiting for it, in bytes; it misses what would come on top.
    private static let mostUnsent = 256 << 10
    /// Messages that are due more often than that are sent together.
    private static let shortestPause = Duration.milliseconds(5)

    /// - Returns: nil when the socket cannot be watched.
    init?(_ order: AirQualityOrder, _ socket: Int32, _ handle: OpaquePointer, daemon: HTTPDaemon) {
        self.order = order
        self.socket = socket
        self.handle = handle
        self.daemon = daemon
        if order.rate > 1 || order.isSingle { walk = daemon.freshWalk() }
        do throws(SystemError) {
            watch = try daemon.loop.watch(socket, interest: .read) { [unowned self] in notice($0) }
        } catch {
            return nil
        }
    }

    /// Begins to send; nothing was sent before.
    func start(received: [UInt8]) {
        begin = daemon.loop.clock.now
        received.withUnsafeBytes { take($0) }
        sendFault()
        tick()
    }

    /// Ends it.
    ///
    /// - Parameter telling: whether the client gets a close frame, if there is room for one.
    func close(telling: Bool = false) {
        guard !isOver else { return }
        if telling, unsent.isEmpty, !isEnding {
            FrameEncoder.appendClose(.goingAway, key: nil, to: &unsent)
            flush()
            guard !isOver else { return }
        }
        isOver = true
        watch?.cancel()
        if let timer { daemon.loop.cancel(timer) }
        cw_mhd_close_upgraded(handle)
        daemon.remove(self)
    }

    // MARK: What the client sends

    private func notice(_ readiness: Readiness) {
        if readiness.contains(.write) { flush() }
        guard !isOver, !readiness.isDisjoint(with: [.read, .hangUp, .error, .readHangUp]) else { return }
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 16) { buffer in
            let count = recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { return take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
            if count == 0 || errno != EAGAIN && errno != EINTR { close() }
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
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

    // MARK: What it gets

    private func tick() {
        timer = nil
        guard !isOver, !isEnding, !isMute else { return }
        let now = daemon.loop.clock.now
        let due = Int(begin.duration(to: now).nanoseconds * Int64(order.rate) / 1_000_000_000) + 1
        while sent < due, !isOver, !isEnding, !isMute {
            sent += 1
            endByFault()
            if !isOver, !isEnding, !isMute, unsent.count < Self.mostUnsent { sendMessage() }
        }
        guard !isOver, !isEnding, !isMute else { return }
        let next = begin.advanced(by: .nanoseconds(Int64(sent) * 1_000_000_000 / Int64(order.rate)))
        timer = daemon.loop.schedule(at: max(next, now.advanced(by: Self.shortestPause))) { [unowned self] in tick() }
    }

    private func sendMessage() {
        if sent > 1 { walk?.advance() }
        let air = walk ?? daemon.currentWalk()
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

    /// What goes wrong at once.
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

    /// What goes wrong after some messages, of which `sent` includes the one that is due.
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
        guard !isEnding, unsent.count < 2 * Self.mostUnsent else { return }  // one that pings and does not read
        FrameEncoder.append(opcode, payload, key: nil, to: &unsent)
        flush()
    }

    /// Says goodbye, and closes once that is sent; the client does not have to answer.
    private func end(_ code: CloseCode, _ reason: String = "") {
        guard !isEnding else { return }
        FrameEncoder.appendClose(code, reason, key: nil, to: &unsent)
        isEnding = true
        flush()
    }

    private func flush() {
        guard !isOver else { return }
        while !unsent.isEmpty {
            let count = unsent.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                guard errno == EAGAIN else { return close() }
                break
            }
            unsent.removeFirst(count)
        }
        if unsent.isEmpty, isEnding { return close() }
        try? watch?.update(unsent.isEmpty ? .read : [.read, .write])
    }
}
