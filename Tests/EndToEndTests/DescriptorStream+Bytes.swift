import Reactor

extension DescriptorStream {
    /// Everything that comes until the other end is done, or until the lines that are whole are enough; what has come of the
    /// next line by then is the end of it.
    func bytes(until isEnough: (String) -> Bool = { _ in false }) async throws -> [UInt8] {
        let buffer = ReadBuffer()
        var bytes: [UInt8] = []
        while true {
            if isEnough(String(decoding: bytes[..<(bytes.lastIndex(of: 0x0A) ?? 0)], as: UTF8.self)) { return bytes }
            guard let count = try read(into: buffer.memory) else {
                try await waitUntilReadable()
                continue
            }
            if count == 0 { return bytes }
            bytes += buffer.memory[..<count]
        }
    }
}
