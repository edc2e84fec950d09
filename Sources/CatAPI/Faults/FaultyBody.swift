internal import HTTPServer
internal import Reactor

extension Reply {
    /// The body for a faulty delivery; nil for a normal one, or when there is no body.
    ///
    /// - Parameter loop: its clock determines when the next byte of a drip is due.
    func faultyBody(on loop: EventLoop) -> HTTPStream? {
        let body = answer.body
        switch delivery {
        case .truncated(let sent):
            return HTTPStream(size: max(body.count, sent + 1)) { buffer, position in
                position < sent ? Self.copy(body[position..<sent], to: buffer) : .broken(byReset: false)
            }
        case .reset(let after):
            return HTTPStream(size: max(body.count, after + 1)) { buffer, position in
                position < after ? Self.copy(body[position..<after], to: buffer) : .broken(byReset: true)
            }
        case .endless:
            return HTTPStream { buffer, position in
                guard position >= body.count else { return Self.copy(body[position...], to: buffer) }
                buffer.initializeMemory(as: UInt8.self, repeating: body.last ?? 0)
                return .bytes(buffer.count)
            }
        case .drip(let every): return drip(every, on: loop)
        case .whole, .closed, .silence, .webSocket: return nil
        }
    }

    private func drip(_ pause: Duration, on loop: EventLoop) -> HTTPStream {
        let body = answer.body
        var nextByte = loop.clock.now
        var timer: LoopTimer?
        weak var resumed: HTTPStream?
        let stream = HTTPStream(size: body.count) { buffer, position in
            let now = loop.clock.now
            guard now >= nextByte else {
                timer = loop.schedule(at: nextByte) { resumed?.resume() }
                return .nothingNow
            }
            nextByte = now.advanced(by: pause)
            return Self.copy(body[position...position], to: buffer)
        }
        stream.whenOver = { _ in timer.map(loop.cancel) }
        resumed = stream
        return stream
    }

    private static func copy(_ bytes: ArraySlice<UInt8>, to buffer: UnsafeMutableRawBufferPointer) -> HTTPStream.Step {
        let part = bytes.prefix(buffer.count)
        buffer.copyBytes(from: part)
        return .bytes(part.count)
    }
}
