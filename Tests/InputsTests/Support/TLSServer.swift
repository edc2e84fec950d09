import Inputs
import Reactor
import Testing

/// `openssl s_server` on loopback with certificates of its own making.
struct TLSServer: Sendable {
    private let folder: TemporaryFolder
    private let child: ChildProcess
    let port: String

    enum Certificate: String {
        case good, expired, otherHost
    }

    /// Makes two authorities and certificates for 127.0.0.1, and keys of elliptic curves, which are quick to make.
    private static let script = """
        set -e
        authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
            -subj "/CN=$1" -keyout $1.key -out $1.pem; }
        certificate() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
            -keyout $1.key -out $1.csr; echo "subjectAltName=$2" > $1.ext; openssl x509 -req -in $1.csr \
            -CA authority.pem -CAkey authority.key -CAcreateserial -days $3 -extfile $1.ext -out $1.pem; }
        authority authority
        authority stranger
        certificate good IP:127.0.0.1 2
        certificate expired IP:127.0.0.1 -1
        certificate otherHost DNS:other.test 2
        certificate client DNS:client.test 2
        echo '{"fact":"Secure.","length":7}' > fact
        """

    /// - Parameter protocols: what it would speak, its favourite first (RFC 7301); it speaks HTTP/1.0 all the same.
    init(_ certificate: Certificate, wantsClient: Bool = false, protocols: String? = nil) throws {
        folder = try TemporaryFolder()
        let made = try ChildProcess(["sh", "-c", Self.script], in: folder.path)
        _ = made.line(startingWith: "this line never comes")  // reads all of it
        try #require(made.wait() == 0)
        let name = certificate.rawValue
        var arguments = ["openssl", "s_server", "-HTTP", "-accept", "127.0.0.1:0", "-cert", "\(name).pem"]
        arguments += ["-key", "\(name).key"]
        if wantsClient { arguments += ["-Verify", "1", "-verify_return_error", "-CAfile", "authority.pem"] }
        if let protocols { arguments += ["-alpn", protocols] }
        child = try ChildProcess(arguments, in: folder.path)
        port = try #require(child.line(startingWith: "ACCEPT 127.0.0.1:"))
        // `-HTTP` sends the file as it is, status line and all.
        let answer = "HTTP/1.0 200 ok\\r\\nContent-Type: application/json\\r\\n\\r\\n{\"fact\":\"Secure.\"}"
        try #require(try ChildProcess(["sh", "-c", "printf '\(answer)' > fact"], in: folder.path).wait() == 0)
    }

    func stop() {
        child.stop()
        folder.remove()
    }

    func path(_ file: String) -> String { "\(folder.path)/\(file)" }

    func request(trusting authority: String? = "authority.pem") -> HTTPRequest {
        var request = HTTPRequest(url: "https://127.0.0.1:\(port)/fact")
        request.caFile = authority.map(path)
        request.timeout = .seconds(20)
        return request
    }
}
