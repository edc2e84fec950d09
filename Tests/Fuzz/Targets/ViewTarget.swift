internal import Feed
internal import Reactor
internal import Terminal

/// The terminal view over another agent's feed: lines, and between them lines of keys (`k` and what is typed), of sizes (`s` and
/// two characters) and of time that passes (`t` and a character). Every frame must be free of what a terminal obeys.
enum ViewTarget: FuzzTarget {
    static func run(_ input: Bytes, choice: Int) {
        let starts: [Int64] = [1_772_366_400, 0, 253_402_300_799, -62_167_219_200]
        var now = Timestamp(seconds: starts[choice & 3])
        var view = TerminalView(size: ScreenSize(columns: 80, rows: 24), connection: .open)
        var parser = KeyParser()
        for line in input.split(separator: 0x0A, maxSplits: 200) {
            let rest = line.dropFirst()
            switch line.first {
            case UInt8(ascii: "k"):
                for key in parser.parse(rest) + parser.timeout() { _ = view.handle(key, now: now) }
            case UInt8(ascii: "s") where rest.count == 2:
                view.resize(
                    ScreenSize(columns: 1 + Int(rest[rest.startIndex]), rows: 1 + Int(rest[rest.startIndex + 1])))
            case UInt8(ascii: "t") where rest.count == 1: now = now + .milliseconds(Int(rest[rest.startIndex]) * 100)
            default: if let line = try? LineDecoder.decode(line) { view.apply(line, now: now) }
            }
            check(view.frame(now: now))
        }
        for screen in "1234?".unicodeScalars {
            _ = view.handle(.character(screen), now: now)
            check(view.frame(now: now))
        }
    }

    private static func check(_ grid: CellGrid) {
        for scalar in grid.text().unicodeScalars where scalar != "\n" {
            precondition(scalar.value >= 0x20 && !(0x7F...0x9F ~= scalar.value), "a control reaches the terminal")
        }
    }
}
