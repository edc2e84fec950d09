internal import Reactor

/// Reads a file like standard input, once another file may be opened.
///
/// Only files on disk are counted: a FIFO may never end, or get its first writer after another file's end, so it
/// bypasses the queue.
actor FileInput: Input {
    private let path: String
    private let queue: FileQueue
    private let loop: EventLoop
    private let worker: any Worker
    private let makeInput: @Sendable () -> StdinInput
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private(set) var isCutShort = false

    /// - Parameter makeInput: creates the reader; it allocates memory, so it is created only when needed.
    init(
        _ path: String, in queue: LoopBound<FileQueue>, on loop: EventLoop, worker: any Worker,
        makeInput: @escaping @Sendable () -> StdinInput
    ) {
        self.path = path
        self.queue = queue.value
        self.loop = loop
        self.worker = worker
        self.makeInput = makeInput
    }

    func run() async throws(CancellationError) {
        let isOnDisk: Bool
        do {
            isOnDisk = try await loop.offload(to: worker) { [path] in FileStream.isOnDisk(path) }
        } catch {
            throw CancellationError()  // the work itself throws nothing
        }
        if isOnDisk { try await queue.enter() }
        defer { if isOnDisk { queue.leave() } }
        let input = makeInput()
        try await input.run()
        isCutShort = await input.isCutShort
    }
}
