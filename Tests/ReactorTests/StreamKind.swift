import Glibc
import Reactor
import TestSupport

/// The kinds of byte stream that must all behave the same.
enum StreamKind: CaseIterable {
    case pipe, socket, simulated, smallSimulated

    /// Only simulated streams may be used in virtual time.
    var isVirtual: Bool { self == .simulated || self == .smallSimulated }

    /// A stream from `writer` to `reader`; neither SIGPIPE nor anything else is in the way.
    func open(on loop: EventLoop) throws -> Ends {
        _ = Self.ignoreBrokenPipes
        switch self {
        case .pipe:
            let pipe = try Descriptor.pipe()
            return Ends(
                writer: try DescriptorStream(owning: pipe.write.duplicate(), on: loop),
                reader: try DescriptorStream(owning: pipe.read.duplicate(), on: loop))
        case .socket:
            let (one, other) = try socketPair()
            return Ends(
                writer: try DescriptorStream(owning: Descriptor(owning: one), on: loop),
                reader: try DescriptorStream(owning: Descriptor(owning: other), on: loop))
        case .simulated, .smallSimulated:
            let (one, other) = SimulatedStream.pair(capacity: self == .simulated ? 65_536 : 7, on: loop)
            return Ends(writer: one, reader: other)
        }
    }

    /// A write to a pipe without a reader raises SIGPIPE, which ends the process unless it is ignored.
    static let ignoreBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()
}

/// The two ends of a stream. Unchecked: used by tasks of one loop.
final class Ends: @unchecked Sendable {
    let writer: any ByteStream
    let reader: any ByteStream

    init(writer: any ByteStream, reader: any ByteStream) {
        self.writer = writer
        self.reader = reader
    }
}

extension ByteStream {
    /// Writes some bytes, as many as there is room for.
    func write(_ bytes: some Sequence<UInt8>) throws -> Int {
        try Array(bytes).withUnsafeBytes { try write($0) }
    }

    /// Reads up to `count` bytes; nil when there is nothing yet, no bytes at the end.
    func read(upTo count: Int) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let length = try bytes.withUnsafeMutableBytes { try read(into: $0) }
        return length.map { Array(bytes[..<$0]) }
    }

    /// Reads until there is nothing for now; also how many bytes there were, and whether the stream has ended.
    func drain() throws -> (bytes: [UInt8], isAtEnd: Bool) {
        var bytes: [UInt8] = []
        while let part = try read(upTo: 65_536) {
            if part.isEmpty { return (bytes, true) }
            bytes += part
        }
        return (bytes, false)
    }

    /// Writes until nothing is taken any more; how many bytes were.
    func fill() throws -> Int {
        var total = 0
        let chunk = [UInt8](repeating: 1, count: 4_096)
        while true {
            let taken = try write(chunk)
            if taken == 0 { return total }
            total += taken
        }
    }

    /// Reads up to `count` bytes, waiting for them; none at the end.
    func next(upTo count: Int) async throws -> [UInt8] {
        while true {
            if let bytes = try read(upTo: count) { return bytes }
            try await waitUntilReadable()
        }
    }

    /// Fills the stream and waits for room, for ever.
    func keepFull() async throws -> Never {
        while true {
            _ = try fill()
            try await waitUntilWritable()
        }
    }

    /// Reads and waits for more, until the end.
    func readToTheEnd() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let part = try await next(upTo: 4_096)
            if part.isEmpty { return bytes }
            bytes += part
        }
    }
}

/// `errno` of the system error that `body` ends in; nil when it ends in something else.
func errorCode(_ body: () async throws -> Void) async -> Int32? {
    do {
        try await body()
        return nil
    } catch { return (error as? SystemError)?.code }
}
