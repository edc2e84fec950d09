/// Turns flawed lines of another agent into lines that every reader can read.
package enum LineMending {
    /// Encodes a flawed line again: without `data` and any value that cannot stay, lone surrogates replaced, each key
    /// once.
    ///
    /// - Returns: nil if the line's type is unknown, since its meaning without those values is too; and if it gets too
    ///   long.
    package static func mended(_ relayed: RelayedLine) -> Bytes? {
        if case .unknown = relayed.line.body { return nil }
        return encodeAgain(relayed.bytes, relayed.line.flaws, atMost: LineEncoder.longestLine, LineEncoder.mostLevels)
    }

    /// A line that can be an element of another line: as it is, or without `data` if that makes it too long or too deep.
    static func nestable(_ line: [UInt8]) -> [UInt8]? {
        let most = (bytes: LineEncoder.longestLine - ControlLine.keptOverhead, levels: LineEncoder.mostLevels - 1)
        // Seldom is there more than the line's own brace and a few in its data.
        let braces = line.reduce(into: 0) { $0 += $1 == UInt8(ascii: "{") || $1 == UInt8(ascii: "[") ? 1 : 0 }
        if line.count <= most.bytes, braces <= most.levels || !isDeeper(line, than: most.levels) { return line }
        return encodeAgain(line[...], [], atMost: most.bytes, most.levels).map { Array($0) }
    }

    private static func isDeeper(_ line: [UInt8], than levels: Int) -> Bool {
        line.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes, levelLimit: levels)
            return (try? scanner.value()) == nil || scanner.flaws.areFatal
        }
    }

    private static func encodeAgain(_ line: Bytes, _ flaws: JSONFlaws, atMost longest: Int, _ levels: Int) -> Bytes? {
        var isTruncated = false
        var isAltered = flaws.contains(.surrogate)
        let isDoubled = flaws == .doubled
        var seen: Set<LineKey> = []
        var mended = [UInt8(ascii: "{")]
        line.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes, levelLimit: levels)
            // The line was validated.
            guard (try? scanner.begin()) != nil, (try? scanner.enter()) == true else { return }
            var isFirst = true
            while (try? scanner.step(isFirst: isFirst)) == true {
                isFirst = false
                let name = scanner.nameRange
                let start = scanner.position
                scanner.flaws = []
                guard (try? scanner.value()) != nil else { return }
                let isFatal = scanner.flaws.areFatal
                let key = LineKey(name: UnsafeBufferPointer(rebasing: bytes[name]))
                if let key, !seen.insert(key).inserted { continue }
                switch key {
                case .truncated: isTruncated = isTruncated || bytes[start] == UInt8(ascii: "t")
                case .altered: isAltered = isAltered || bytes[start] == UInt8(ascii: "t")
                case _ where isFatal || key == .data && !isDoubled: isTruncated = true
                default:
                    if mended.count > 1 { mended.append(UInt8(ascii: ",")) }
                    mended += bytes[name.lowerBound - 1...name.upperBound]
                    mended.append(UInt8(ascii: ":"))
                    mended += bytes[start..<scanner.position]
                }
            }
        }
        mended.withUnsafeMutableBufferPointer { JSONText.replaceLoneSurrogates(in: $0) }
        if isTruncated { mended += ",\"truncated\":true".utf8 }
        if isAltered { mended += ",\"altered\":true".utf8 }
        mended.append(UInt8(ascii: "}"))
        return mended.count < longest ? mended[...] : nil
    }
}
