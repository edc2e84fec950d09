import Settings
import TestSupport
import Testing

@Suite(.limited) struct ByteSizeTests {
    @Test(arguments: [
        ("1MiB", 1_048_576), ("64KiB", 65_536), ("1MB", 1_000_000), ("1kB", 1_000), ("2GiB", 2_147_483_648),
        ("1GB", 1_000_000_000), ("512", 512), ("512B", 512), ("1.5KiB", 1_536), ("1mib", 1_048_576), ("0", 0),
    ])
    func readsWhatPeopleWrite(_ text: String, _ expected: Int) throws {
        #expect(try ByteSize.parse(text, in: 0...(.max)) == expected)
    }

    @Test(arguments: ["", "B", "1K", "1M", "1 MiB", "-1", "1TiB", "1MiBs", "MiB", "1e6", "1.MiB", "0x10"])
    func refusesWhatIsNoSize(_ text: String) {
        #expect(message(text)?.hasSuffix("is not a size; write 64KiB, 1MiB, 1MB, or bare bytes") == true, "\(text)")
    }

    @Test(arguments: ["1.5", "0.0001KiB", "9223372036854775808", "8589934592GiB", "99999999999999999999999GB"])
    func refusesFractionsOfBytesAndWhatDoesNotFit(_ text: String) {
        #expect(message(text)?.contains("is out of range") == true, "\(text)")
    }

    @Test func keepsToTheRangeOfTheOption() {
        #expect(message("2MiB", in: 1...1_048_576) == "'2MiB' is out of range; write whole bytes, 1B to 1MiB")
        #expect(message("0", in: 1...1_048_576) == "'0' is out of range; write whole bytes, 1B to 1MiB")
    }

    @Test(arguments: [(1_048_576, "1MiB"), (1_500, "1500B"), (0, "0B"), (3 << 30, "3GiB"), (1_536, "1536B")])
    func writesAFormThatReadsBack(_ size: Int, _ text: String) throws {
        #expect(ByteSize.format(size) == text)
        #expect(try ByteSize.parse(text, in: 0...(.max)) == size)
    }

    private func message(_ text: String, in range: ClosedRange<Int> = 0...(.max)) -> String? {
        do throws(UsageError) {
            _ = try ByteSize.parse(text, in: range)
            return nil
        } catch { return error.message }
    }
}
