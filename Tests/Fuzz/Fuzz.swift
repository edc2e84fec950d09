internal import Feed
internal import Glibc

/// Feeds libFuzzer's inputs to what reads bytes from outside. See Tests/fuzz.sh.
///
/// The first byte chooses the reader, see `FuzzTargets`; the rest is its input. A trap is a finding.
@main
struct Fuzz {
    static func main() {
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(runDriver(&count, &arguments, fuzzOneInput))
    }
}

/// `LLVMFuzzerRunDriver` of libFuzzer, which has no header of its own.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ one: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

private func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let bytes, count > 0 else { return 0 }
    let input = Bytes(UnsafeBufferPointer(start: bytes + 1, count: count - 1))
    FuzzTargets.all[Int(bytes[0] & 7) % FuzzTargets.all.count].run(input, choice: Int(bytes[0] >> 3))
    return 0
}
