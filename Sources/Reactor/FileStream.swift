import CLinux
internal import Glibc

/// The bytes of a file of any kind, without ever blocking its loop.
///
/// A worker reads files on disk in pieces, as the disk may be slow. Others, such as a FIFO, are read on the loop: a
/// FIFO from its first writer until its last one is gone.
package final class FileStream: ReadOnlyStream {
    private let loop: EventLoop
    private let worker: any Worker
    private let file: File
    private let readable: Wakeup
    private let hungUp: Wakeup
    private var state = State.idle

    private enum State {
        case idle
        /// The worker is reading.
        case underWay
        /// The bytes read but not yet consumed.
        case bytes(Range<Int>)
        /// A stream that is read on the loop, and whether it has been waited for: before its first writer, a FIFO reads
        /// as ended.
        case stream(DescriptorStream, hasBegun: Bool)
        case failed(SystemError)
        case closed
    }

    /// Opens nothing yet, because that may block as long as reading.
    ///
    /// - Parameter worker: waits for the disk.
    package init(_ path: String, on loop: EventLoop, worker: any Worker) {
        self.loop = loop
        self.worker = worker
        file = File(path)
        readable = Wakeup(loop: loop)
        hungUp = Wakeup(loop: loop)
    }

    /// Whether the path is on disk, and so has an end. Blocks as long as the disk does.
    package static func isOnDisk(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && File.isOnDisk(status)
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        switch state {
        case .idle:
            state = .underWay
            fetch()
            return nil
        case .underWay, .stream(_, hasBegun: false): return nil
        case .bytes(let bytes):
            let count = min(bytes.count, buffer.count)
            // In bounds: the bytes lie in what the worker has read, and it reads nothing before they are consumed.
            buffer.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: file.memory[bytes.lowerBound..<bytes.lowerBound + count]))
            // The end is not read again: the file may grow.
            if count < bytes.count || bytes.isEmpty {
                state = .bytes(bytes.lowerBound + count..<bytes.upperBound)
            } else {
                state = .idle
            }
            return count
        case .stream(let stream, _): return try stream.read(into: buffer)
        case .failed(let error): throw error
        case .closed: throw SystemError(code: EBADF, call: "read")
        }
    }

    private func fetch() {
        let me = LoopBound(self)
        worker.perform(for: loop) { [file] in
            file.next()
        } then: {
            me.value.handle($0)
        }
    }

    private func handle(_ piece: File.Piece) {
        switch piece {
        case .bytes(let count): state = isClosed ? .closed : .bytes(0..<count)
        case .failure(let error): state = isClosed ? .closed : .failed(error)
        case .descriptor(let number):
            let descriptor = Descriptor(owning: number)
            guard !isClosed else { return }
            do {
                state = .stream(try DescriptorStream(owning: descriptor, on: loop), hasBegun: false)
            } catch {
                state = .failed(error)
            }
        }
        readable.signal()
    }

    private var isClosed: Bool { if case .closed = state { true } else { false } }

    package func waitUntilReadable() async throws(CancellationError) {
        if case .underWay = state { try await readable.wait() }
        guard case .stream(let stream, _) = state else { return }
        try await stream.waitUntilReadable()
        if case .stream = state { state = .stream(stream, hasBegun: true) }
    }

    package func waitUntilHungUp() async throws(CancellationError) { try await hungUp.wait() }

    package func close() {
        if case .stream(let stream, _) = state { stream.close() }
        state = .closed
        readable.open()
        hungUp.open()
    }
}

/// The part of the stream that runs on the worker.
private final class File: @unchecked Sendable {  // on one thread at a time, see `State.underWay`
    enum Piece: Sendable {
        /// This many bytes are in memory; 0 at the end.
        case bytes(Int)
        /// It is not on disk; this is its open descriptor, which the receiver owns.
        case descriptor(Int32)
        case failure(SystemError)
    }

    /// The read buffer; allocated when a file has been opened.
    private(set) var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private let path: String
    private var descriptor: Descriptor?

    init(_ path: String) { self.path = path }

    deinit { memory.deallocate() }

    static func isOnDisk(_ status: stat) -> Bool {
        [S_IFREG, S_IFBLK, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Opens the file if it is not open, and reads.
    func next() -> Piece {
        do throws(SystemError) {
            if descriptor == nil {
                // Neither waits for a FIFO's writer nor makes a terminal the controlling one.
                let opened = try Descriptor.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
                var status = stat()
                let number = opened.number
                try systemCall("fstat") { fstat(number, &status) }
                guard Self.isOnDisk(status) else { return .descriptor(opened.release()) }
                descriptor = consume opened
                // Bound: bytes read ahead from a file | 256 KiB a file | the rest stays in the file
                memory = .allocate(byteCount: 256 << 10, alignment: 16)
            }
            guard let number = descriptor?.number else { return .bytes(0) }
            return .bytes(try systemCall("read") { read(number, memory.baseAddress, memory.count) })
        } catch {
            return .failure(error)
        }
    }
}
