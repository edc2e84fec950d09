internal import Glibc
internal import Reactor

/// nginx on a loopback port chosen by the system: a server that is not ours, which answers `/fact` from memory and
/// `/files/NAME` from files.
final class Nginx {
    static let path = "/usr/sbin/nginx"
    static var isInstalled: Bool { access(path, X_OK) == 0 }

    let port: UInt16
    private let folder: String
    private let accessLog: String
    private let process: ChildProcess

    /// 130 bytes, like short facts. It has no validator, so every poll transfers all of it.
    private static let document =
        #"{"fact":"A cat sleeps for about two thirds of every day, so one that is nine years old has been awake for only thr.","length":106}"#

    init(folder: String) throws {
        let socket = try LoopbackSocket()
        let port = socket.port
        self.port = port
        self.folder = folder
        accessLog = "\(folder)/access.log"
        let configuration = """
            daemon off;
            worker_processes 1;
            pid nginx.pid;
            error_log stderr warn;
            events { worker_connections 256; }
            http {
                access_log access.log;
                sendfile on;
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                keepalive_requests 100000000;
                keepalive_timeout 1h;
                server {
                    listen 127.0.0.1:\(port);
                    default_type application/json;
                    location = /fact { return 200 '\(Self.document)'; }
                    location /files/ { root .; access_log off; }
                    location /many/ { return 200 '\(Self.document)'; }
                }
            }

            """
        try TextFile.write(configuration, to: "\(folder)/nginx.conf")
        // nginx cannot choose a port, but takes over the sockets whose numbers are in its environment.
        process = try ChildProcess(
            Self.path, ["-p", folder, "-e", "stderr", "-c", "nginx.conf"], folder: folder, environment: ["NGINX=3;"],
            passing: socket.descriptor.number)
    }

    var url: String { "http://127.0.0.1:\(port)/fact" }
    /// The given number of different URLs with the same document.
    func urls(_ count: Int) -> [String] { (1...count).map { "http://127.0.0.1:\(port)/many/source-\($0)" } }

    /// Serves a file.
    ///
    /// - Returns: its URL.
    func serve(_ text: String, as name: String) throws -> String {
        // nginx's workers run as `nobody` when root starts it.
        chmod(folder, 0o755)
        mkdir("\(folder)/files", 0o755)
        try TextFile.write(text, to: "\(folder)/files/\(name)")
        return "http://127.0.0.1:\(port)/files/\(name)"
    }

    /// The number of requests it has answered.
    var requestCount: Int { TextFile.bytes(accessLog).count { $0 == UInt8(ascii: "\n") } }

    func end() { process.end() }
}
