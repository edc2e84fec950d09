internal import Glibc
internal import Reactor

/// catwatch with its web server, on a loopback port chosen by the system.
struct WebAgent {
    let process: ChildProcess
    let port: UInt16

    /// Starts it and waits until it prints the page's address.
    init(_ setting: Setting, _ arguments: [String], folder: String, input: Int32? = nil) throws {
        process = try ChildProcess(
            setting.binary, ["--http=127.0.0.1:0"] + arguments, folder: folder, input: input)
        let deadline = ContinuousClock.now + .seconds(10)
        while true {
            if let place = process.words(behind: "the page is at http://127.0.0.1:"),
                let port = UInt16(place.prefix { $0.isNumber })
            {
                self.port = port
                return
            }
            guard ContinuousClock.now < deadline else { throw process.failure("serves nothing") }
            usleep(5_000)
        }
    }

    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// A request for a path, on a connection that ends with the response.
    func request(_ path: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\r\n"
    }

    /// Requests a path.
    ///
    /// - Returns: the response with its head, and the time from before the connect to the last byte.
    func get(_ path: String) throws -> (bytes: [UInt8], time: Duration) {
        let start = ContinuousClock.now
        let socket = try LoopbackSocket.connected(to: port)
        Text.write(request(path), to: socket.number)
        let bytes = try socket.bytes(limit: .max) ?? []
        let time = start.duration(to: .now)
        guard bytes.starts(with: "HTTP/1.1 200 ".utf8) else { throw process.failure("did not answer \(path)") }
        return (bytes, time)
    }
}
