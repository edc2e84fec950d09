package import Feed
internal import Reactor

/// The page and the newest lines, as they were at one moment, as one file of HTML. The lines stay where they are in the log's
/// memory, which is what it takes; whoever gets the file has a cursor.
package final class Snapshot {
    private enum Piece {
        case page([UInt8])
        case lines(LineSpan)
        case line([UInt8])
    }

    /// The lines it has at the most, in bytes as they are in the log: in the file each `<` of them takes six.
    package static let mostLines = 8 << 20

    /// `catwatch-HOST-20261122T050300Z.html`
    package let fileName: String
    private let pieces: [Piece]

    /// Takes it, on the store's loop.
    ///
    /// - Returns: nil before it is known whose feed this is.
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
        for delivery in lines {
            switch delivery {
            case .lines(let span): pieces.append(.lines(span))
            case .gap(let line), .greeting(let line), .end(let line): pieces.append(.line(line))
            case .interrupted: break
            }
        }
        self.pieces = pieces + [.page(page.end)]
    }

    /// What a header field can say, and every file system take.
    private static func fileName(_ host: String, _ time: String) -> String {
        let name = String(
            decoding: host.utf8.prefix(64).map { byte in
                0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte || "-_".utf8.contains(byte)
                    ? byte : UInt8(ascii: "-")
            }, as: UTF8.self)
        let moment = time.prefix { $0 != "." }.filter { $0 != "-" && $0 != ":" && $0 != "Z" }
        return "catwatch-\(name.isEmpty ? "host" : name)-\(moment)Z.html"
    }

    /// Where somebody who gets the file is in it.
    package struct Cursor {
        private let snapshot: Snapshot
        private var piece = 0
        private var offset = 0
        /// What is left of the characters that stand for one, where there was no room for all of them.
        private var rest = ArraySlice<UInt8>()

        package init(in snapshot: Snapshot) { self.snapshot = snapshot }

        /// Fills a buffer that is not empty with what comes next.
        ///
        /// - Returns: how many bytes; 0 at the end.
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
                case .lines(let span):
                    filled += span.withUnsafeBytes { escape($0, into: room) }
                    count = span.count
                case .line(let bytes):
                    filled += bytes.withUnsafeBytes { escape($0, into: room) }
                    count = bytes.count
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

        /// Copies lines so that they end neither their script nor, by the white space that a reader of HTML changes, themselves.
        private mutating func escape(
            _ bytes: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
        ) -> Int {
            var filled = 0
            while offset < bytes.count, filled < room.count, rest.isEmpty {
                let byte = bytes[offset]
                offset += 1
                switch byte {
                // Only within a string, where JSON has this for it.
                case UInt8(ascii: "<"): rest = Self.escapedLess[...]
                // Only between tokens.
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
