import Glibc
import Testing

@testable import Terminal

/// Screens kept as text beside the tests. `CATWATCH_SNAPSHOTS=write` writes them anew, to be looked at before they are
/// committed.
enum Snapshot {
    private static let isWriting = getenv("CATWATCH_SNAPSHOTS").map { String(cString: $0) } == "write"

    /// What the grid shows, and how: the text, a letter for each cell's look, and what the letters mean.
    static func text(_ grid: CellGrid) -> String {
        var looks: [Style] = [.plain]
        let letters = Array(".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        var map = ""
        for row in 0..<grid.rows {
            var line = ""
            for column in 0..<grid.columns {
                let cell = grid[row, column]
                let isBlank = cell.glyph == 0x20 && cell.background.isStandard && !cell.attributes.contains(.inverse)
                let style = isBlank ? .plain : cell.style
                let place = looks.firstIndex(of: style) ?? looks.count
                if place == looks.count { looks.append(style) }
                line.append(isBlank ? " " : letters[place % letters.count])
            }
            while line.hasSuffix(" ") { line.removeLast() }
            map += line + "\n"
        }
        var legend = ""
        for (place, look) in looks.enumerated().dropFirst() {
            legend += "\(letters[place % letters.count]): \(describe(look))\n"
        }
        return grid.text() + "=== looks\n" + map + "=== of them\n" + legend
    }

    private static func describe(_ style: Style) -> String {
        var words: [String] = []
        func hex(_ color: CellColor) -> String {
            let digits = String(color.value & 0xFF_FFFF, radix: 16)
            return "#" + String(repeating: "0", count: 6 - digits.count) + digits
        }
        if !style.foreground.isStandard { words.append(hex(style.foreground)) }
        if !style.background.isStandard { words.append("on " + hex(style.background)) }
        if style.attributes.contains(.bold) { words.append("bold") }
        if style.attributes.contains(.dim) { words.append("dim") }
        if style.attributes.contains(.underline) { words.append("underline") }
        if style.attributes.contains(.inverse) { words.append("inverse") }
        return words.isEmpty ? "plain" : words.joined(separator: " ")
    }

    /// Compares a grid with the one kept under this name.
    static func check(_ grid: CellGrid, _ name: String, at location: SourceLocation = #_sourceLocation) {
        check(text(grid), name, at: location)
    }

    /// Compares text with what is kept under this name.
    static func check(_ found: String, _ name: String, at location: SourceLocation = #_sourceLocation) {
        let path = #filePath.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/Snapshots/\(name).txt"
        if isWriting {
            let written = found.utf8.withContiguousStorageIfAvailable { bytes -> Bool in
                guard let file = fopen(path, "w") else { return false }
                defer { fclose(file) }
                return fwrite(bytes.baseAddress, 1, bytes.count, file) == bytes.count
            }
            #expect(written == true, "\(path)", sourceLocation: location)
            return
        }
        guard let expected = read(path) else {
            Issue.record("there is no \(path): CATWATCH_SNAPSHOTS=write writes it", sourceLocation: location)
            return
        }
        if found != expected {
            Issue.record("\(name) looks different:\n\(found)", sourceLocation: location)
        }
    }

    private static func read(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&buffer, 1, buffer.count, file)
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
