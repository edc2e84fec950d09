import Feed
import Glibc
import Outputs
import Reactor

/// The disk of a simulated machine: what is on it outlives a crash of whoever wrote it.
final class SimulatedDisk: @unchecked Sendable {  // touched on one loop only
    var isFull = false
    /// How often there was no room.
    private(set) var refusals = 0
    /// What was appended to the file since it was last taken.
    private var appended: [UInt8] = []

    func takeAppended() -> [UInt8] {
        defer { appended = [] }
        return appended
    }

    /// A file as one process has it open.
    func file(of process: SimulatedProcess) -> any LineFile { File(self, process) }

    private final class File: LineFile, @unchecked Sendable {  // touched on one loop only
        private let disk: SimulatedDisk
        private let process: SimulatedProcess
        private(set) var isGreeted = false
        private var isOpen = false

        init(_ disk: SimulatedDisk, _ process: SimulatedProcess) { (self.disk, self.process) = (disk, process) }

        func open(_ greeting: [UInt8]) throws(SystemError) {
            isGreeted = false
            isOpen = true
            try append(.bytes(greeting))
            isGreeted = true
        }

        func append(_ piece: LinePiece) throws(SystemError) {
            guard isOpen, !process.isDead else { throw SystemError(code: EBADF, call: "write") }
            if disk.isFull {
                disk.refusals += 1
                throw SystemError(code: ENOSPC, call: "write")
            }
            piece.withUnsafeBytes { disk.appended.append(contentsOf: $0) }
        }

        func close() { isOpen = false }
    }
}
