internal import CZlib

/// The gzip form of some bytes, freed with its last reference.
final class Gzip {
    private let memory: UnsafeMutableRawBufferPointer
    let bytes: UnsafeRawBufferPointer

    /// - Parameter plain: up to 4 GiB.
    /// - Returns: nil when there is no memory for it.
    init?(_ plain: UnsafeRawBufferPointer) {
        var stream = z_stream()
        guard cw_gzip_begin(&stream) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        let room = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(deflateBound(&stream, UInt(plain.count))), alignment: 1)
        memory = room
        // zlib does not write to what it reads.
        stream.next_in = UnsafeMutablePointer(mutating: plain.bindMemory(to: UInt8.self).baseAddress)
        stream.avail_in = UInt32(plain.count)
        stream.next_out = room.bindMemory(to: UInt8.self).baseAddress
        stream.avail_out = UInt32(room.count)
        let isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
        bytes = UnsafeRawBufferPointer(rebasing: room[..<Int(stream.total_out)])
        if !isWhole { return nil }
    }

    deinit { memory.deallocate() }
}
