import Glibc
import HTTPServer
import Reactor
import TestSupport
import Testing

/// What connections cost, each in a process of its own, as memory is the process's. Not under the sanitizer, whose own memory
/// is many times that.
@Suite(.limited) struct MemoryTests {
    @Test(.disabled(if: ThreadSanitizer.isOn)) func aLargeBodyIsSentFromWhereItIs() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                let size = 64 << 20
                var owner: Memory? = Memory(count: size)
                weak let observed = owner
                let socket = try StreamSocket.listening(at: SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
                let server = try HTTPServer(on: loop, listeningAt: socket) { [bytes = owner!.bytes] _ in
                    .now(HTTPResponse(status: 200, body: .memory(bytes, owner: observed)))
                }
                let thread = try ClientThread(RawClient(port: server.port), besides: loop)
                _ = try await thread.get("/", atMost: 1 << 20)
                let before = try MemoryTests.residentBytes()
                let descriptor = try await thread.talk { client in
                    let descriptor = try client.connect()
                    try client.send(client.request("GET", "/", fields: ["Connection: close"]), to: descriptor)
                    _ = try client.receive(from: descriptor, atMost: 1 << 20)
                    return descriptor
                }
                // The response keeps its owner, and lets go of it when it was sent.
                owner = nil
                #expect(observed != nil)
                let grown = try MemoryTests.residentBytes() - before
                #expect(grown < size / 4, "\(grown) bytes more")
                let rest = try await thread.talk { client in
                    var count = 0
                    while true {
                        let part = try client.receive(from: descriptor, atMost: 1 << 20)
                        count += part.bytes.count
                        if part.ended { return count }
                    }
                }
                #expect((60 << 20...size).contains(rest))
                close(descriptor)
                while observed != nil { try await loop.sleep(for: .milliseconds(1)) }
                server.stop()
                thread.stop()
            }
        }
    }

    private final class Memory {
        let bytes: UnsafeRawBufferPointer

        init(count: Int) {
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
            memory.initializeMemory(as: UInt8.self, repeating: 0x70)
            bytes = UnsafeRawBufferPointer(memory)
        }

        deinit { bytes.deallocate() }
    }

    /// The resident pages of the process. (proc(5), `statm`.)
    static func residentBytes() throws -> Int {
        var buffer = [UInt8](repeating: 0, count: 256)
        let file = try Descriptor.open("/proc/self/statm", flags: O_RDONLY)
        let count = read(file.number, &buffer, buffer.count)
        let fields = String(decoding: buffer[..<max(0, count)], as: UTF8.self).split(separator: " ")
        return try #require(fields.count > 1 ? Int(fields[1]) : nil) * Int(getpagesize())
    }
}
