internal import Feed
internal import Glibc

/// Feeds libFuzzer's inputs to what reads bytes from outside. See Tests/fuzz.sh.
///
/// The first byte chooses the reader, see `FuzzTargets`, unless CATWATCH_FUZZ_TARGET has its number; the second is for
/// what besides the input there is to choose; the rest is the input. A trap is a finding.
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

private let chosen = getenv("CATWATCH_FUZZ_TARGET").flatMap { UInt8(String(cString: $0)) }.map { Int($0) }

private func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let bytes, count > 1 else { return 0 }
    let input = Bytes(UnsafeBufferPointer(start: bytes + 2, count: count - 2))
    let number = chosen ?? Int(bytes[0])
    FuzzTargets.all[number % FuzzTargets.all.count].run(input, choice: Int(bytes[1] & 31))
    return 0
}
