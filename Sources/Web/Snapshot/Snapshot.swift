package import Feed
internal import Reactor

/// The page and the newest lines at one moment, as one HTML file. The lines stay in the log's memory, which the
/// snapshot keeps alive; each download has a cursor.
package final class Snapshot {
    private enum Piece {
        case page([UInt8])
        case lines(LinePiece)
    }

    // Bound: lines of a snapshot | 8 MiB as in the log, up to six times that in the file (`<`) | older ones left out,
    //   `first_seq` says so
    /// The most bytes of lines.
    package static let mostLines = 8 << 20

    /// `catwatch-HOST-20261122T050300Z.html`
    package let fileName: String
    private let pieces: [Piece]

    /// Takes a snapshot, on the store's loop.
    ///
    /// - Returns: nil while the feed's agent is unknown.
    package convenience init?(of store: EventStore) {
        let taken = store.assumeIsolated { ($0.newest(bytes: Self.mostLines), $0.identity.host.name) }
        guard let lines = taken.0 else { return nil }
        self.init(lines, host: taken.1, at: store.wallTime)
    }

    init(_ lines: [Delivery], host: String, at time: Timestamp, _ page: SnapshotPage = .own) {
        let text = LineWriter.bytes(atMost: 64) { writer in
            var text = TimestampText()
            text.write(time, to: &writer)
        }.filter { $0 != UInt8(ascii: "\"") }
        fileName = Self.fileName(host, String(decoding: text, as: UTF8.self))
        var pieces: [Piece] = [.page(page.start), .page(text), .page(page.middle)]
        pieces += lines.compactMap(\.piece).map { .lines($0) }
        self.pieces = pieces + [.page(page.end)]
    }

    /// A name that is valid in a header field and on every file system.
    private static func fileName(_ host: String, _ time: String) -> String {
        let name = String(
            decoding: host.utf8.prefix(64).map { byte in
                0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte || "-_".utf8.contains(byte)
                    ? byte : UInt8(ascii: "-")
            }, as: UTF8.self)
        let moment = time.prefix { $0 != "." }.filter { $0 != "-" && $0 != ":" && $0 != "Z" }
        return "catwatch-\(name.isEmpty ? "host" : name)-\(moment)Z.html"
    }

    /// The position of one download in the file.
    package struct Cursor {
        private let snapshot: Snapshot
        private var piece = 0
        private var offset = 0
        /// The rest of an escape sequence that did not fit.
        private var rest = ArraySlice<UInt8>()

        package init(in snapshot: Snapshot) { self.snapshot = snapshot }

        /// Fills a buffer, which must not be empty, with the next bytes.
        ///
        /// - Returns: the number of bytes; 0 at the end.
        package mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            var filled = 0
            while filled < buffer.count {
                if let byte = rest.popFirst() {
                    buffer[filled] = byte
                    filled += 1
                    continue
                }
                guard piece < snapshot.pieces.count else { break }
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                let count: Int
                switch snapshot.pieces[piece] {
                case .page(let bytes):
                    filled += bytes.withUnsafeBytes { copy($0, into: room) }
                    count = bytes.count
                case .lines(let lines):
                    filled += lines.withUnsafeBytes { escape($0, into: room) }
                    count = lines.count
                }
                if offset == count { (piece, offset) = (piece + 1, 0) }
            }
            return filled
        }

        private mutating func copy(
            _ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
        ) -> Int {
            let count = min(room.count, bytes.count - offset)
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
            offset += count
            return count
        }

        /// Copies lines, escaped so that they neither end their script nor are changed by an HTML parser's treatment of
        /// white space.
        private mutating func escape(
            _ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
        ) -> Int {
            var filled = 0
            while offset < bytes.count, filled < room.count, rest.isEmpty {
                let byte = bytes[offset]
                offset += 1
                switch byte {
                // Occurs only within strings, where JSON has an escape for it.
                case UInt8(ascii: "<"): rest = Self.escapedLess[...]
                // Occurs only between tokens.
                case UInt8(ascii: "\r"): rest = [UInt8(ascii: " ")]
                default:
                    room[filled] = byte
                    filled += 1
                }
            }
            return filled
        }

        private static let escapedLess = Array("\\u003c".utf8)
    }
}
