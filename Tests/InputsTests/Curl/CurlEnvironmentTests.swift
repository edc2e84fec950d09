import Feed
import Glibc
import Inputs
import Reactor
import TestSupport
import Testing

/// What belongs to a whole process (its environment, its name servers), each in a process of its own.
@Suite(.limited) struct CurlEnvironmentTests {
    /// The outcome of one request in this process, as `CODE: MESSAGE` or the status.
    static func outcome(_ url: String, timeout: Duration = .seconds(20)) async throws -> String {
        try await withLoop { loop in
            var request = HTTPRequest(url: url)
            request.timeout = timeout
            let transport = try CurlTransport(on: loop)
            do throws(HTTPFailure) {
                return String(try await transport.get(request).status)
            } catch {
                return "\(error.code.rawValue): \(error.message)"
            }
        }
    }

    @Test func aProxyThatIsNotThereIsNamed() async {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "http://user:SECRET@127.0.0.1:1", 1)
            unsetenv("no_proxy")
            unsetenv("NO_PROXY")
            let text = try await CurlEnvironmentTests.outcome("http://cats.invalid/fact")
            #expect(text.hasPrefix("connect: "), "\(text)")
            #expect(text.contains("proxy") && text.contains("127.0.0.1:1"), "\(text)")
            #expect(!text.contains("SECRET"), "\(text)")
        }
    }

    @Test func whatIsExemptFromTheProxyIsReachedWithoutIt() async {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "http://127.0.0.1:1", 1)
            setenv("no_proxy", "127.0.0.1", 1)
            try await CurlBench.run { bench in
                let answer = try await bench.get("/fact")
                #expect(answer.status == 200)
            }
        }
    }

    /// By an ordinary request: not every proxy lets tunnels through.
    @Test func aFeedIsReadThroughAProxy() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                let proxy = try RawServer(on: loop) { _ in .text("HTTP/1.1 200 OK\r\n\r\none\n") }
                setenv("http_proxy", proxy.origin, 1)
                unsetenv("no_proxy")
                unsetenv("NO_PROXY")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { await proxy.run() }
                    defer { group.cancelAll() }
                    let feed = HTTPFeed(HTTPRequest(url: "http://web1.invalid"), by: try CurlTransport(on: loop))
                    try await feed.open(nil).value.close()
                    let request = await proxy.requests.first ?? ""
                    #expect(request.hasPrefix("GET http://web1.invalid/feed HTTP/1.1\r\n"), "\(request)")
                }
            }
        }
    }

    /// A name server that never answers, bound over /etc/resolv.conf in a mount namespace of its own.
    @Test func aSilentNameServerStopsNeitherTheLoopNorTheExit() async throws {
        guard try Self.canMount() else {
            print("skipped: mount namespaces are not permitted here, so no name server can be made silent")
            return
        }
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let ticks = try await withLoop { loop in
                // The loop's own thread gets the namespace, and the resolver's threads inherit it.
                try silenceNameServers(folder.path)
                let transport = try CurlTransport(on: loop)
                var request = HTTPRequest(url: "http://cats.example/fact")
                request.timeout = .milliseconds(700)
                let began = loop.clock.now
                return try await withThrowingTaskGroup(of: Int.self) { [request] group in
                    group.addTask {
                        var ticks = 0
                        while (try? await loop.sleep(for: .milliseconds(10))) != nil { ticks += 1 }
                        return ticks
                    }
                    do throws(HTTPFailure) {
                        _ = try await transport.get(request)
                        Issue.record("a silent name server answered")
                    } catch {
                        #expect(error.code == .timeout && error.message.contains("was not resolved within 700 ms"))
                    }
                    // The resolver itself would go on for 150 s.
                    #expect(began.duration(to: loop.clock.now) < .seconds(20))
                    group.cancelAll()
                    return try await group.next() ?? 0
                }
            }
            // 70 ticks of 10 ms in 700 ms; a loop that was stopped has none or one.
            #expect(ticks > 3, "\(ticks) ticks")
            folder.remove()
            exit(EXIT_SUCCESS)
        }
    }

    private static func canMount() throws -> Bool {
        let probe = try ChildProcess(
            ["unshare", "-m", "sh", "-c", "mount --bind /etc/hosts /etc/resolv.conf"], in: "/")
        return probe.wait() == 0
    }
}

/// Binds a resolv.conf over the system's whose name server takes questions and never answers; for this thread and what it starts.
private func silenceNameServers(_ folder: String) throws {
    let number = try systemCall("socket") { socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(53).bigEndian
    // 127.67.x.y, which no other run of this test has.
    let (high, low) = (UInt32(getpid()) >> 8 & 0xFF, UInt32(getpid()) & 0xFF)
    address.sin_addr.s_addr = (0x7F43_0000 | high << 8 | low).bigEndian
    try withUnsafePointer(to: &address) { pointer in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            _ = try systemCall("bind") { bind(number, address, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
    let path = "\(folder)/resolv.conf"
    let text = "nameserver 127.67.\(high).\(low)\noptions timeout:30 attempts:5\n"
    try #require(try ChildProcess(["sh", "-c", "printf '\(text)' > \(path)"], in: "/").wait() == 0)
    // Glibc's module leaves unshare(2) out: it is only declared for _GNU_SOURCE.
    let symbol = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "unshare"))
    let unshare = unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
    let newMountNamespace: Int32 = 0x0002_0000
    try systemCall("unshare") { unshare(newMountNamespace) }
    try systemCall("mount") { mount(nil, "/", nil, UInt(MS_REC | MS_PRIVATE), nil) }
    try systemCall("mount") { mount(path, "/etc/resolv.conf", nil, UInt(MS_BIND), nil) }
}
