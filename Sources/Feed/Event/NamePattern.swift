internal import Reactor

/// A pattern of names: `*` stands for any text, also for none.
///
/// Names are compared by their bytes.
package struct NamePattern: Sendable, Equatable {
    /// The texts between each `*`; one for a pattern without.
    private let pieces: [String]

    package init(_ text: String) { self.init(parts: [(text, isLiteral: false)]) }

    /// - Parameter parts: the pattern's text; in a literal part `*` stands for itself.
    package init(parts: [(text: String, isLiteral: Bool)]) {
        var pieces = [""]
        for part in parts {
            if part.isLiteral {
                pieces[pieces.count - 1] += part.text
                continue
            }
            for (index, piece) in part.text.unicodeScalars.split(separator: "*", omittingEmptySubsequences: false)
                .enumerated()
            {
                if index > 0 { pieces.append("") }
                pieces[pieces.count - 1] += String(piece)
            }
        }
        self.pieces = pieces
    }

    package static func == (left: NamePattern, right: NamePattern) -> Bool {
        left.pieces.elementsEqual(right.pieces) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// As people write it, but for quotes.
    package var text: String { pieces.joined(separator: "*") }

    /// The only name that matches; nil for a pattern with `*`.
    package var literal: String? { pieces.count == 1 ? pieces[0] : nil }

    /// Whether its text contains this byte.
    package func contains(_ byte: UInt8) -> Bool { pieces.contains { $0.utf8.contains(byte) } }

    /// Whether a name that begins like this may match.
    package func mayMatch(beginning: String) -> Bool {
        if pieces.count > 1, pieces[0].utf8.count < beginning.utf8.count {
            return beginning.utf8.starts(with: pieces[0].utf8)
        }
        return pieces[0].utf8.starts(with: beginning.utf8)
    }

    package func matches(_ name: UnsafeRawBufferPointer) -> Bool {
        let (first, last) = (pieces[0].utf8, pieces[pieces.count - 1].utf8)
        guard pieces.count > 1 else { return name.elementsEqual(first) }
        guard name.count >= first.count + last.count, name.starts(with: first),
            name.suffix(last.count).elementsEqual(last)
        else { return false }
        let inner = UnsafeRawBufferPointer(rebasing: name.dropLast(last.count))
        var start = first.count
        for piece in pieces[1..<pieces.count - 1] where !piece.isEmpty {
            guard let range = inner.range(of: piece, from: start) else { return false }
            start = range.upperBound
        }
        return true
    }

    package func matches(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { matches(UnsafeRawBufferPointer($0)) }
    }
}
