import TestSupport
import Testing

@testable import Terminal

@Suite(.limited) struct NaturalOrderTests {
    /// Tests/Vectors/order/natural.json: each comes before every one behind it.
    @Test func numbersAreCounted() throws {
        let sorted = try VectorFiles.elements("sorted", of: "natural.json", in: "order").compactMap(\.string)
        for (place, name) in sorted.enumerated() {
            for (other, second) in sorted.enumerated() {
                #expect(NaturalOrder.isBefore(name, second) == (place < other), "'\(name)' '\(second)'")
            }
        }
    }

    /// Digits made equally long, so that text is compared.
    private func padded(_ name: String) -> String {
        var (result, number) = ("", "")
        for letter in name + "\u{0}" {
            if letter.isNumber {
                number.append(letter)
                continue
            }
            if !number.isEmpty { result += String(repeating: "0", count: 20 - number.count) + number }
            number = ""
            if letter != "\u{0}" { result.append(letter) }
        }
        return result
    }

    @Test func isWhatPaddedTextGives() {
        var random = SeededGenerator(seed: 5)
        let letters: [Character] = ["0", "1", "9", "a", "/", ":", "b"]
        func name() -> String {
            String(
                (0..<Int.random(in: 0...8, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" })
        }
        for _ in 0..<LongRun.rounds(short: 2_000, long: 200_000) {
            let (left, right) = (name(), name())
            let expected = (padded(left), left) < (padded(right), right)
            #expect(NaturalOrder.isBefore(left, right) == expected, "'\(left)' '\(right)', seed \(random.seed)")
        }
    }
}
