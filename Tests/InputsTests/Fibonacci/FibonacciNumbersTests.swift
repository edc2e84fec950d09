import Feed
import Inputs
import TestSupport
import Testing

/// The numbers and their decimals against others' and against slower ways to come to them.
@Suite(.limited) struct FibonacciNumbersTests {
    /// The decimals of `numbers`, written into memory with nothing to spare; what is touched beyond fails the test.
    static func decimals(_ numbers: borrowing FibonacciNumbers) -> String {
        let most = numbers.mostBytes
        var memory = [UInt8](repeating: 0xAA, count: most + 32)
        let place = memory.withUnsafeMutableBytes { raw in raw.baseAddress.map { numbers.write(to: $0 + 16) } }
        #expect(memory.prefix(16).allSatisfy { $0 == 0xAA } && memory.suffix(16).allSatisfy { $0 == 0xAA })
        guard let place, place.upperBound <= most else {
            Issue.record("F(\(numbers.n)) has more bytes than it says")
            return ""
        }
        return String(decoding: memory[16 + place.lowerBound..<16 + place.upperBound], as: UTF8.self)
    }

    private static func decimals(of n: Int) -> String {
        var numbers = FibonacciNumbers(through: n)
        for _ in 0..<n { numbers.advance() }
        return decimals(numbers)
    }

    @Test(arguments: [
        (0, "0"), (1, "1"), (2, "1"), (3, "2"), (10, "55"), (47, "2971215073"), (86, "420196140727489673"),
        (87, "679891637638612258"), (88, "1100087778366101931"), (90, "2880067194370816120"),
        (93, "12200160415121876738"), (94, "19740274219868223167"), (100, "354224848179261915075"),
        (173, "638817435613190341905763972389505493"), (174, "1033628323428189498226463595560281832"),
        (200, "280571172992510140037611932413038677189525"),
    ])
    func areTheOnesThatAreKnown(n: Int, decimals: String) {
        #expect(Self.decimals(of: n) == decimals)
    }

    @Test func haveAsManyDigitsAsIsForetold() {
        let largest = LongRun.rounds(short: 3_000, long: PollRequest.mostN)
        var numbers = FibonacciNumbers(through: largest)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 32 << 10, alignment: 8)
        defer { memory.deallocate() }
        for n in 0...largest {
            guard let start = memory.baseAddress, numbers.mostBytes <= memory.count else { break }
            let count = numbers.write(to: start).count
            if count != FibonacciNumbers.digits(of: n) { Issue.record("F(\(n)) has \(count) digits") }
            if n < largest { numbers.advance() }
        }
        #expect(numbers.n == largest)
        #expect(FibonacciNumbers.digits(of: 1_000) == 209 && FibonacciNumbers.digits(of: 100_000) == 20_899)
    }
}
