package import Reactor

extension LineSpan {
    /// Writes what is left of the lines behind the first `done` bytes, as much as there is room for now.
    ///
    /// - Returns: how many bytes were taken.
    package func write(from done: Int, to stream: any ByteStream) throws(SystemError) -> Int {
        try withUnsafeBytes { bytes throws(SystemError) in
            try stream.write(UnsafeRawBufferPointer(rebasing: bytes[done...]))
        }
    }
}
