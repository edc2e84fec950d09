internal import Feed
internal import Glibc
internal import Outputs

/// Feeds libFuzzer's inputs to what reads bytes from outside. See Tests/fuzz.sh.
///
/// The first byte chooses the reader; the rest is its input. A trap is a finding.
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
    switch bytes[0] % 3 {
    case 0: _ = try? LineDecoder.decode(input)
    case 1: _ = try? ReaderRequest.parse(input, with: JSONReader())
    default:
        // In pieces of the first byte's size, so that lines are cut everywhere.
        var splitter = LineSplitter(limit: 256)
        let size = Int(bytes[0] / 3) + 1
        var rest = input
        while !rest.isEmpty {
            splitter.push(rest.prefix(size))
            rest = rest.dropFirst(size)
            while splitter.next() != nil {}
            precondition(splitter.held <= 512, "the splitter holds more than its limit")
        }
        while splitter.finish() != nil {}
    }
    return 0
}
