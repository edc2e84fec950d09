import TestSupport
import Testing
import WebSocket

@Suite(.limited) struct HandshakeTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"), ("\u{3FF}\u{3FF}", "z7/Pvw=="),
    ])
    func encodesAsThePublishedVectors(text: String, encoded: String) {
        #expect(Base64.encode(text.utf8) == encoded)
    }

    @Test(arguments: [
        ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
        ("Zm9vYmFy", "foobar"), ("fn5+Pz8/", "~~~???"),
    ]) func readsBase64(text: String, plain: String) {
        #expect(Base64.decode(text.utf8) == Array(plain.utf8))
        for length in 0..<text.utf8.count where length % 4 != 0 {
            #expect(Base64.decode(text.utf8.prefix(length)) == nil)
        }
    }

    @Test(arguments: ["Z===", "Zg=a", "Zg==Zg==", "Zm9-", "Zm9 ", "=", "====", "Z=g=", "\u{0}AAA"])
    func readsNothingElseAsBase64(text: String) { #expect(Base64.decode(text.utf8) == nil) }

    /// RFC 6455, section 1.3.
    @Test func acceptsTheKeyOfTheSpecification() {
        #expect(Handshake.accept(key: "dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test func makesKeysThatAreNeverTheSame() {
        var random = SeededGenerator(seed: 5)
        let keys = (0..<100).map { _ in Handshake.key(of: (random.next(), random.next())) }
        #expect(Set(keys).count == 100 && keys.allSatisfy(Handshake.isKey))
        for wrong in ["", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZQ==x", "dGhlIHNhbXBs!SBub25jZQ=="] {
            #expect(!Handshake.isKey(wrong))
        }
    }

    // MARK: The request

    @Test func asksAsTheSpecificationSays() throws {
        var request = HandshakeRequest(authority: "cats.test:8080", target: "/aqi?x=1", key: "dGhlIHNhbXBsZSBub25jZQ==")
        request.subprotocols = ["aqi.v2", "aqi.v1"]
        request.fields = ["X-Key: 1"]
        let text = String(decoding: try request.encoded(), as: UTF8.self)
        #expect(
            text.hasPrefix("GET /aqi?x=1 HTTP/1.1\r\nHost: cats.test:8080\r\n") && text.hasSuffix("X-Key: 1\r\n\r\n"))
        for line in [
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: aqi.v2, aqi.v1",
        ] {
            #expect(text.contains("\r\n\(line)\r\n"))
        }
        request.fields = ["host: other.test"]
        #expect(!String(decoding: try request.encoded(), as: UTF8.self).contains("cats.test"))
    }

    @Test(arguments: [
        "X: a\r\nY: b", "X: a\nb", "X: \u{0}", "Upgrade: h2c", "connection : close", "Sec-WebSocket-Key: x",
    ])
    func sendsNoFieldThatWouldChangeTheHandshake(field: String) {
        var request = HandshakeRequest(authority: "cats.test", target: "/", key: "dGhlIHNhbXBsZSBub25jZQ==")
        request.fields = [field]
        #expect(throws: HandshakeFault.self) { try request.encoded() }
    }

    // MARK: The answer

    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let fields = [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    ]

    private static func answer(_ fields: [String], status: String = "HTTP/1.1 101 Switching Protocols") -> [UInt8] {
        Array(([status] + fields).joined(separator: "\r\n").utf8) + Array("\r\n\r\n".utf8)
    }

    /// The outcome, and how many bytes were left over.
    private static func read(
        _ pieces: [ArraySlice<UInt8>], limit: Int = 16 << 10
    ) throws(HandshakeFault) -> (outcome: HandshakeAnswer.Outcome?, left: Int) {
        var answer = HandshakeAnswer(key: key, subprotocols: ["aqi.v2", "aqi.v1"], limit: limit)
        for piece in pieces {
            var result: Result<(HandshakeAnswer.Outcome?, Int), HandshakeFault> = .success((nil, 0))
            piece.withUnsafeBytes { bytes in
                var input = bytes
                do throws(HandshakeFault) {
                    let outcome = try answer.next(from: &input)
                    result = .success((outcome, input.count))
                } catch {
                    result = .failure(error)
                }
            }
            let (outcome, left) = try result.get()
            if let outcome { return (outcome, left) }
        }
        return (nil, 0)
    }

    private static func fault(_ bytes: [UInt8], limit: Int = 16 << 10) -> HandshakeFault? {
        do throws(HandshakeFault) {
            _ = try read([bytes[...]], limit: limit)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (fields, nil),
            (["upgrade: WebSocket", "CONNECTION: keep-alive, Upgrade", fields[2]], nil),
            (fields + ["Sec-WebSocket-Protocol: aqi.v1", "Server: x", "Sec-WebSocket-Extensions:"], "aqi.v1"),
        ] as [([String], String?)])
    func acceptsWhatTheSpecificationAllows(fields: [String], subprotocol: String?) throws {
        let bytes = Self.answer(fields)
        for end in bytes.indices {
            #expect(try Self.read([bytes[..<end]]).outcome == nil)
            let (outcome, left) = try Self.read([bytes[..<end], bytes[end...] + [0x81, 0x00]])
            #expect(outcome == .accepted(subprotocol: subprotocol) && left == 2, "split at \(end)")
        }
    }

    @Test func skipsInformationalAnswers() throws {
        let early = Self.answer(["Upgrade: websocket", "Sec-WebSocket-Accept: x"], status: "HTTP/1.1 103 Early Hints")
        let bytes = early + Self.answer(Self.fields)
        #expect(try Self.read([bytes[...]]).outcome == .accepted(subprotocol: nil))
    }

    @Test(arguments: [
        Array(fields[1...]), [fields[0], fields[2]], Array(fields[..<2]),
        ["Upgrade: h2c", fields[1], fields[2]], [fields[0], "Connection: close", fields[2]],
        [fields[0], fields[1], "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOO="], fields + [fields[2]],
        fields + ["Sec-WebSocket-Protocol: other"], fields + ["Sec-WebSocket-Protocol: AQI.v1"],
        fields + ["Sec-WebSocket-Protocol: aqi.v1", "Sec-WebSocket-Protocol: aqi.v2"],
        fields + ["Sec-WebSocket-Extensions: permessage-deflate"],
        ["no field"], [": empty"], ["a b: c"], [fields[0], " folded"],
    ])
    func refusesWhatItDoesNot(fields: [String]) {
        #expect(Self.fault(Self.answer(fields))?.kind == .answer)
    }

    @Test(arguments: [
        "\u{0}", "SSH-2.0-x\r\n", "HTTP/2 101\r\n", "HTTP/1.1 1O1 x\r\n", "HTTP/1.1 101x\r\n", "HTTP/1.1\r\n", "\r\n",
        "HTTP/1.2 101 x\r\n", "HTTP/1.1 099 x\r\n", "HTTP/1.1 999 x\r\n", "HTTP/1.0 101 x\r\n",
    ])
    func toldApartFromWhatIsNoHTTP(start: String) {
        #expect(Self.fault(Array(start.utf8))?.kind == .answer)
    }

    @Test(arguments: [200, 301, 401, 404, 429, 503])
    func tellsOtherStatuses(status: Int) throws {
        let bytes =
            Self.answer(["Retry-After:  7 ", "Location: /"], status: "HTTP/1.1 \(status)") + Array("<html>".utf8)
        #expect(try Self.read([bytes[...]]).outcome == .refused(status: status, retryAfter: "7"))
    }

    @Test func takesNoHeadersWithoutEnd() {
        let endless = Array("HTTP/1.1 101 ".utf8) + [UInt8](repeating: 0x61, count: 200)
        #expect(Self.fault(endless, limit: 200)?.kind == .tooLarge)
        let many = Self.answer([String](repeating: "X: y", count: 100))
        #expect(Self.fault(many, limit: 200)?.kind == .tooLarge)
    }
}
