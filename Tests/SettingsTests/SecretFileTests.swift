import Glibc
import TestSupport
import Testing

@testable import Settings

@Suite(.limited)
struct SecretFileTests {
    @Test func aPipeThatNobodyWritesIsNotWaitedForWithoutEnd() throws {
        let folder = try TemporaryFolder()
        let pipe = folder.path("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        let error = #expect(throws: UsageError.self) { try SecretFile.read(pipe, patience: .milliseconds(20)) }
        #expect(error?.description.contains("cannot read '\(pipe)': nothing came for 20 ms") == true)
    }

    @Test func aPipeIsReadToItsEnd() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        #expect(write(ends[1], "secret\n", 7) == 7)
        // What has come is not all as long as somebody may write.
        #expect(throws: UsageError.self) { try SecretFile.read("/dev/fd/\(ends[0])", patience: .zero) }
        #expect(write(ends[1], "secret\n", 7) == 7)
        close(ends[1])
        #expect(try SecretFile.read("/dev/fd/\(ends[0])") == "secret\n")
    }
}
