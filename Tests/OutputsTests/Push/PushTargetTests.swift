import Outputs
import TestSupport
import Testing

@Suite(.limited) struct PushTargetTests {
    @Test(
        arguments: [
            ("unix:/run/x.sock", .unix(path: "/run/x.sock"), 327_680, false, "unix:/run/x.sock"),
            ("unix:x", .unix(path: "x"), 327_680, false, "unix:x"),
            ("unix:/a:b?resend=0", .unix(path: "/a:b"), 0, false, "unix:/a:b"),
            ("unix:/a?control=true&resend=65536", .unix(path: "/a"), 65_536, true, "unix:/a"),
            ("unix:/a?control=true&control=false", .unix(path: "/a"), 327_680, false, "unix:/a"),
            ("unix:/a?", .unix(path: "/a"), 327_680, false, "unix:/a"),
            ("tcp:localhost:9000", .tcp(host: "localhost", port: 9_000), 327_680, false, "tcp:localhost:9000"),
            ("tcp:[::1]:9000?control=true", .tcp(host: "::1", port: 9_000), 327_680, true, "tcp:[::1]:9000"),
            ("tcp:::1:65535", .tcp(host: "::1", port: 65_535), 327_680, false, "tcp:[::1]:65535"),
            ("tcp:h:1?resend=67108864", .tcp(host: "h", port: 1), 67_108_864, false, "tcp:h:1"),
        ] as [(String, PushTarget.Address, Int, Bool, String)])
    func reads(text: String, address: PushTarget.Address, resend: Int, control: Bool, name: String) throws {
        let target = try PushTarget(text)
        #expect(target.address == address && target.resend == resend && target.sendsControl == control)
        #expect(target.description == name)
    }

    @Test(
        arguments: [
            "", "unix:", "unix", "/run/x", "udp:h:1", "tcp:", "tcp:h", "tcp:h:", "tcp::1", "tcp:[]:1", "tcp:h:0",
            "tcp:h:65536", "tcp:h:-1", "tcp:h:http", "unix:/a?resend", "unix:/a?resend=", "unix:/a?resend=-1",
            "unix:/a?resend=67108865", "unix:/a?control", "unix:/a?control=1", "unix:/a?what=1", "UNIX:/a",
            "unix:" + String(repeating: "a", count: 108),
        ])
    func refuses(text: String) throws {
        let fault = try #require(throws: PushTarget.Fault.self) { try PushTarget(text) }
        #expect(!fault.message.isEmpty)
    }

    @Test func takesThePathThatJustFits() throws {
        let path = String(repeating: "a", count: 107)
        #expect(try PushTarget("unix:" + path).address == .unix(path: path))
    }
}
